"""The signals of a control manhole as functions of time, pure and seeded: no clock, no state.

Flow is constant within a minute and the total is its integral, exactly; so history made at once and
a simulator asked at any instant tell the same story.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from compliance.model.periods import day_of, from_us, local_day, to_us
from compliance.model.readings import Times, Values

MINUTE_US = 60_000_000
FIRST_DAY = date(2020, 1, 1)
"""Totals count from here."""

_RAMP_US = 2_000_000  # how long pH and temperature take to an event's value


class Signal(StrEnum):
    """What can be measured in a manhole."""

    FLOW = "flow"  # gpm
    TOTAL = "total"  # gal, since FIRST_DAY
    PH = "ph"  # s.u.
    TEMPERATURE = "temperature"  # degF
    SAMPLE_COUNT = "sample_count"  # aliquots since midnight at the plant
    BOTTLE = "bottle"  # the one that is filled, from 1


class EventKind(StrEnum):
    """What may happen on cue."""

    PH = "ph"
    TEMPERATURE = "temperature"
    SLUG = "slug"
    SILENT = "silent"
    STATUS = "status"
    ROLLOVER = "rollover"
    JAM = "jam"  # the sampler pulls nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something out of the ordinary, from one instant to another, half-open, in microseconds.

    value: pH, degF, times the mean flow of a working day, or the status code; unit, entry: of the
    instrument concerned, for silence and status.
    """

    kind: EventKind
    starts_us: int
    ends_us: int
    value: float = 0.0
    unit: int | None = None
    entry: str | None = None

    def holds(self, at_us: Times) -> NDArray[np.bool_]:
        """Whether instants lie inside."""
        return (at_us >= self.starts_us) & (at_us < self.ends_us)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """An industrial user's ordinary days.

    gallons_per_day: of a working day; working_days: 5 or 7; shift: local hours; night_share,
    rest_share: flow out of the shift, volume of a day of rest, as shares. Temperatures in degF.
    """

    seed: int
    zone: ZoneInfo
    gallons_per_day: float
    working_days: int
    shift: tuple[int, int]
    night_share: float
    rest_share: float
    ph_mean: float
    ph_swing: float
    temperature_mean: float
    temperature_swing: float
    gallons_per_sample: float
    samples_per_bottle: int

    @property
    def mean_gpm(self) -> float:
        """Mean flow of a working day."""
        return self.gallons_per_day / 1440


@dataclass(frozen=True, slots=True, eq=False)
class _Day:
    starts_us: int
    flow_gpm: Values  # by minute since midnight
    passed_gal: Values  # since midnight, at the start of each minute; one more at the end


def signal(name: Signal, profile: Profile, *, events: Iterable[Event], at_us: Times) -> Values:
    """A signal at instants, in the unit that ``Signal`` names.

    at_us: microseconds since 1970, in ascending order.
    """
    events = tuple(events)
    if name is Signal.FLOW:
        return _flow(profile, events, at_us)
    if name is Signal.TOTAL:
        return _total(profile, events, at_us)
    if name is Signal.PH:
        ordinary = _swing(profile, at_us, mean=profile.ph_mean, swing=profile.ph_swing, salt=1)
        return _overlaid(ordinary, events, EventKind.PH, at_us)
    if name is Signal.TEMPERATURE:
        mean, swing = profile.temperature_mean, profile.temperature_swing
        ordinary = _swing(profile, at_us, mean=mean, swing=swing, salt=2)
        return _overlaid(ordinary, events, EventKind.TEMPERATURE, at_us)
    count = _sample_count(profile, events, at_us)
    return count if name is Signal.SAMPLE_COUNT else 1 + count // profile.samples_per_bottle


def answers(events: Iterable[Event], *, unit: int, at_us: Times) -> NDArray[np.bool_]:
    """Whether a unit answers at instants."""
    silent = np.zeros(len(at_us), dtype=np.bool_)
    for event in events:
        if event.kind is EventKind.SILENT and event.unit == unit:
            silent |= event.holds(at_us)
    return ~silent


def _flow(profile: Profile, events: tuple[Event, ...], at_us: Times) -> Values:
    flow = np.empty(len(at_us))
    for day, inside in _by_day(profile, at_us):
        flow[inside] = day.flow_gpm[(at_us[inside] - day.starts_us) // MINUTE_US]
    for event in events:
        if event.kind is EventKind.SLUG:
            flow[event.holds(at_us)] = event.value * profile.mean_gpm
    return flow


def _total(profile: Profile, events: tuple[Event, ...], at_us: Times) -> Values:
    total = _ordinary_total(profile, at_us)
    for event in events:
        if event.kind is EventKind.SLUG:
            reached = np.clip(at_us, event.starts_us, event.ends_us)
            start = np.array([event.starts_us])
            ordinary = _ordinary_total(profile, reached) - _ordinary_total(profile, start)
            minutes = (reached - event.starts_us) / MINUTE_US
            total += event.value * profile.mean_gpm * minutes - ordinary
    return total


def _ordinary_total(profile: Profile, at_us: Times) -> Values:
    total = np.empty(len(at_us))
    for day, inside in _by_day(profile, at_us):
        minutes = (at_us[inside] - day.starts_us) / MINUTE_US
        whole = minutes.astype(np.int64)
        within = day.passed_gal[whole] + day.flow_gpm[whole] * (minutes - whole)
        total[inside] = _before(profile, day_of(from_us(day.starts_us), profile.zone)) + within
    return total


def _sample_count(profile: Profile, events: tuple[Event, ...], at_us: Times) -> Values:
    midnights = np.empty(len(at_us), dtype=np.int64)
    for day, inside in _by_day(profile, at_us):
        midnights[inside] = day.starts_us
    passed = _total(profile, events, at_us) - _total(profile, events, midnights)
    for event in events:
        if event.kind is EventKind.JAM:
            until = np.clip(at_us, event.starts_us, event.ends_us)
            since = np.minimum(np.maximum(midnights, event.starts_us), until)
            passed -= _total(profile, events, until) - _total(profile, events, since)
    return np.floor(passed / profile.gallons_per_sample)


def _swing(profile: Profile, at_us: Times, *, mean: float, swing: float, salt: int) -> Values:
    """A value that rises through the day and trembles a little; never further than 1.4 swings."""
    minutes = at_us / MINUTE_US
    phase = _uniform(profile.seed + salt, np.zeros(1, dtype=np.int64))[0]
    daily = np.sin(2 * np.pi * (minutes / 1440 + phase))
    whole = np.floor(minutes).astype(np.int64)
    share = minutes - whole
    left = _uniform(profile.seed + salt, whole)
    right = _uniform(profile.seed + salt, whole + 1)
    tremble = left * (1 - share) + right * share - 0.5
    return np.asarray(mean + swing * (daily + 0.8 * tremble))


def _overlaid(ordinary: Values, events: tuple[Event, ...], kind: EventKind, at_us: Times) -> Values:
    for event in events:
        if event.kind is kind:
            nearest = np.minimum(at_us - event.starts_us, event.ends_us - at_us)
            weight = np.clip(nearest / _RAMP_US, 0, 1)
            ordinary = ordinary * (1 - weight) + event.value * weight
    return ordinary


def _by_day(profile: Profile, at_us: Times) -> Iterable[tuple[_Day, NDArray[np.bool_]]]:
    if not len(at_us):
        return
    day = day_of(from_us(at_us.min()), profile.zone)
    last = day_of(from_us(at_us.max()), profile.zone)
    while day <= last:
        made = _day(profile, day)
        ends_us = made.starts_us + len(made.flow_gpm) * MINUTE_US
        inside = (at_us >= made.starts_us) & (at_us < ends_us)
        if inside.any():
            yield made, inside
        day += timedelta(days=1)


@lru_cache(maxsize=2048)
def _day(profile: Profile, day: date) -> _Day:
    window = local_day(day, profile.zone)
    minutes = np.arange(round(window.length / timedelta(minutes=1)))
    starts_us = to_us(window.start)
    noise = _uniform(profile.seed, starts_us // MINUTE_US + minutes)
    shape = _shape(profile, minutes % 1440) * (0.92 + 0.16 * noise)
    flow_gpm = shape / shape.sum() * _volumes(profile, np.array([day.toordinal()]))[0]
    passed = np.concatenate([[0.0], np.cumsum(flow_gpm)])
    return _Day(starts_us=starts_us, flow_gpm=flow_gpm, passed_gal=passed)


def _shape(profile: Profile, minutes: NDArray[np.int64]) -> Values:
    """The working day: night flow, an hour up to the shift's, an hour down again."""
    start, end = (60 * hour for hour in profile.shift)
    bump = np.clip(np.minimum(minutes - start, end - minutes) / 60, 0, 1)
    return np.asarray(profile.night_share + (1 - profile.night_share) * bump)


def _volumes(profile: Profile, ordinals: NDArray[np.int64]) -> Values:
    """Gallons of civil days, by their ordinals; day 1 was a Monday."""
    rests = (ordinals - 1) % 7 >= profile.working_days
    usual = np.where(rests, profile.rest_share, 1.0) * profile.gallons_per_day
    return np.asarray(usual * (0.94 + 0.12 * _uniform(profile.seed + 3, ordinals)))


@lru_cache(maxsize=4096)
def _before(profile: Profile, day: date) -> float:
    """Gallons of all days from the first up to one."""
    ordinals = np.arange(FIRST_DAY.toordinal(), day.toordinal())
    return float(_volumes(profile, ordinals).sum())


def _uniform(seed: int, index: NDArray[np.int64]) -> Values:
    """A number in [0, 1) for each index, the same on every machine (splitmix64)."""
    x = index.astype(np.uint64) + np.uint64((seed * 0x9E3779B97F4A7C15) % 2**64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((x ^ (x >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53
