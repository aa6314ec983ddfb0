"""What is usual at a weekday and hour: batch plants, short history, pH swings, loads."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from compliance.judging import slugs, usual
from compliance.model.periods import from_us, to_us
from compliance.model.readings import Series
from compliance.model.rollups import QUARTER_US, Quarters, quarters
from compliance.model.units import Unit
from compliance.rules.book import find
from compliance.rules.slugs import settings_on

ZONE = ZoneInfo("America/Chicago")
MONDAY = datetime(2026, 6, 1, tzinfo=ZONE)
SETTINGS = settings_on(MONDAY.date())
VERSION = find("prescott.slug")[1].versions[0]  # type: ignore[union-attr]
S = 1_000_000


def of(at: np.ndarray, values: np.ndarray, *, step: int = 60) -> Series:
    n = len(at)
    return Series(
        at_us=at, value=np.asarray(values, float), quality=np.zeros(n, np.int64),
        interval_us=np.full(n, step * S, np.int64),
    )  # fmt: skip


def minutes(since: datetime, until: datetime) -> np.ndarray:
    return np.arange(to_us(since), to_us(until), 60 * S, dtype=np.int64)


def batches(at: np.ndarray) -> np.ndarray:
    """300 gpm on weekdays from 6 to 7 in the morning at the plant; else nothing."""
    local = np.array([from_us(t).astimezone(ZONE) for t in at[::60]])
    hourly = [300.0 if one.weekday() < 5 and one.hour == 6 else 0.0 for one in local]
    return np.repeat(hourly, 60)[: len(at)]


def history(weeks: int = 6) -> tuple[Series, Quarters]:
    since, until = MONDAY - timedelta(weeks=weeks), MONDAY + timedelta(days=2)
    at = minutes(since, until)
    series = of(at, batches(at))
    first, last = to_us(since) // QUARTER_US * QUARTER_US, to_us(until)
    return series, quarters(series, since_us=first, until_us=last)


def screened(series: Series, stored: Quarters, *, since: datetime = MONDAY) -> slugs.Screening:
    part = series.where(series.at_us >= to_us(since - timedelta(days=2)))
    normal = usual.at_hours(part.at_us, usual.means(stored), SETTINGS.usual, zone=ZONE)
    return slugs.screen(part, VERSION, rejoin_us=300 * S, baseline=normal)


def with_dump(series: Series, at: datetime, minutes_long: int, gpm: float) -> Series:
    values = series.value.copy()
    first = int(np.searchsorted(series.at_us, to_us(at)))
    values[first : first + minutes_long] = gpm
    return of(series.at_us, values)


def test_a_batch_at_its_usual_hour_is_no_slug_though_it_is_24_times_the_mean_of_the_day() -> None:
    series, stored = history()
    recent = series.where(series.at_us >= to_us(MONDAY - timedelta(days=1)))
    assert slugs.screen(recent, VERSION, rejoin_us=300 * S).found  # by the day before it would be
    assert screened(series, stored).found == ()


def test_the_same_batch_at_night_is_a_possible_slug() -> None:
    series, stored = history()
    dumped = with_dump(series, MONDAY + timedelta(hours=2), 20, 300)
    (found,) = screened(dumped, stored).found
    assert found.usual
    assert from_us(found.excursion.starts_us) == MONDAY + timedelta(hours=2)
    mean = 300 * 25 / (34 * 24)  # five weeks of five hours, without the day before
    assert found.baseline == pytest.approx(0.25 * mean)


def test_a_trickle_where_nothing_usually_runs_is_none() -> None:
    series, stored = history()
    assert screened(with_dump(series, MONDAY + timedelta(hours=2), 60, 5), stored).found == ()


def test_a_batch_that_starts_within_the_hour_before_is_none() -> None:
    series, stored = history()
    early = with_dump(series, MONDAY + timedelta(hours=5, minutes=20), 40, 300)
    assert screened(early, stored).found == ()


def test_with_too_short_a_history_the_mean_of_the_day_stands_in() -> None:
    series, stored = history(weeks=2)
    normal = usual.at_hours(series.at_us[-600:], usual.means(stored), SETTINGS.usual, zone=ZONE)
    assert np.isnan(normal).all()
    steady = of(series.at_us, np.full(len(series), 40.0))
    dumped = with_dump(steady, MONDAY + timedelta(hours=2), 16, 230)
    part = dumped.where(dumped.at_us >= to_us(MONDAY - timedelta(days=2)))
    by_day = slugs.screen(part, VERSION, rejoin_us=300 * S)
    unknown = slugs.screen(part, VERSION, rejoin_us=300 * S, baseline=np.full(len(part), np.nan))
    assert unknown == by_day
    assert not by_day.found[0].usual


def test_an_earlier_slug_does_not_become_usual() -> None:
    series, stored = history()
    dumped = with_dump(series, MONDAY - timedelta(weeks=1, hours=-2), 60, 900)
    once = quarters(
        dumped, since_us=int(stored.start_us[0]), until_us=int(series.at_us[-1]) + 60 * S
    )
    again = with_dump(dumped, MONDAY + timedelta(hours=2), 20, 300)
    assert len(screened(again, once).found) == 1


def test_the_hour_is_that_of_the_plant_on_both_sides_of_a_change_of_the_clocks() -> None:
    sunday = datetime(2026, 11, 2, tzinfo=ZONE)  # a Monday, after clocks went back on 1 November
    at = minutes(sunday - timedelta(weeks=5, days=1), sunday + timedelta(days=1))
    stored = quarters(
        of(at, batches(at)),
        since_us=int(at[0]) // QUARTER_US * QUARTER_US,
        until_us=int(at[-1]) + 60 * S,
    )
    six = np.array([to_us(sunday.replace(hour=6, minute=30))])
    (normal,) = usual.at_hours(six, usual.means(stored), SETTINGS.usual, zone=ZONE)
    assert normal == pytest.approx(300)


def test_ph_that_swings_as_it_always_does_is_none_and_a_greater_swing_is() -> None:
    since = MONDAY - timedelta(weeks=6)
    at = minutes(since, MONDAY + timedelta(days=1))
    values = 7.5 + 0.2 * np.sin(np.arange(len(at)))
    six = np.array([from_us(t).astimezone(ZONE).hour == 6 for t in at[::60]])
    values += np.repeat(np.where(six, 1.5, 0.0), 60)[: len(at)] * np.sign(
        np.sin(np.arange(len(at)))
    )
    dump = int(np.searchsorted(at, to_us(MONDAY + timedelta(hours=2))))
    values[dump : dump + 10] = 3.0
    stored = quarters(of(at, values), since_us=to_us(since), until_us=int(at[-1]) + 60 * S)
    found = usual.ph_swings(stored, SETTINGS.ph_rate, SETTINGS.usual, zone=ZONE)
    ((event, most),) = [one for one in found if one[0].starts_us >= to_us(MONDAY)]
    assert from_us(event.starts_us) == MONDAY + timedelta(hours=2)
    assert most == 2.0 or most == pytest.approx(5 * 0.4, abs=0.01)
    assert event.worst == pytest.approx(4.64, abs=0.01)


def test_a_load_is_flow_times_strength_where_flow_is_held() -> None:
    at = minutes(MONDAY, MONDAY + timedelta(minutes=10))
    strength = of(at, np.full(10, 250.0))
    flow = of(at[3:6], np.full(3, 100.0))
    found = usual.loads(flow, strength, flow_unit=Unit.GPM, unit=Unit.MG_L)
    assert list(found.at_us) == list(at[3:9])  # held for three intervals after its last reading
    assert found.value[0] == pytest.approx(0.144 * 250 * 8.34)
    litres = usual.loads(flow, strength, flow_unit=Unit.L_S, unit=Unit.UG_L)
    assert litres.value[0] == pytest.approx(100 * 15.850323 * 0.25 * 1440 * 8.34e-6)
    assert len(usual.loads(of(at[:0], at[:0]), strength, flow_unit=Unit.GPM, unit=Unit.MG_L)) == 0
