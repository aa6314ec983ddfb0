"""All tests of a channel in one pass over blocks of its readings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from compliance.judging.screening import single, windows
from compliance.judging.screening.single import Bounds
from compliance.model.flags import Flag, FlagArray, Reason, ReasonArray
from compliance.model.readings import TOLD, UNJUDGED, Flags, Series, Times

BLOCK = 200_000
"""Readings screened at once: more no longer fit into a processor's own memory."""
_US = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatLine:
    """When a value stands still for too long, in seconds; tolerance: what still counts as still.

    zero_is_flat: False where a steady zero is nothing strange, as for flow without a discharge.
    """

    suspect_seconds: float
    fail_seconds: float
    tolerance: float
    zero_is_flat: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Attenuated:
    """Below what standard deviation over so many seconds a signal is no longer alive."""

    seconds: float
    suspect_below: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The thresholds of one parameter, in the channel's unit; a test without one is not made.

    version: names the set of rules that they come from; it is kept with every flag.
    """

    version: str
    fail: Bounds | None = None
    suspect: Bounds | None = None
    spike: float | None = None
    most_per_second: float | None = None
    flat: FlatLine | None = None
    attenuated: Attenuated | None = None
    gap_seconds: float | None = None

    @property
    def looks_back_us(self) -> int:
        """How much history a reading's flags rest on."""
        longest = 0.0
        if self.flat is not None:
            longest = max(self.flat.suspect_seconds, self.flat.fail_seconds)
        if self.attenuated is not None:
            longest = max(longest, self.attenuated.seconds)
        return round(longest * _US)


def screen(series: Series, settings: Settings) -> tuple[FlagArray, ReasonArray]:
    """A flag and its reasons for each reading of a channel.

    series: every reading, those without a value too, in time order. What the instrument itself
    declared bad fails for that reason; it is no neighbour to the others, nor is what people left
    out. A statistical test alone never makes more than suspect. Missing is missing.
    """
    flags = np.empty(len(series), np.int8)
    reasons = np.zeros(len(series), np.int16)
    absent = (series.quality & UNJUDGED) != 0
    values = np.where(absent, np.nan, series.value) if absent.any() else series.value
    for before, start, end, after in _blocks(series, settings):
        part = Series(
            at_us=series.at_us[before:after],
            value=values[before:after],
            quality=series.quality[before:after],
            interval_us=series.interval_us[before:after],
        )
        inner = slice(start - before, end - before)
        found, why = _tested(part, settings)
        flags[start:end], reasons[start:end] = found[inner], why[inner]
    told = ((series.quality & TOLD) != 0) & ~np.isnan(series.value)
    if told.any():
        flags[told], reasons[told] = Flag.FAIL, Reason.DEVICE
    return flags, reasons


def _blocks(series: Series, settings: Settings) -> Iterator[tuple[int, int, int, int]]:
    """Blocks as ``(before, start, end, after)``: judged from start to end, seen from before on."""
    n = len(series)
    for start in range(0, n, BLOCK):
        end = min(start + BLOCK, n)
        seen_us = series.at_us[start] - settings.looks_back_us
        before = min(int(np.searchsorted(series.at_us, seen_us)), max(0, start - 1))
        yield max(0, before - 1), start, end, min(end + 1, n)


def _tested(series: Series, of: Settings) -> tuple[FlagArray, ReasonArray]:
    """Every test at once; each reads the arrays that it shares with the others only once."""
    values = series.value
    steps, elapsed = np.diff(values), np.diff(series.at_us)
    missing = np.isnan(values)
    found = _Found(missing)
    if of.fail is not None:
        found.fails(single.beyond(values, of.fail), Reason.GROSS_RANGE)
    if of.suspect is not None:
        found.doubts(single.beyond(values, of.suspect), Reason.GROSS_RANGE)
    if of.spike is not None:
        height = single.standing_out(values, steps)
        found.doubts(height > of.spike, Reason.SPIKE)
        found.leaves(np.isnan(height))
    if of.most_per_second is not None:
        found.doubts(
            _led_by(single.too_fast(steps, elapsed, of.most_per_second)), Reason.RATE_OF_CHANGE
        )
    if of.gap_seconds is not None:
        found.doubts(_after_gap(series.at_us, missing, of.gap_seconds), Reason.GAP)
    _over_windows(series, of, found)
    return found.flags(), found.reasons


class _Found:
    """What the tests of one block have said so far."""

    def __init__(self, missing: Flags) -> None:
        self._missing = missing
        self._failed: Flags | None = None
        self._left = np.zeros(len(missing), np.bool_)
        self.reasons: ReasonArray = np.zeros(len(missing), np.int16)

    def doubts(self, which: Flags, reason: Reason) -> None:
        """Readings that are suspect for a reason."""
        if which.any():
            self.reasons[which] |= reason

    def fails(self, which: Flags, reason: Reason) -> None:
        """Readings that no instrument in order can give."""
        if which.any():
            self.reasons[which] |= reason
            self._failed = which

    def leaves(self, which: Flags) -> None:
        """Readings that a test could not be made on."""
        self._left |= which

    def flags(self) -> FlagArray:
        """The worst flag of each reading."""
        flags = np.where(self._left, np.int8(Flag.NOT_EVALUATED), np.int8(Flag.PASS))
        flags[self._missing] = Flag.MISSING
        flags[self.reasons != 0] = Flag.SUSPECT
        if self._failed is not None:
            flags[self._failed] = Flag.FAIL
        return flags


def _led_by(steps: Flags) -> Flags:
    """What is true of a step, as true of the reading it leads to."""
    return np.concatenate((np.zeros(min(1, len(steps) + 1), np.bool_), steps))


def _after_gap(at_us: Times, missing: Flags, seconds: float) -> Flags:
    """The first value after a gap: nobody saw how it came to be."""
    present = np.flatnonzero(~missing) if missing.any() else slice(None)
    late = _led_by(np.diff(at_us[present]) > seconds * _US)
    found = np.zeros(len(at_us), np.bool_)
    found[present] = late[: len(at_us)]
    return found


def _over_windows(series: Series, of: Settings, found: _Found) -> None:
    if not len(series) or (of.flat is None and of.attenuated is None):
        return
    every = max(1, len(series) // 1000)
    interval_us = int(np.median(series.interval_us[::every]))
    seen = windows.slots(series.value, series.at_us, interval_us=interval_us)
    idle = series.value == 0 if of.flat is not None and not of.flat.zero_is_flat else None
    if of.flat is not None:
        for seconds in {of.flat.suspect_seconds, of.flat.fail_seconds}:
            which = windows.still(seen, seconds=seconds, tolerance=of.flat.tolerance)
            found.doubts(which if idle is None else which & ~idle, Reason.FLAT_LINE)
    if of.attenuated is not None:
        spread = windows.deviation(seen, seconds=of.attenuated.seconds)
        which = spread < of.attenuated.suspect_below
        found.doubts(which if idle is None else which & ~idle, Reason.ATTENUATED)
        found.leaves(np.isnan(spread))
