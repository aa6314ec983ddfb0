"""An instrument's own clock beside ours: in which zone it is kept, how it drifts, when it moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from compliance.model.periods import spoken

HOUR_MS = 3_600_000
QUARTER_MS = 900_000
"""The distances of the world's zones from UTC are whole quarters of an hour."""
ZONE_MOST_MS = 14 * HOUR_MS
NEAR_HOUR_MS = 300_000
"""A clock so near to whole hours keeps a zone, and is wrong by the rest."""
IN_STEP_MS = 2_000
WRONG_MS = 60_000
DRIFT_MS_PER_HOUR = 500
"""Twelve seconds a day: no clock that is left alone goes wrong faster."""
HOUR_US = 3_600_000_000
LEAST_HOURS = 6
"""Over less a drift cannot be told from the instrument's own resolution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offset:
    """The instrument's time less ours at an instant: the median of an hour, in ms."""

    at_us: int
    offset_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A clock that was set between two hours, by so many ms."""

    at_us: int
    by_ms: int

    @property
    def says(self) -> str:
        """By how much it was set, and what that looks like."""
        way = "forward" if self.by_ms > 0 else "back"
        hour = abs(abs(self.by_ms) - HOUR_MS) <= WRONG_MS
        like = ", as a clock that follows daylight-saving time does" if hour else ""
        return f"set {way} by {_length(self.by_ms)}{like}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """What a week of offsets says. drift_ms_day: since the last move; None over a short time."""

    offset_ms: int
    moves: tuple[Move, ...]
    drift_ms_day: float | None

    @property
    def says(self) -> str:
        """The offset and the drift in words."""
        if self.drift_ms_day is None:
            return says(self.offset_ms)
        if abs(self.drift_ms_day) < IN_STEP_MS / 10:
            return f"{says(self.offset_ms)}; no drift"
        way = "gains" if self.drift_ms_day > 0 else "loses"
        return f"{says(self.offset_ms)}; it {way} {abs(self.drift_ms_day) / 1000:.1f} s a day"


def split(offset_ms: int) -> tuple[int, int]:
    """An offset as that of a zone and what is left, both in ms; zone 0 where it is none."""
    for step, near in ((HOUR_MS, NEAR_HOUR_MS), (QUARTER_MS, WRONG_MS)):
        zone = round(offset_ms / step) * step
        if HOUR_MS <= abs(zone) <= ZONE_MOST_MS and abs(offset_ms - zone) <= near:
            return zone, offset_ms - zone
    return 0, offset_ms


def is_wrong(offset_ms: int) -> bool:
    """Whether a clock is off by more than a minute, its zone left out."""
    return abs(split(offset_ms)[1]) > WRONG_MS


def says(offset_ms: int) -> str:
    """An offset in words."""
    zone, left = split(offset_ms)
    if not zone:
        return _beside(left)
    return f"keeps {zone_name(zone)}, {_beside(left)}"


def zone_name(zone_ms: int) -> str:
    """How a zone is called by its distance from UTC."""
    if not zone_ms:
        return "UTC"
    sign, minutes = "+" if zone_ms > 0 else "−", abs(zone_ms) // 60_000
    return f"UTC{sign}{minutes // 60}" + (f":{minutes % 60:02d}" if minutes % 60 else "")


def _beside(left: int) -> str:
    if abs(left) <= IN_STEP_MS:
        return "in step with ours"
    return f"{_length(left)} {'ahead of' if left > 0 else 'behind'} ours"


def _length(ms: int) -> str:
    seconds = abs(ms) / 1000
    return f"{seconds:.1f} s" if seconds < 10 else spoken(round(seconds))


def clock(offsets: Sequence[Offset]) -> Clock | None:
    """What offsets in time order say of a clock; None where it tells no time.

    It has moved where two neighbours differ by more than it could drift from one to the other.
    """
    if not offsets:
        return None
    moves = tuple(
        Move(at_us=b.at_us, by_ms=b.offset_ms - a.offset_ms)
        for a, b in pairwise(offsets)
        if abs(b.offset_ms - a.offset_ms) > _may_drift(b.at_us - a.at_us)
    )
    since = moves[-1].at_us if moves else offsets[0].at_us
    steady = [one for one in offsets if one.at_us >= since]
    return Clock(offset_ms=offsets[-1].offset_ms, moves=moves, drift_ms_day=_drift(steady))


def _may_drift(us: int) -> float:
    return IN_STEP_MS + DRIFT_MS_PER_HOUR * us / HOUR_US


def _drift(steady: Sequence[Offset]) -> float | None:
    """The median slope between the first and the second half, hour by hour, in ms a day."""
    half = len(steady) // 2
    if not half or steady[-1].at_us - steady[0].at_us < LEAST_HOURS * HOUR_US:
        return None
    return median(
        (b.offset_ms - a.offset_ms) / (b.at_us - a.at_us) * 24 * HOUR_US
        for a, b in zip(steady[:half], steady[-half:], strict=True)
    )
