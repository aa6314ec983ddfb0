"""Tests of a reading with its nearest neighbours: range, spike, rate of change, gap, season.

All take arrays of one channel in time order, NaN where nothing came, and give one flag a reading.
Source: the manuals of QARTOD name the tests and the flags; thresholds are the program's own.
"""

from __future__ import annotations

import numpy as np

from compliance.model.flags import Flag, FlagArray
from compliance.model.readings import Flags, Times, Values

Bounds = tuple[float, float]
"""Lowest and highest that pass; touching either passes."""

SHORTEST_SECONDS = 0.5
"""Two readings nearer than this are taken to be so far apart: a rate over nothing means nothing."""
_US = 1_000_000


def fresh(values: Values) -> FlagArray:
    """A pass for each reading, and missing where there is none."""
    return np.where(np.isnan(values), Flag.MISSING, Flag.PASS).astype(np.int8)


def gross_range(values: Values, *, fail: Bounds, suspect: Bounds | None = None) -> FlagArray:
    """Fail beyond one span, suspect beyond the narrower one inside it."""
    flags = fresh(values)
    for span, flag in ((suspect, Flag.SUSPECT), (fail, Flag.FAIL)):
        if span is not None:
            flags[beyond(values, span)] = flag
    return flags


def beyond(values: Values, span: Bounds) -> Flags:
    """Which values lie outside a span; a missing one does not."""
    return (values < span[0]) | (values > span[1])


def spike(
    values: Values,
    *,
    suspect: float | None,
    fail: float | None = None,
    by_mean: bool = False,
) -> FlagArray:
    """How far a reading stands out between its neighbours.

    It is the smaller of the steps to both, where they point in opposite directions; by_mean: the
    distance from the mean of both, which also flags the innocent neighbours. The ends, and the
    neighbours of a missing reading, are not evaluated. A threshold that is absent flags nothing.
    """
    flags = fresh(values)
    height = _from_mean(values) if by_mean else standing_out(values, np.diff(values))
    for threshold, flag in ((suspect, Flag.SUSPECT), (fail, Flag.FAIL)):
        if threshold is not None:
            flags[height > threshold] = flag
    flags[np.isnan(height) & (flags != Flag.MISSING)] = Flag.NOT_EVALUATED
    return flags


def _from_mean(values: Values) -> Values:
    height = np.full(len(values), np.nan)
    if len(values) > 2:
        height[1:-1] = np.abs(values[1:-1] - (values[:-2] + values[2:]) / 2)
    return height


def standing_out(values: Values, steps: Values) -> Values:
    """By how much each reading stands out from both neighbours; NaN where one of them is missing.

    steps: from each reading to the next. Where a reading lies between its neighbours: zero or less.
    """
    height = np.full(len(values), np.nan)
    if len(values) > 2:
        up = np.minimum(steps[:-1], -steps[1:])
        down = np.minimum(-steps[:-1], steps[1:])
        np.maximum(up, down, out=height[1:-1])
    return height


def rate_of_change(values: Values, at_us: Times, *, most_per_second: float) -> FlagArray:
    """Suspect where a value moves faster than ``most_per_second`` from the reading before.

    By true elapsed time, at least half a second. After a missing reading, and at the start, there
    is nothing to compare with: it passes.
    """
    flags = fresh(values)
    flags[1:][too_fast(np.diff(values), np.diff(at_us), most_per_second)] = Flag.SUSPECT
    return flags


def too_fast(steps: Values, elapsed_us: Times, most_per_second: float) -> Flags:
    """Which steps are larger than their time allows."""
    most = np.maximum(elapsed_us, round(SHORTEST_SECONDS * _US)) * (most_per_second / _US)
    return np.abs(steps) > most


def time_gap(at_us: Times, *, most_seconds: float, is_missing: Flags) -> FlagArray:
    """Fail for the reading after a gap longer than ``most_seconds``.

    is_missing: readings whose own instant is unknown; the reading after one is not evaluated, nor
    is the first.
    """
    flags = np.full(len(at_us), Flag.PASS, np.int8)
    if len(at_us):
        flags[0] = Flag.NOT_EVALUATED
        flags[1:][np.diff(at_us) > most_seconds * _US] = Flag.FAIL
        flags[1:][is_missing[:-1]] = Flag.NOT_EVALUATED
        flags[is_missing] = Flag.MISSING
    return flags


def climatology(
    values: Values, is_in_season: Flags, *, suspect: Bounds, fail: Bounds | None = None
) -> FlagArray:
    """What is usual in a season; outside the season nothing is evaluated.

    is_in_season: one claim a reading, made by whoever knows the calendar of the plant.
    """
    wide = (-np.inf, np.inf) if fail is None else fail
    flags = gross_range(values, fail=wide, suspect=suspect)
    flags[~is_in_season & (flags != Flag.MISSING)] = Flag.NOT_EVALUATED
    return flags
