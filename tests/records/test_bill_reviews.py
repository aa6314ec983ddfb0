"""A day that changes after it was billed is put before a person; the bill stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from sqlalchemy import Engine, select, text, update
from sqlalchemy.exc import IntegrityError

from compliance.errors import InputError, NotFound, Refused
from compliance.jobs import reviews
from compliance.model.periods import Period, quarter
from compliance.model.reviews import Review
from compliance.records import dirt
from compliance.records import tables as t
from tests.support.billed import billed, of, summed, with_total
from tests.support.manhole import Manhole, manhole

pytestmark = pytest.mark.database
Q3 = quarter(date(2026, 7, 1))
NINE_DAYS = range(9 * 1440)
SEPTEMBER_26 = datetime(2026, 9, 26, 5, tzinfo=UTC)
"""Midnight in Prescott: five days of the quarter are left, four lie beyond."""
SETTLED = {"reason": "The bill rests on the city's own meter", "by": "Cleo Voss, City Clerk"}


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    """Its logger gave a minute before it fell silent, and one after it was mended."""
    made = manhole(engine)
    ends = {-1440: 50.0, 10 * 1440: 50.0}
    made.put(ends, channel=made.flow, worker="first", start=SEPTEMBER_26)
    summed(made)
    return made


def logger_returns(mh: Manhole, *, channel: int = 0, value: float = 100.0) -> None:
    minutes = dict.fromkeys(NINE_DAYS, value)
    mh.put(minutes, channel=channel or mh.flow, worker=f"logger{value}", start=SEPTEMBER_26)
    summed(mh)


def changed_anew(mh: Manhole, day: datetime, value: float) -> None:
    """A reading of a day is another now, as a correction makes it."""
    with mh.engine.begin() as db:
        r = t.reading.c
        mine = (r.channel_id == mh.flow) & (r.read_at == day)
        db.execute(update(t.reading).where(mine).values(value=value))
        mark = dirt.Mark(since=day, until=day + timedelta(minutes=1))
        dirt.put(db, {mh.flow: mark}, why=dirt.ROLLUP)
    summed(mh)


def told(found: Sequence[Review]) -> list[tuple[date, str | None, str | None]]:
    return [
        (
            one.day,
            None if one.was is None else f"{one.was:f}",
            None if one.now is None else f"{one.now:f}",
        )
        for one in found
    ]


def settle(mh: Manhole, *ones: Review, number: str = "B-1", **other: str) -> int:
    seen = {one.id: one.version for one in ones}
    said = {**SETTLED, **other}
    now = datetime(2026, 10, 20, tzinfo=UTC)
    return reviews.settle(mh.engine, number, seen, reason=said["reason"], by=said["by"], now=now)


def test_sto_02_the_billed_days_of_a_logger_that_comes_back_are_to_be_looked_at(
    mh: Manhole,
) -> None:
    """12,960 minute values after nine days, over the quarter's end: only what was billed."""
    billed(mh, Q3)
    logger_returns(mh)
    days = [date(2026, 9, 26) + timedelta(days=n) for n in range(5)]
    found = of(mh)
    assert told(found) == [(day, None, "144000") for day in days]
    assert {(one.channel_id, one.what, one.unit, one.version) for one in found} == {
        (mh.flow, "volume", "gal", 1)
    }
    assert found[0].was_working == "nothing was measured"
    assert found[0].now_working == "flow rate times time: 144,000 gal, from 100 % of the day"
    with mh.engine.connect() as db:
        kept = db.execute(select(t.bill.c.total, t.bill.c.state)).one()
    assert kept == (Decimal(0), "issued")


def test_sto_02_the_same_values_twice_open_nothing_more(mh: Manhole) -> None:
    billed(mh, Q3)
    logger_returns(mh)
    before = of(mh)
    mh.put(dict.fromkeys(NINE_DAYS, 100.0), channel=mh.flow, worker="again", start=SEPTEMBER_26)
    summed(mh)
    with mh.engine.begin() as db:
        whole = dirt.Mark(since=SEPTEMBER_26, until=SEPTEMBER_26 + timedelta(days=9))
        dirt.put(db, {mh.flow: whole}, why=dirt.ROLLUP)
    summed(mh)
    assert of(mh) == before


@pytest.mark.parametrize(
    ("period", "state"),
    [
        (quarter(date(2026, 4, 1)), "issued"),
        (Q3, "draft"),
        (Period(start=date(2026, 10, 6), end=date(2026, 11, 1)), "issued"),
    ],
)
def test_sto_02_days_that_no_issued_bill_covers_open_nothing(
    mh: Manhole, period: Period, state: str
) -> None:
    billed(mh, period, state=state)
    logger_returns(mh)
    assert of(mh) == ()


def test_a_day_that_changes_again_before_it_is_settled_is_brought_up_to_date(
    mh: Manhole,
) -> None:
    billed(mh, Q3)
    logger_returns(mh)
    changed_anew(mh, SEPTEMBER_26, 1100.0)
    found = of(mh)
    assert told(found)[0] == (date(2026, 9, 26), None, "145000")
    assert [one.version for one in found] == [2, 1, 1, 1, 1]
    assert len(found) == 5


def test_a_settled_day_stays_and_another_change_opens_another_review(mh: Manhole) -> None:
    billed(mh, Q3)
    logger_returns(mh)
    assert settle(mh, *of(mh)) == 5
    settled = of(mh)
    assert {(one.settled_by, one.settled_why) for one in settled} == {
        (SETTLED["by"], SETTLED["reason"])
    }
    changed_anew(mh, SEPTEMBER_26, 1100.0)
    found = of(mh)
    assert told(found)[0] == (date(2026, 9, 26), "144000", "145000")
    assert found[0].is_open
    assert found[1:] == settled
    with mh.engine.connect() as db:
        acts = [(row.by, row.act, row.subject) for row in db.execute(select(t.audit))]
    assert acts[-1] == (SETTLED["by"], "settle changed days of a bill", "bill B-1")


def test_what_was_settled_cannot_be_rewritten(mh: Manhole) -> None:
    billed(mh, Q3)
    logger_returns(mh)
    settle(mh, of(mh)[0])
    for statement in (
        "UPDATE bill_review SET settled_why = 'other' WHERE settled_at IS NOT NULL",
        "DELETE FROM bill_review WHERE settled_at IS NOT NULL",
        "TRUNCATE bill_review",
    ):
        with pytest.raises(IntegrityError, match="stays as it is"), mh.engine.begin() as db:
            db.execute(text(statement))


def test_only_what_was_seen_is_settled(mh: Manhole) -> None:
    billed(mh, Q3)
    billed(mh, quarter(date(2026, 4, 1)), number="B-0")
    logger_returns(mh)
    first, second, *_ = of(mh)
    changed_anew(mh, SEPTEMBER_26, 1100.0)
    with pytest.raises(Refused, match="2026-09-26 has changed again"):
        settle(mh, second, first)
    with pytest.raises(NotFound, match=f"Bill B-0 has no review {second.id}"):
        settle(mh, second, number="B-0")
    with pytest.raises(InputError, match="at least"):
        settle(mh, second, reason="ok")
    with pytest.raises(InputError, match="choose at least one"):
        settle(mh)
    assert all(one.is_open for one in of(mh))
    settle(mh, second)
    with pytest.raises(Refused, match="settled by Cleo Voss"):
        settle(mh, second)


def test_the_days_of_a_totalizer_are_compared_by_its_volume(mh: Manhole) -> None:
    """A gap of nine days is spread over them until the counts inside it come."""
    total = with_total(mh)
    ends = {-60: 1000.0, -1: 1000.0, 9 * 1440: 10_000.0, 9 * 1440 + 60: 10_000.0}
    mh.put(ends, channel=total, worker="ends", start=SEPTEMBER_26)
    summed(mh)
    billed(mh, Q3)
    counts = {m: 1000.0 + (9000 if m >= 2000 else 0) for m in NINE_DAYS}
    mh.put(counts, channel=total, worker="logger", start=SEPTEMBER_26)
    summed(mh)
    found = of(mh)
    assert {one.channel_id for one in found} == {total}
    assert told(found) == [
        (date(2026, 9, 26) + timedelta(days=n), was, now)
        for n, (was, now) in enumerate(
            [("1000", "0"), ("1000", "9000"), ("1000", "0"), ("1000", "0"), ("1000", "0")]
        )
    ]
    assert found[1].now_working == "by the meter's total: 9,000 gal"


def test_a_channel_that_no_bill_rests_on_opens_nothing(mh: Manhole) -> None:
    billed(mh, Q3)
    mh.put(dict.fromkeys(NINE_DAYS, 7.0), channel=mh.ph, worker="ph", start=SEPTEMBER_26)
    summed(mh)
    assert of(mh) == ()
