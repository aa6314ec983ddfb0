"""A point's normal operation: what its quarter-hours of the weeks before say of a weekday and hour.

A plant that discharges in batches has no use for the mean of a day. What is usual at an hour is the
median, over the weeks before, of the greatest hourly mean in that hour of that weekday and its
neighbours, as a batch may start early. Where nothing usually runs a share of the mean over those
weeks stands in, so that no trickle is many times nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from statistics import median
from zoneinfo import ZoneInfo

import numpy as np

from compliance.judging.excursions import step
from compliance.model.findings import Excursion
from compliance.model.folds import SILENT_INTERVALS
from compliance.model.periods import from_us, to_us
from compliance.model.readings import Series, Times, Values
from compliance.model.rollups import QUARTER_US, Quarters
from compliance.model.units import Quantity, Unit
from compliance.rules.slugs import SwingOfPh, Usual

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
_WEEK = timedelta(weeks=1)
LB_A_DAY = 1440 * 8.34e-6
"""Pounds a day in one gallon a minute at one mg/L, by the factor of the ordinances."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Hour:
    """An hour of the record: a mean, or a swing; by how long it was held."""

    value: float
    held_us: int


def needed_from(at: datetime, usual: Usual) -> datetime:
    """From when on quarters are needed to tell what is usual at an instant."""
    return at - usual.weeks * _WEEK - timedelta(hours=25 + usual.neighbours)


def means(quarters: Quarters) -> dict[int, Hour]:
    """Hourly means by the hour's start, of hours held for half of their time at least."""
    hours, where = np.unique(quarters.start_us // HOUR_US * HOUR_US, return_inverse=True)
    area = np.bincount(where, weights=quarters.area, minlength=len(hours))
    held = np.bincount(where, weights=quarters.held_us, minlength=len(hours))
    return {
        int(hour): Hour(value=float(a) * 1e6 / float(h), held_us=int(h))
        for hour, a, h in zip(hours, area, held, strict=True)
        if h * 2 >= HOUR_US
    }


def swings(quarters: Quarters) -> dict[int, Hour]:
    """The greatest swing within a quarter-hour, by the hour's start."""
    found: dict[int, Hour] = {}
    swing = quarters.highest - quarters.lowest
    for start, value, held in zip(quarters.start_us, swing, quarters.held_us, strict=True):
        hour = int(start) // HOUR_US * HOUR_US
        old = found.get(hour)
        if np.isfinite(value) and (old is None or value > old.value):
            found[hour] = Hour(value=float(value), held_us=int(held))
    return found


def at_hours(at_us: Times, history: Mapping[int, Hour], usual: Usual, *, zone: ZoneInfo) -> Values:
    """What is usual at each instant; NaN where too few weeks tell of its weekday and hour.

    history: from ``means`` or ``swings``, over the weeks before the first instant at least. What an
    hour itself and the days just before it held has no part in it.
    """
    hours, where = np.unique(at_us // HOUR_US * HOUR_US, return_inverse=True)
    floors: dict[int, float] = {}
    found = np.array([_usual(int(hour), history, usual, zone, floors) for hour in hours], float)
    values: Values = found[where] if len(hours) else np.empty(0)
    return values


def _usual(
    hour: int,
    history: Mapping[int, Hour],
    usual: Usual,
    zone: ZoneInfo,
    floors: dict[int, float],
) -> float:
    there = from_us(hour).astimezone(zone).replace(tzinfo=None)
    weekly = []
    for week in range(1, usual.weeks + 1):
        near = [
            history[start].value
            for off in range(-usual.neighbours, usual.neighbours + 1)
            if (start := _start(there - week * _WEEK + timedelta(hours=off), zone)) in history
        ]
        weekly += [max(near)] if near else []
    if len(weekly) < usual.needed_weeks:
        return float("nan")
    day = _start(there.replace(hour=0, minute=0), zone)
    if day not in floors:
        floors[day] = float(usual.floor) * _mean_before(day, history, usual)
    return max(median(weekly), floors[day])


def _start(local: datetime, zone: ZoneInfo) -> int:
    """The start of a local hour; of one that comes twice the first."""
    return to_us(local.replace(tzinfo=zone).astimezone(UTC)) // HOUR_US * HOUR_US


def _mean_before(day: int, history: Mapping[int, Hour], usual: Usual) -> float:
    """Without the day before, whose sums may not be settled while the hour is screened."""
    first, last = day - usual.weeks * 7 * DAY_US, day - DAY_US
    held = [one for start, one in history.items() if first <= start < last]
    total = sum(one.held_us for one in held)
    return sum(one.value * one.held_us for one in held) / total if total else 0.0


def ph_swings(
    quarters: Quarters, rule: SwingOfPh, usual: Usual, *, zone: ZoneInfo
) -> tuple[tuple[Excursion, float], ...]:
    """Quarter-hours in which pH swung far more than it usually does, each with what it could.

    quarters: those asked and the weeks before them. Where too few weeks tell what is usual nothing
    is said. Neighbouring quarters are one event; the worst value is the swing in s.u.
    """
    normal = at_hours(quarters.start_us, swings(quarters), usual, zone=zone)
    most = np.maximum(normal * float(rule.factor), float(rule.least))
    swing = quarters.highest - quarters.lowest
    with np.errstate(invalid="ignore"):
        share = np.where(np.isfinite(most) & np.isfinite(swing), swing / most, 0.0)
    series = Series(
        at_us=quarters.start_us,
        value=np.where(share > 1 + _ROUNDING, share, 0.0),
        quality=np.zeros(len(quarters), np.int64),
        interval_us=np.full(len(quarters), QUARTER_US, np.int64),
    )
    _, found = step(None, series, at_least=None, at_most=1.0, rejoin_us=0, until_us=None)
    return tuple((_swing(one, quarters), _at(most, quarters, one.worst_us)) for one in found)


def _at(values: Values, quarters: Quarters, at_us: int) -> float:
    return float(values[int(np.searchsorted(quarters.start_us, at_us))])


def _swing(one: Excursion, quarters: Quarters) -> Excursion:
    worst = _at(quarters.highest - quarters.lowest, quarters, one.worst_us)
    return Excursion(
        side=one.side,
        starts_us=one.starts_us,
        ends_us=one.ends_us,
        beyond_us=one.beyond_us,
        runs=one.runs,
        readings=one.readings,
        worst=worst,
        worst_us=one.worst_us,
        open_ended=one.open_ended,
        review=one.review,
        settled=one.settled,
    )


def loads(flow: Series, strength: Series, *, flow_unit: Unit, unit: Unit) -> Series:
    """The load at each reading of a strength: times the flow held then, in lb/day.

    Both of judged readings; where no flow is held, there is no load. It screens, and bills nothing.
    """
    if not len(flow):
        return strength.where(np.zeros(len(strength), np.bool_))
    at = np.searchsorted(flow.at_us, strength.at_us, side="right") - 1
    known = at >= 0
    held = strength.at_us - flow.at_us[np.maximum(at, 0)]
    known &= held <= SILENT_INTERVALS * flow.interval_us[np.maximum(at, 0)]
    gpm, mg_l = _one(flow_unit, Unit.GPM), _one(unit, Unit.MG_L)
    rate = flow.value[np.maximum(at, 0)] * gpm
    found = Series(
        at_us=strength.at_us,
        value=strength.value * mg_l * rate * LB_A_DAY,
        quality=strength.quality | flow.quality[np.maximum(at, 0)],
        interval_us=strength.interval_us,
    )
    return found.where(known)


def _one(unit: Unit, to: Unit) -> float:
    return float(Quantity(value=Decimal(1), unit=unit).to(to).value)
