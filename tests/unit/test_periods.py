"""Civil days, months and quarters at the plant, over every kind of clock change."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.model.periods import Period, add_months, day_of, local_day, quarter, to_us
from compliance.model.readings import Series
from compliance.model.units import Unit
from compliance.model.volumes import flow_integral

ZONES = ["America/Chicago", "UTC", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Auckland"]
SECONDS_OF_FIVE_YEARS = 5 * 366 * 86_400


def case(shared: Path, case_id: str) -> dict[str, Any]:
    cases = json.loads((shared / "cases" / "field_reports.json").read_text())
    return next(found["input"] for found in cases if found["id"] == case_id)


def changes(zone: ZoneInfo, first: int, last: int) -> list[datetime]:
    """The whole hours around which a zone's clocks are set in some years."""
    hours = (
        datetime(first, 1, 1, tzinfo=UTC) + timedelta(hours=h)
        for h in range((last - first) * 366 * 24)
    )
    found, before = [], None
    for at in hours:
        offset = at.astimezone(zone).utcoffset()
        if before is not None and offset != before:
            found.append(at)
        before = offset
    return found


def test_tim_03_a_day_never_begins_after_what_it_holds(shared: Path) -> None:
    """Each half minute of the days around both clock changes of five years."""
    zone = ZoneInfo(case(shared, "TIM-03")["zone"])
    around = changes(zone, 2022, 2027)
    assert len(around) == 10
    for change in around:
        for half_minute in range(-2880, 2880):
            at = change + timedelta(seconds=30 * half_minute)
            day = local_day(day_of(at, zone), zone)
            assert day.start <= at < day.end


@given(st.sampled_from(ZONES), st.integers(0, SECONDS_OF_FIVE_YEARS))
def test_tim_03_days_of_any_zone_follow_each_other_without_gap(name: str, second: int) -> None:
    zone = ZoneInfo(name)
    at = datetime(2022, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
    civil = day_of(at, zone)
    day = local_day(civil, zone)
    assert day.holds(at)
    assert day.end == local_day(civil + timedelta(days=1), zone).start
    assert timedelta(hours=23) <= day.length <= timedelta(hours=25)


def test_tim_07_months_are_counted_from_the_first_date(shared: Path) -> None:
    first = date.fromisoformat(case(shared, "TIM-07")["period_start"])
    ends = [date(2024, 2, 29), date(2024, 3, 31), date(2024, 4, 30)]
    assert [add_months(first, months) for months in (1, 2, 3)] == ends
    assert add_months(date(2023, 11, 30), 3) == date(2024, 2, 29)
    assert add_months(date(2024, 3, 31), -1) == date(2024, 2, 29)
    assert add_months(date(2024, 2, 29), 12) == date(2025, 2, 28)


@pytest.mark.parametrize("name", ZONES)
def test_tim_09_the_last_day_belongs_to_its_quarter_in_every_zone(name: str, shared: Path) -> None:
    found, zone = case(shared, "TIM-09"), ZoneInfo(name)
    first, last = (date.fromisoformat(day) for day in found["period"].split(".."))
    period = Period(start=first, end=last + timedelta(days=1))
    assert period == quarter(last)
    readings = [datetime.fromisoformat(at).replace(tzinfo=zone) for at in found["readings"]]
    assert [period.window(zone).holds(at) for at in readings] == [True, True, False]
    assert [period.holds(day_of(at, zone)) for at in readings] == [True, True, False]


@pytest.mark.parametrize("name", ZONES)
def test_tim_09_the_quarters_of_a_year_are_the_year(name: str) -> None:
    zone = ZoneInfo(name)
    quarters = [quarter(date(2025, month, 1)) for month in (1, 4, 7, 10)]
    whole = Period(start=quarters[0].start, end=quarters[-1].end)
    assert (whole, sum(one.days for one in quarters)) == (
        Period(start=date(2025, 1, 1), end=date(2026, 1, 1)),
        365,
    )
    at_us = to_us(whole.window(zone).start) + np.arange(365 * 96 + 8) * 900_000_000
    flow = Series(
        at_us=at_us,
        value=np.full(len(at_us), 1.0),
        quality=np.zeros(len(at_us), np.int64),
        interval_us=np.full(len(at_us), 900_000_000, np.int64),
    )
    parts = [flow_integral(flow, one.window(zone), unit=Unit.GPM) for one in (*quarters, whole)]
    assert sum(one.gallons for one in parts[:-1]) == parts[-1].gallons
    assert parts[-1].gallons > 0
