"""Declared windows: what is read in one does not count, whenever it was declared, and only then."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from sqlalchemy import Engine, select

from compliance.enforcing.decisions import Decision
from compliance.errors import NotFound, Refused
from compliance.jobs import windows as jobs
from compliance.jobs.decide import decide
from compliance.jobs.slugs import screen_slugs
from compliance.model.readings import Quality
from compliance.model.windows import Declared, WindowKind
from compliance.records import audit, buckets, gaps, readings, windows
from compliance.records import tables as t
from tests.support.manhole import AT, Manhole, manhole

NORMAL = 7.2
LOW = {0: NORMAL, 1: 5.5, 2: 5.2, 3: NORMAL, 30: NORMAL}
BY = "Ana Ruiz, Coordinator"


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    return manhole(engine)


def at(minute: float) -> datetime:
    return AT + timedelta(minutes=minute)


def declare(
    mh: Manhole,
    since: float,
    until: float | None,
    *,
    said_at: float = 60,
    channel: int | None = None,
) -> int:
    return jobs.declare(
        mh.engine,
        Declared(
            number=0,
            channels=(channel or mh.ph,),
            since=at(since),
            until=None if until is None else at(until),
            kind=WindowKind.MAINTENANCE,
            reason="Electrode replaced",
            declared_by=BY,
            declared_at=at(said_at),
        ),
    )


def explain(mh: Manhole) -> None:
    decide(
        mh.engine,
        decision=Decision.EXPLAIN,
        detection_id=1,
        viewer=mh.coordinator,
        reason="Probe cleaning, logged",
        now=AT,
    )


def acts(mh: Manhole) -> list[tuple[str, str, str]]:
    with mh.engine.connect() as db:
        noted = [(one.by, one.act, one.subject) for one in audit.entries(db)]
    return [one for one in noted if one[2].startswith("window:")]


def test_a_window_declared_before_leaves_nothing_to_find(mh: Manhole) -> None:
    declare(mh, 0, 10, said_at=-5)
    mh.put(LOW)
    mh.judge()
    assert mh.facts() == []
    assert acts(mh) == [(BY, "declare window", "window:1")]


def test_a_window_declared_afterwards_withdraws_what_rested_on_it_in_the_open(mh: Manhole) -> None:
    mh.put(LOW)
    mh.judge()
    assert mh.facts() == [(1, 3, "5.20", True)]
    declare(mh, 0, 10)
    mh.judge()
    assert mh.facts() == []
    with mh.engine.connect() as db:
        fact = db.execute(select(t.exceedance)).mappings().one()
        why = db.scalar(select(t.exceedance_history.c.why))
    assert fact["superseded_why"] == why == "its readings lie in declared window 1"


def test_withdrawing_it_brings_back_what_was_found(mh: Manhole) -> None:
    mh.put(LOW)
    mh.judge()
    number = declare(mh, 0, 10)
    mh.judge()
    jobs.withdraw(mh.engine, number, by=BY, why="Wrong manhole", now=at(90))
    mh.judge()
    assert mh.facts() == [(1, 3, "5.20", True)]
    assert mh.count("detection") == 1
    with mh.engine.connect() as db:
        (kept,) = windows.of(db, [mh.ph], since=at(0), until=at(1), withdrawn=True)
    assert (kept.withdrawn_by, kept.withdrawn_why) == (BY, "Wrong manhole")
    assert [act for _, act, _ in acts(mh)] == ["declare window", "withdraw window"]


def test_readings_stay_in_the_table_as_they_came(mh: Manhole) -> None:
    mh.put(LOW)
    declare(mh, 0, 10)
    with mh.engine.connect() as db:
        stored = db.execute(select(t.reading.c.value, t.reading.c.quality)).all()
        series = readings.usable(db, [mh.ph], since=at(0), until=at(60))[mh.ph]
    assert sorted(stored) == [(5.2, 0), (5.5, 0), (7.2, 0), (7.2, 0), (7.2, 0)]
    assert [int(one) for one in series.quality] == [int(Quality.MAINTENANCE)] * 4 + [0]


def test_an_open_window_goes_on_until_somebody_says_when_it_ended(mh: Manhole) -> None:
    number = declare(mh, 0, None, said_at=0)
    mh.put({0: NORMAL, 1: 5.5, 20: 5.2, 21: NORMAL, 60: NORMAL})
    mh.judge()
    assert mh.facts() == []
    jobs.end(mh.engine, number, until=at(10), by=BY, now=at(61))
    mh.judge()
    assert mh.facts() == [(20, 21, "5.20", True)]
    assert [act for _, act, _ in acts(mh)] == ["declare window", "end window"]


def test_an_event_that_runs_into_a_window_ends_as_the_record_does(mh: Manhole) -> None:
    mh.put({0: NORMAL, 1: 5.5, 2: 5.4, 3: 5.3, 4: 5.2, 5: NORMAL, 30: NORMAL})
    mh.judge()
    declare(mh, 3, 10)
    mh.judge()
    assert mh.facts() == [(1, 3, "5.40", True)]
    with mh.engine.connect() as db:
        fact = db.execute(select(t.exceedance)).mappings().one()
    assert fact["open_ended"] is True
    (said,) = fact["evidence"]["declared_windows"]
    assert said["says"] == "declared afterwards, 57 min after it began"
    assert said["declared_by"] == BY


def test_a_window_covers_its_own_channel_alone(mh: Manhole) -> None:
    declare(mh, 0, 10, channel=mh.flow)
    mh.put(LOW)
    mh.judge()
    assert mh.facts() == [(1, 3, "5.20", True)]


def test_what_a_person_decided_stays_and_says_that_it_would_now_differ(mh: Manhole) -> None:
    mh.put(LOW)
    mh.judge()
    explain(mh)
    declare(mh, 0, 10)
    mh.judge()
    with mh.engine.connect() as db:
        row = db.execute(select(t.detection)).mappings().one()
    assert row["state"] == "explained"
    assert row["differs"] == "the result would now differ: its readings lie in declared window 1"


def test_a_decided_finding_that_comes_back_as_it_was_differs_no_more(mh: Manhole) -> None:
    mh.put(LOW)
    mh.judge()
    explain(mh)
    number = declare(mh, 0, 10)
    mh.judge()
    jobs.withdraw(mh.engine, number, by=BY, why="Wrong manhole", now=at(90))
    mh.judge()
    with mh.engine.connect() as db:
        row = db.execute(select(t.detection)).mappings().one()
        h = t.exceedance_history.c
        whys = db.scalars(select(h.why).order_by(h.id)).all()
    assert (row["state"], row["differs"]) == ("explained", None)
    assert "declared window 1" in whys[-1]


def test_what_was_withdrawn_is_not_decided_until_it_is_found_again(mh: Manhole) -> None:
    mh.put(LOW)
    mh.judge()
    number = declare(mh, 0, 10)
    mh.judge()
    with pytest.raises(Refused, match="withdrawn .its readings lie in declared window 1."):
        explain(mh)
    jobs.withdraw(mh.engine, number, by=BY, why="Wrong manhole", now=at(90))
    mh.judge()
    explain(mh)


def test_slug_screening_leaves_out_what_lies_in_a_window_and_takes_it_back(mh: Manhole) -> None:
    day = {minute: 40.0 for minute in range(-1440, 0)}
    mh.put({**day, **dict.fromkeys(range(0, 16), 230.0), 16: 40.0, 40: 40.0}, channel=mh.flow)
    found = [(0, 16, "230.0", True)]

    def screened(minute: float) -> list[tuple[int, int, str, bool]]:
        mh.judge()
        screen_slugs(mh.engine, now=at(minute), release="test")
        return mh.facts()

    assert screened(41) == found
    number = declare(mh, -1, 20, channel=mh.flow)
    assert screened(61) == []
    jobs.withdraw(mh.engine, number, by=BY, why="It was a slug", now=at(62))
    assert screened(63) == found


def test_the_newest_good_reading_is_looked_for_outside_windows(mh: Manhole) -> None:
    mh.put(dict.fromkeys(range(20), NORMAL))
    declare(mh, 15, None)
    declare(mh, 9, 16)
    with mh.engine.connect() as db:
        newest = readings.latest(db, [mh.ph], since=at(0), until=at(60))[mh.ph]
    assert newest.reading.read_at == at(19)
    assert newest.reading.quality is Quality.MAINTENANCE
    assert newest.valid is not None and newest.valid.read_at == at(8)


def test_a_chart_counts_what_lies_in_a_window_apart(mh: Manhole) -> None:
    mh.put({**dict.fromkeys(range(10), NORMAL), 10: None})
    declare(mh, 2, 5)
    with mh.engine.connect() as db:
        drawn = buckets.buckets(db, mh.ph, since=at(0), until=at(11))
    assert sum(one.count for one in drawn) == 7
    assert sum(one.flagged for one in drawn) == 4
    assert sum(one.declared for one in drawn) == 3


def test_a_missing_slot_in_a_window_has_its_reason(mh: Manhole) -> None:
    mh.put({0: NORMAL, 5: NORMAL})
    declare(mh, 1, 4)
    with mh.engine.connect() as db:
        missing = gaps.unexplained(db, {mh.ph: 60_000}, since=at(0), until=at(6))
    assert missing == {mh.ph: (int(at(4).timestamp()) * 1_000_000,)}


def test_what_cannot_be_done_to_a_window_is_refused(mh: Manhole) -> None:
    number = declare(mh, 0, None)
    with pytest.raises(Refused, match="withdraw it instead"):
        jobs.end(mh.engine, number, until=at(0), by=BY, now=at(61))
    jobs.end(mh.engine, number, until=at(5), by=BY, now=at(61))
    with pytest.raises(Refused, match="has ended"):
        jobs.end(mh.engine, number, until=at(6), by=BY, now=at(62))
    jobs.withdraw(mh.engine, number, by=BY, why="Wrong", now=at(63))
    with pytest.raises(Refused, match="withdrawn by Ana Ruiz"):
        jobs.withdraw(mh.engine, number, by=BY, why="Again", now=at(64))
    with pytest.raises(NotFound, match="no declared window 99"):
        jobs.withdraw(mh.engine, 99, by=BY, why="Wrong", now=at(65))
