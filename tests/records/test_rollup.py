"""Rollups follow the readings: new, late and excluded ones, today's so far, days of any length."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine

from compliance.jobs.rollup import roll_up
from compliance.model.periods import local_day, to_us
from compliance.model.rollups import Figures, quarters, total
from compliance.records import readings, rollups
from tests.support.manhole import AT, Manhole, manhole

CHICAGO = ZoneInfo("America/Chicago")


def rolled(mh: Manhole) -> None:
    mh.judge()
    roll_up(mh.engine)


def days_of(mh: Manhole) -> dict[date, Figures]:
    with mh.engine.connect() as db:
        found = rollups.days(db, [mh.flow], since=date(2020, 1, 1), until=date(2030, 1, 1))
    return {day: figures for day, (figures, _) in found[mh.flow].items()}


def from_readings(mh: Manhole, day: date) -> Figures:
    """A day summed from its raw readings, all at once."""
    window = local_day(day, CHICAGO)
    with mh.engine.connect() as db:
        stored = readings.usable(
            db, [mh.flow], since=window.start - timedelta(minutes=5), until=window.end
        )
    since, until = to_us(window.start), to_us(window.end)
    return total(quarters(stored[mh.flow], since_us=since, until_us=until), length_us=until - since)


@pytest.mark.parametrize("seed", range(3))
def test_days_are_those_of_the_raw_readings_however_they_came(engine: Engine, seed: int) -> None:
    dice = random.Random(seed)
    mh = manhole(engine)
    flow = {m: round(dice.uniform(0, 300), 1) for m in range(0, 2 * 1440) if dice.random() > 0.1}
    order = sorted(flow, key=lambda m: m + dice.choice([0, 0, 0, 700]))
    for number, start in enumerate(range(0, len(order), 400)):
        piece = {m: flow[m] for m in order[start : start + 400]}
        mh.put(piece, channel=mh.flow, worker=f"w{number}")
        rolled(mh)
    found = days_of(mh)
    assert len(found) == 3
    assert found == {day: from_readings(mh, day) for day in found}


def test_sto_06_the_day_so_far_says_as_of_when(engine: Engine) -> None:
    """Today's sum does not stand still."""
    mh = manhole(engine)
    mh.put({m: 100.0 for m in range(60)}, channel=mh.flow)
    rolled(mh)
    before = days_of(mh)[date(2026, 7, 6)]
    mh.put({m: 100.0 for m in range(60, 120)}, channel=mh.flow, worker="later")
    rolled(mh)
    with mh.engine.connect() as db:
        found = rollups.days(db, [mh.flow], since=date(2026, 7, 6), until=date(2026, 7, 7))
    figures, as_of = found[mh.flow][date(2026, 7, 6)]
    assert figures.area - before.area == 100.0 * 3600
    assert as_of >= AT + timedelta(hours=2)
    assert figures.completeness < 0.1


def test_sto_02_a_logger_that_is_back_after_nine_days_changes_its_days(engine: Engine) -> None:
    """Late data is summed on arrival, whatever its age."""
    mh = manhole(engine)
    mh.put({m: 10.0 for m in range(20 * 1440 - 60, 20 * 1440)}, channel=mh.flow)
    rolled(mh)
    assert set(days_of(mh)) == {date(2026, 7, 26)}
    mh.put({m: 100.0 for m in range(9 * 1440)}, channel=mh.flow, worker="logger")
    rolled(mh)
    whole = days_of(mh)[date(2026, 7, 7)]
    assert (whole.area / 60, whole.good, whole.completeness) == (144_000.0, 1440, 1.0)


@pytest.mark.parametrize(
    ("day", "gallons", "minutes"),
    [(date(2024, 3, 10), 138_000, 1380), (date(2024, 11, 3), 150_000, 1500)],
)
def test_days_of_23_and_25_hours(engine: Engine, day: date, gallons: int, minutes: int) -> None:
    """TIM-01."""
    mh = manhole(engine)
    start = datetime.combine(day, datetime.min.time(), CHICAGO).astimezone(UTC)
    mh.put({m: 100.0 for m in range(-30, minutes + 30)}, channel=mh.flow, start=start)
    rolled(mh)
    found = days_of(mh)[day]
    assert (found.area / 60, found.good, found.completeness) == (gallons, minutes, 1.0)
