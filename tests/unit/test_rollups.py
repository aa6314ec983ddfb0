"""Quarter-hours: sums that may be cut anywhere, days of 23 and 25 hours, holes that stay holes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from math import isclose
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compliance.model.periods import local_day, to_us
from compliance.model.readings import Quality, Series
from compliance.model.rollups import QUARTER_US, quarter_of, quarters, total, touched

_S = 1_000_000
T0 = to_us(datetime(2026, 7, 6, 12, tzinfo=UTC))


def flow(at_s: list[int], value: list[float], *, every: int = 60, start: int = T0) -> Series:
    values = np.array(value, float)
    return Series(
        at_us=start + np.array(at_s, np.int64) * _S,
        value=values,
        quality=np.where(np.isnan(values), int(Quality.NO_ANSWER), 0).astype(np.int64),
        interval_us=np.full(len(at_s), every * _S, np.int64),
    )


def test_a_steady_flow_fills_its_quarter() -> None:
    found = quarters(
        flow(list(range(0, 1800, 60)), [100.0] * 30), since_us=T0, until_us=T0 + 2 * QUARTER_US
    )
    assert found.readings.tolist() == found.good.tolist() == [15, 15]
    assert found.held_us.tolist() == [QUARTER_US, QUARTER_US]
    assert found.area.tolist() == [90_000.0, 90_000.0]
    assert total(found, length_us=2 * QUARTER_US).mean == 100.0


def test_a_value_is_held_for_three_intervals_and_five_minutes_at_most() -> None:
    by_minute = quarters(flow([0], [50.0]), since_us=T0, until_us=T0 + QUARTER_US)
    assert by_minute.held_us.tolist() == [180 * _S]
    slow = quarters(flow([0], [50.0], every=900), since_us=T0, until_us=T0 + QUARTER_US)
    assert slow.held_us.tolist() == [300 * _S]
    assert total(slow, length_us=QUARTER_US).completeness == pytest.approx(1 / 3)


def test_what_is_held_over_the_edge_counts_beyond_it() -> None:
    found = quarters(flow([840], [60.0], every=60), since_us=T0, until_us=T0 + 2 * QUARTER_US)
    assert found.held_us.tolist() == [60 * _S, 120 * _S]
    assert found.readings.tolist() == [1, 0]
    assert np.isnan(found.lowest[1])
    assert touched([T0 + 840 * _S]) == [T0, T0 + QUARTER_US]


def test_a_missing_or_bad_reading_is_counted_and_is_not_zero() -> None:
    found = quarters(
        flow([0, 60, 120], [10.0, np.nan, 30.0]), since_us=T0, until_us=T0 + QUARTER_US
    )
    assert (found.readings[0], found.good[0]) == (3, 2)
    assert (found.lowest[0], found.highest[0], found.first[0], found.last[0]) == (10, 30, 10, 30)
    assert found.area[0] == 10 * 120 + 30 * 180


@given(
    steps=st.lists(st.integers(1, 700), min_size=1, max_size=80),
    seed=st.integers(0, 1000),
    cut=st.integers(1, 7),
)
@example(steps=[1] * 8 + [629, 700, 700, 700, 700, 180, 1, 1, 1, 1, 1], seed=366, cut=4)
def test_any_cut_of_the_time_gives_the_same_figures(steps: list[int], seed: int, cut: int) -> None:
    at = np.cumsum(steps).tolist()
    values = np.random.default_rng(seed).normal(100, 30, len(at)).round(1)
    values[np.random.default_rng(seed).random(len(at)) < 0.1] = np.nan
    whole = flow(at, values.tolist())
    end = T0 + 80 * QUARTER_US
    one = quarters(whole, since_us=T0, until_us=end)
    middle = T0 + cut * QUARTER_US
    parts = [
        quarters(
            whole.where((whole.at_us >= since - 300 * _S) & (whole.at_us < until)),
            since_us=since,
            until_us=until,
        )
        for since, until in ((T0, middle), (middle, end))
    ]
    for name in ("start_us", "readings", "good", "held_us", "area", "lowest", "last"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(getattr(one, name), joined)


@given(steps=st.lists(st.integers(1, 700), min_size=1, max_size=60))
def test_the_area_is_what_a_second_by_second_walk_gives(steps: list[int]) -> None:
    at = np.cumsum(steps).tolist()
    values = [float(i % 7) for i in range(len(at))]
    found = total(
        quarters(flow(at, values), since_us=T0, until_us=T0 + 60 * QUARTER_US), length_us=1
    )
    by_second = sum(
        v * min(180, (at[i + 1] if i + 1 < len(at) else 10**9) - a)
        for i, (a, v) in enumerate(zip(at, values, strict=True))
    )
    assert isclose(found.area, by_second)


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("America/Chicago", date(2024, 3, 10), 23),
        ("America/Chicago", date(2024, 11, 3), 25),
        ("Asia/Kolkata", date(2024, 3, 10), 24),
        ("Asia/Kathmandu", date(2024, 3, 10), 24),
        ("Australia/Lord_Howe", date(2024, 4, 7), 24.5),
        ("Australia/Adelaide", date(2024, 10, 6), 23),
    ],
)
def test_a_civil_day_is_a_sum_of_whole_quarters(zone: str, day: date, hours: float) -> None:
    window = local_day(day, ZoneInfo(zone))
    since, until = to_us(window.start), to_us(window.end)
    assert quarter_of(since) == since and quarter_of(until) == until
    minutes = int(hours * 60)
    steady = flow([60 * m for m in range(minutes)], [100.0] * minutes, start=since)
    figures = total(quarters(steady, since_us=since, until_us=until), length_us=until - since)
    assert figures.readings == figures.good == minutes
    assert figures.completeness == 1.0
    assert figures.area / 60 == 100.0 * minutes  # gallons, from gallons a minute


def test_every_quarter_holds_its_readings_through_five_years_of_clock_changes() -> None:
    """A bucket never begins after what it holds (TIM-03)."""
    chicago = ZoneInfo("America/Chicago")
    for year in range(2022, 2027):
        for month, day in ((3, 8), (11, 1)):
            first = datetime(year, month, day, tzinfo=chicago)
            for minutes in range(0, 9 * 24 * 60, 10):
                at = to_us(first.astimezone(UTC) + timedelta(minutes=minutes))
                assert quarter_of(at) <= at < quarter_of(at) + QUARTER_US
