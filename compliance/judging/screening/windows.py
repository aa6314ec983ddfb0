"""Tests over a window of time behind each reading: the flat line and the attenuated signal.

A window is measured in time, not in readings, and never counts a silence as standing still. Work
and memory do not grow with its length: most readings are cleared by two comparisons, the others by
ranges over runs of doubling length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from compliance.model.flags import Flag, FlagArray
from compliance.model.readings import Flags, Times, Values

_US = 1_000_000
_CLEARED_BY = (0.5, 0.25, 0.75)
"""Where in a window a value is looked at, before all of them are."""
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """Readings of one channel as the windows see them.

    filled: the values, a missing one as the next that is there; missing: None where none is.
    """

    at_us: Times
    filled: Values
    missing: Flags | None
    interval_us: int


def slots(values: Values, at_us: Times, *, interval_us: int) -> Slots:
    """Readings made ready. A window ends at a reading that is there, so that what fills a hole in
    it is always a value of the same window, and changes neither its highest nor its lowest."""
    missing = np.isnan(values)
    if not missing.any():
        return Slots(at_us=at_us, filled=values, missing=None, interval_us=interval_us)
    n = len(values)
    following = np.where(missing, n - 1, np.arange(n))
    following = np.minimum.accumulate(following[::-1])[::-1]
    filled = np.nan_to_num(values[following])
    return Slots(at_us=at_us, filled=filled, missing=missing, interval_us=interval_us)


def flat_line(
    values: Values,
    at_us: Times,
    *,
    interval_us: int,
    suspect_seconds: float,
    fail_seconds: float,
    tolerance: float,
) -> FlagArray:
    """Suspect, then fail, where all values of so many seconds lie within less than ``tolerance``.

    interval_us: the cadence; a window counts once its slots cover it and half of them have values.
    Nothing in a shorter history is flagged.
    """
    flags = np.where(np.isnan(values), Flag.MISSING, Flag.PASS).astype(np.int8)
    of = slots(values, at_us, interval_us=interval_us)
    for seconds, flag in ((suspect_seconds, Flag.SUSPECT), (fail_seconds, Flag.FAIL)):
        flags[still(of, seconds=seconds, tolerance=tolerance)] = flag
    return flags


def attenuated(
    values: Values,
    at_us: Times,
    *,
    interval_us: int,
    seconds: float,
    suspect_below: float,
    fail_below: float | None = None,
) -> FlagArray:
    """Suspect, or fail, where the standard deviation of a window stays below a bound.

    A reading whose window is not yet full is not evaluated.
    """
    flags = np.where(np.isnan(values), Flag.MISSING, Flag.PASS).astype(np.int8)
    spread = deviation(slots(values, at_us, interval_us=interval_us), seconds=seconds)
    for bound, flag in ((suspect_below, Flag.SUSPECT), (fail_below, Flag.FAIL)):
        if bound is not None:
            flags[spread < bound] = flag
    flags[np.isnan(spread) & (flags != Flag.MISSING)] = Flag.NOT_EVALUATED
    return flags


def still(of: Slots, *, seconds: float, tolerance: float) -> Flags:
    """Which readings end a full window whose values span less than ``tolerance``."""
    first = _first_within(of.at_us, round(seconds * _US))
    values = of.filled
    places = np.flatnonzero(np.abs(values - values[first]) < tolerance)
    for share in _CLEARED_BY:
        seen = first[places] + ((places - first[places]) * share).astype(np.intp)
        places = places[np.abs(values[places] - values[seen]) < tolerance]
    if len(places):
        places = places[_is_full(of, first[places], places, seconds=seconds)]
    found = np.zeros(len(values), np.bool_)
    if len(places):
        found[places] = _span(values, first[places], places) < tolerance
    return found


def deviation(of: Slots, *, seconds: float) -> Values:
    """The standard deviation of the window behind each reading; NaN where it is not full.

    By running sums about the middle of all values.
    """
    n = len(of.filled)
    first = _first_within(of.at_us, round(seconds * _US))
    centred = of.filled - (of.filled.mean() if n else 0.0)
    if of.missing is not None:
        centred[of.missing] = 0.0
    mean, square = _behind(centred, first), _behind(centred * centred, first)
    here = np.ones(n) if of.missing is None else (~of.missing).astype(np.float64)
    count = _behind(here, first)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = mean / count
        spread: Values = np.sqrt(np.maximum(square / count - mean * mean, 0.0))
    spread[~_is_full(of, first, np.arange(n), seconds=seconds)] = np.nan
    return spread


def _behind(values: Values, first: Indices) -> Values:
    """The sum of each window."""
    sums = np.concatenate(([0.0], np.cumsum(values)))
    return sums[1:] - sums[first]


def _first_within(at_us: Times, window_us: int) -> Indices:
    """The first slot at or after ``at - window`` for each reading."""
    if len(at_us) > 2:
        step = int(at_us[1] - at_us[0])
        if at_us[-1] - at_us[0] == step * (len(at_us) - 1) and (np.diff(at_us) == step).all():
            return np.maximum(np.arange(len(at_us)) - window_us // step, 0)
    return np.searchsorted(at_us, at_us - window_us)


def _is_full(of: Slots, first: Indices, last: Indices, *, seconds: float) -> Flags:
    """Which windows are covered by their slots, half of which have a value, the last among them."""
    window_us = round(seconds * _US)
    full = of.at_us[last] - of.at_us[first] + of.interval_us > window_us
    slots_in = count = last - first + 1
    if of.missing is not None:
        present = np.concatenate(([0], np.cumsum(~of.missing)))
        count = present[last + 1] - present[first]
        full &= ~of.missing[last]
    full &= count >= max(2, -(-(window_us // of.interval_us) // 2))
    return full & (2 * count >= slots_in)


def _span(values: Values, first: Indices, last: Indices) -> Values:
    """Highest less lowest of each run ``first … last``, both included."""
    level = np.frexp(last - first + 1)[1] - 1  # the power of two that fits into the run
    begin, end = int(first.min()), int(last.max()) + 1
    low = high = values[begin:end]
    first, last = first - begin, last - begin
    spans = np.empty(len(first))
    for k in range(int(level.max()) + 1):
        if k:
            half = 1 << (k - 1)
            low = np.minimum(low[:-half], low[half:])
            high = np.maximum(high[:-half], high[half:])
        at = np.flatnonzero(level == k)
        if len(at):
            one, other = first[at], last[at] - (1 << k) + 1
            spans[at] = np.maximum(high[one], high[other]) - np.minimum(low[one], low[other])
    return spans
