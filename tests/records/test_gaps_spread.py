"""Slots of a gateway that keeps beside the grid: they are where its worker reads, not missing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import Engine, insert, update

from compliance.model.periods import from_us, to_us
from compliance.model.slots import phase_of, slots
from compliance.records import gaps
from compliance.records import tables as t
from ingest.own_clock import Moment
from ingest.schedule import Schedule
from tests.support.manhole import AT, Manhole, manhole

MINUTE_MS = 60_000
UNTIL = AT + timedelta(minutes=10)


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    return manhole(engine)


def read(mh: Manhole, at_us: list[int]) -> None:
    rows = [
        {"channel_id": mh.ph, "read_at": from_us(us), "value": 7.0, "quality": 0, "offset_ms": 0,
         "batch_id": 1}
        for us in at_us
    ]  # fmt: skip
    with mh.engine.begin() as db:
        db.execute(insert(t.reading), rows)


def missing(mh: Manhole, *, near: float = 0.0) -> tuple[int, ...]:
    with mh.engine.connect() as db:
        found = gaps.unexplained(db, {mh.ph: MINUTE_MS}, since=AT, until=UNTIL, near=near)
    return found.get(mh.ph, ())


def polled(name: str | None) -> list[int]:
    """The slots that a worker polls from AT on, in microseconds."""
    begin = to_us(AT) // 1000
    schedule = Schedule([MINUTE_MS], at=Moment(begin - 1, 0), spread_by=name)
    found = []
    for ms in range(0, 10 * MINUTE_MS, 100):
        found += [1000 * due.slot for due in schedule.due(Moment(begin + ms, ms + 1))]
    return found


def test_a_spread_gateway_has_no_missing_slot_when_its_worker_read_them_all(mh: Manhole) -> None:
    with mh.engine.begin() as db:
        db.execute(update(t.gateway).values(transport="tcp?spread=yes"))
    assert phase_of("g1", MINUTE_MS)
    read(mh, polled("g1"))
    assert missing(mh) == ()


def test_one_that_it_did_not_read_is_named_by_its_own_slot(mh: Manhole) -> None:
    with mh.engine.begin() as db:
        db.execute(update(t.gateway).values(transport="tcp?spread=yes"))
    first, skipped, *rest = polled("g1")
    read(mh, [first, *rest])
    assert missing(mh) == (skipped,)


def test_on_the_grid_the_slots_are_those_of_the_clock(mh: Manhole) -> None:
    read(mh, polled(None)[1:])
    assert missing(mh) == (to_us(AT),)


def test_a_reading_beside_its_slot_is_that_slots_where_that_is_asked_for(mh: Manhole) -> None:
    read(mh, [us + 7_000_000 for us in polled(None)])
    assert len(missing(mh)) == 10
    assert missing(mh, near=0.5) == ()


def test_slots_lie_a_phase_after_the_grid() -> None:
    assert slots(0, 3_000_000, interval_ms=1000, phase_ms=250).tolist() == [
        250_000,
        1_250_000,
        2_250_000,
    ]
    assert slots(250_001, 2_000_000, interval_ms=1000, phase_ms=250).tolist() == [1_250_000]
