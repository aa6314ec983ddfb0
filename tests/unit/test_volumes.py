"""Volumes: the flow rate held and summed, the totalizer beside it, and where a day's comes from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.model.counting import tally
from compliance.model.periods import Window, local_day, to_us
from compliance.model.readings import Quality, Series
from compliance.model.totals import Count, Counter, Step, VolumeSource
from compliance.model.units import Unit
from compliance.model.volumes import day_volume, flow_integral, percent

CHICAGO = ZoneInfo("America/Chicago")
START = datetime(2026, 3, 2, 6, tzinfo=UTC)  # a midnight at Chicago


def case(shared: Path, case_id: str) -> dict[str, Any]:
    cases = json.loads((shared / "cases" / "field_reports.json").read_text())
    return next(found["input"] for found in cases if found["id"] == case_id)


def rates(gpm: Iterable[float], start: datetime = START, every_s: int = 60, **bad: int) -> Series:
    values = np.array(list(gpm), np.float64)
    at_us = to_us(start) + np.arange(len(values)) * every_s * 1_000_000
    quality = np.zeros(len(values), np.int64)
    for name, at in bad.items():
        quality[at] = int(Quality[name])
    interval = np.full(len(values), every_s * 1_000_000, np.int64)
    return Series(at_us=at_us, value=values, quality=quality, interval_us=interval)


@pytest.mark.parametrize(("which", "gallons"), [(0, 138_000), (1, 150_000)])
def test_tim_01_days_of_23_and_25_hours_have_their_own_volume(shared, which, gallons) -> None:
    day = local_day(date.fromisoformat(case(shared, "TIM-01")["days"][which]), CHICAGO)
    flow = rates([100.0] * 1700, day.start - timedelta(hours=1))
    found = flow_integral(flow, day, unit=Unit.GPM)
    assert (found.gallons, found.completeness) == (gallons, 1)


HOUR = Window(start=START, end=START + timedelta(hours=1))


def test_a_rate_is_held_for_three_intervals_and_never_over_five_minutes() -> None:
    minutely = flow_integral(rates([60.0]), HOUR, unit=Unit.GPM)
    quarterly = flow_integral(rates([60.0], every_s=900), HOUR, unit=Unit.GPM)
    assert (minutely.gallons, quarterly.gallons) == (180, 300)
    assert minutely.completeness == Decimal("0.05")


def test_a_reading_before_the_window_is_held_into_it_and_a_bad_one_is_no_reading() -> None:
    flow = rates([10.0, 1e6, -3.0], START - timedelta(minutes=1), STATUS_BAD=1)
    found = flow_integral(flow, HOUR, unit=Unit.GPM)
    assert found.gallons == 10  # one minute of ten; three of a rate below zero are zero
    assert found.completeness == Decimal(240) / 3600


def test_a_rate_in_another_unit_gives_gallons() -> None:
    found = flow_integral(rates([1.0] * 60, every_s=60), HOUR, unit=Unit.M3_H)
    assert float(found.gallons) == pytest.approx(264.172052, abs=1e-5)


DAY = local_day(date(2026, 3, 2), CHICAGO)


def daily(
    values: Iterable[object],
    rate: int | None = None,
    every_s: int = 3600,
    resolution: int = 1,
) -> tuple[Step, ...]:
    """Steps of a total of six digits from the day's midnight on."""
    read = [
        Count(at_us=to_us(START) + n * every_s * 1_000_000, value=Decimal(str(value)))
        for n, value in enumerate(values)
    ]
    counter = Counter(
        modulus=Decimal(10**6),
        max_per_second=None if rate is None else Decimal(rate),
        resolution=Decimal(resolution),
    )
    return tally(read, counter).steps


def test_ing_30_the_day_is_the_totalizers_and_says_how_much_of_the_rate_there_was() -> None:
    steps = daily([410_200, 553_000], every_s=86_400)
    flow = rates([120.0] * 240, DAY.start + timedelta(hours=8))
    found = day_volume(steps, flow, DAY)
    assert (found.gallons, found.source, found.covered) == (142_800, VolumeSource.TOTALIZER, 1)
    assert "rate data 17 % complete" in found.working
    assert not found.is_estimated
    assert not found.needs_review
    assert found.working[0] == (
        "totalizer 410200 gal at 2026-03-02T06:00:00Z to 553000 gal at 2026-03-03T06:00:00Z: "
        "142800 gal in the window"
    )


def test_total_and_rate_are_compared_over_the_time_that_both_cover() -> None:
    found = day_volume(daily(n * 6000 for n in range(25)), rates([102.0] * 720), DAY).disagreement
    assert found is not None
    assert (found.seconds, found.totalizer_gallons) == (43_320, 72_200)
    assert found.share == Decimal("0.02")
    assert found.working.endswith("flow integral 73644 gal, totalizer 72200 gal: +2.0 %")


def test_a_total_that_stands_still_while_water_passes_is_stuck() -> None:
    values = [min(n, 12) * 6000 for n in range(25)]
    found = day_volume(daily(values), rates([100.0] * 1440), DAY)
    assert (found.gallons, found.estimated_gallons) == (144_000, 72_000)
    assert found.source is VolumeSource.TOTALIZER
    assert found.is_estimated
    assert any("stands still" in line and "72000 gal (E)" in line for line in found.working)


def test_a_total_at_rest_within_its_resolution_is_not_stuck() -> None:
    steps = daily((0, 0, 100), resolution=100)
    two_hours = Window(start=START, end=START + timedelta(hours=2))
    flow = rates([0.8] * 120)
    assert day_volume(steps, flow, two_hours, resolution=Decimal(100)).gallons == 100
    assert day_volume(steps, flow, two_hours).gallons == 148


def test_a_leap_is_not_billed_and_the_rate_stands_in_for_its_time() -> None:
    values = [n * 6000 + (500_000 if n > 10 else 0) for n in range(25)]
    found = day_volume(daily(values, rate=2), rates([100.0] * 1440), DAY)
    assert (found.gallons, found.estimated_gallons) == (144_000, 6000)
    assert found.needs_review
    assert any(line.startswith("suspect at 2026-03-02T17:00:00Z") for line in found.working)


def test_a_reset_is_for_a_person_to_confirm() -> None:
    found = day_volume(daily([5000, 5060, 3, 20, 40], every_s=21_600), None, DAY)
    assert (found.gallons, found.needs_review) == (100, True)


def test_without_a_total_the_rate_is_the_source_and_without_both_there_is_no_number() -> None:
    flow = day_volume((), rates([100.0] * 720), DAY)
    assert (flow.gallons, flow.source) == (72_200, VolumeSource.FLOW_INTEGRAL)
    assert flow.is_estimated
    assert flow.covered == flow.completeness == Decimal(43_320) / 86_400
    nothing = day_volume((), None, DAY)
    assert (nothing.gallons, nothing.source, nothing.covered) == (None, None, 0)


def test_a_total_in_cubic_metres_is_a_volume_in_gallons() -> None:
    found = day_volume(daily([0, 1000], every_s=86_400), None, DAY, total_unit=Unit.M3)
    assert str(found.gallons).startswith("264172.0523581484")


@given(
    st.lists(st.integers(0, 86_400), min_size=1, max_size=5),
    st.lists(st.integers(0, 400), min_size=25, max_size=25),
)
def test_days_cut_anywhere_sum_to_the_same_volume(cuts, steps) -> None:
    total = daily([sum(steps[:n]) for n in range(25)])
    at = [DAY.start, *(DAY.start + timedelta(seconds=cut) for cut in sorted(cuts)), DAY.end]
    parts = [
        day_volume(total, None, Window(start=a, end=b)).gallons or 0
        for a, b in zip(at, at[1:], strict=False)
        if a < b
    ]
    assert float(sum(parts)) == pytest.approx(float(day_volume(total, None, DAY).gallons or 0))


@pytest.mark.parametrize(
    ("share", "text"),
    [("1", "100 %"), ("0.9999", "99.99 %"), ("0.1667", "17 %"), ("0", "0 %"), ("0.004", "0.4 %")],
)
def test_a_share_that_is_not_whole_is_never_printed_as_whole(share, text) -> None:
    assert percent(Decimal(share)) == text
