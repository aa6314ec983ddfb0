"""What is said of closed months, or comes beside them, once their readings were destroyed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Engine

from compliance.errors import InputError
from compliance.jobs import determine
from compliance.jobs.determine import Wanted
from compliance.jobs.exclusions import of_month
from compliance.jobs.screen import screen_readings
from compliance.model.determinations import Verdict
from compliance.model.periods import Window
from compliance.records import destructions, dirt, readings
from tests.support.keeping import (
    DAY,
    MAY_2027,
    NOW,
    SEVEN,
    START,
    STEP,
    adopt,
    decided,
    held,
    numbers,
    old_manhole,
    pruned,
    rows,
    settle,
    window,
)
from tests.support.manhole import Manhole


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    return decided(old_manhole(engine))


def test_what_is_new_elsewhere_is_judged_though_an_event_reaches_into_what_was_destroyed(
    engine: Engine,
) -> None:
    """In one evaluation: a reading of the event, one long before it, and those of a new day."""
    march, may = numbers("2020-03", "2020-03"), numbers("2020-05", "2020-05")
    low = range(march[-DAY], numbers("2020-04", "2020-04")[11 * DAY])
    early = range(march[10 * DAY], march[10 * DAY] + 6)
    mh = old_manhole(engine, end="2020-05", left_out={*low, *early})
    mh.put({60 * n: 5.0 for n in low if n != low[3]}, worker="low", start=START)
    settle(mh)
    decided(mh)
    adopt(mh.engine)
    held(mh, "2020-03")
    assert pruned(mh)["ph"] == ["2020-02", "2020-04", "2020-05"]
    before = {row["id"]: row for row in rows(mh, "exceedance")}
    new = range(may[-1] + 1 + 10 * DAY, may[-1] + 7 + 10 * DAY)
    for name, late in (("early", early), ("event", [low[3]]), ("new", new)):
        mh.put({60 * n: 5.0 for n in late}, worker=name, start=START)
    mh.judge()
    after = {row["id"]: row for row in rows(mh, "exceedance")}
    assert {key: after[key] for key in before} == before
    found = {row["starts_at"] for key, row in after.items() if key not in before}
    assert found == {START + STEP * of[0] for of in (early, new)}
    (fault,) = rows(mh, "fault")
    assert "MH-1 ph is not judged anew from 2020-03-31T" in fault["what"]


def test_nothing_is_determined_of_a_month_whose_readings_were_destroyed(mh: Manhole) -> None:
    adopt(mh.engine)
    pruned(mh, now=MAY_2027)
    april, may = window("2020-04"), window("2020-05")
    for since, until in ((april.start, april.end), (april.end - STEP, april.end + STEP)):
        wanted = Wanted(
            channel_id=mh.ph,
            since=since,
            until=until,
            verdict=Verdict.INVALID,
            reason="the probe was in its buffer",
        )
        with pytest.raises(InputError, match=r"from 2020-04-01T05:00.* to 2020-05-01T05:00.* were"):
            determine.determine(mh.engine, wanted, person_id=1, by="Ana", now=NOW)
        with mh.engine.connect() as db, pytest.raises(InputError, match="give a time outside"):
            determine.foresee(db, wanted, now=NOW)
    outside = replace(wanted, since=may.start, until=may.start + STEP)
    with mh.engine.connect() as db:
        assert determine.foresee(db, outside, now=NOW).readings == 1
    assert mh.count("determination") == 0


def test_months_that_overlap_since_the_zone_was_corrected_refuse_in_one_sentence(
    mh: Manhole,
) -> None:
    number = adopt(mh.engine)
    pruned(mh, now=MAY_2027)
    april, hour = window("2020-04"), timedelta(hours=1)
    other = Window(start=april.start + hour, end=april.end + hour)
    with mh.engine.begin() as db:
        destructions.add(
            db, mh.ph, month=other, span=other, rows=1, sha256="0" * 64, schedule_id=number,
            line=SEVEN, by="test",
        )  # fmt: skip
    with pytest.raises(readings.RefusedBatch, match="lies in a month whose readings were"):
        mh.put({7: 7.0}, worker="late", start=april.start + 2 * hour)


def test_what_was_left_out_of_a_closed_month_cannot_be_counted_any_more(mh: Manhole) -> None:
    adopt(mh.engine)
    months = [window(name).start.date() for name in ("2020-04", "2020-05")]
    for left in (2, 1):
        with mh.engine.connect() as db:
            counted = [of_month(db, mh.ph, month, now=NOW) for month in months]
        assert sum(one is not None for one in counted) == left
        assert counted[1] is not None
        pruned(mh, now=MAY_2027)


def test_screening_any_part_again_over_closed_months_leaves_every_flag_as_it_was(
    mh: Manhole,
) -> None:
    adopt(mh.engine)
    pruned(mh, now=MAY_2027)
    before = rows(mh, "flagged_span")
    april, may = window("2020-04"), window("2020-05")
    closed = [row for row in before if row["since"] < may.start and row["channel_id"] == mh.ph]
    assert closed and len(closed) < len(before)
    for number in range(12):
        since = april.start + number * timedelta(days=5, hours=7)
        mark = dirt.Mark(since=since, until=since + timedelta(days=9, minutes=20))
        with mh.engine.begin() as db:
            dirt.put(db, {mh.ph: mark, mh.flow: mark}, why=dirt.SCREEN)
        while screen_readings(mh.engine):
            pass
        assert rows(mh, "flagged_span") == before
