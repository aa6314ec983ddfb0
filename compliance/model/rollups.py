"""Quarter-hours and civil days of a channel: what is summed once so that years can be drawn.

Quarters begin at full quarter-hours of UTC: every zone's midnight is one of them, those of zones
with 30 or 45 minutes too, so that a day of 23, 24 or 25 hours is a sum of whole quarters. A value
is held until the next reading, for three intervals and five minutes at most; what nothing is held
for is not there, and no figure is without the share of time that it rests on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np
from numpy.typing import NDArray

from compliance.model.readings import Series, Times, Values, judged
from compliance.model.volumes import HELD_INTERVALS, LONGEST_HOLD_US

QUARTER_US = 900_000_000

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarters:
    """Figures of a channel by quarter-hour, in time order, only those with a reading or a hold.

    start_us: where each begins; readings, good: rows, and those that may be judged; lowest,
    highest, first, last: of the judged ones, NaN without any; held_us: for how long a value was
    held; area: value times time, in the channel's unit times seconds.
    """

    start_us: Times
    readings: Counts
    good: Counts
    lowest: Values
    highest: Values
    first: Values
    last: Values
    held_us: Counts
    area: Values

    def __len__(self) -> int:
        return len(self.start_us)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of a longer time: of a day, or of any span of whole quarters.

    mean: weighted by time, None where nothing was held; completeness: the share of the time held.
    """

    readings: int
    good: int
    lowest: float | None
    highest: float | None
    mean: float | None
    area: float
    held_us: int
    length_us: int

    @property
    def completeness(self) -> float:
        return self.held_us / self.length_us if self.length_us else 0.0


def quarter_of(at_us: int) -> int:
    """The start of the quarter-hour that holds an instant."""
    return at_us // QUARTER_US * QUARTER_US


def quarters(series: Series, *, since_us: int, until_us: int) -> Quarters:
    """The quarters of ``[since_us, until_us)``, whose ends are full quarters.

    series: every reading, from five minutes before ``since_us`` on, so that what was held into the
    first quarter counts there.
    """
    inside = (series.at_us >= since_us) & (series.at_us < until_us)
    count = (until_us - since_us) // QUARTER_US
    every = np.bincount(_index(series.at_us[inside], since_us), minlength=count)
    usable = judged(series)
    held, area = _held(usable, since_us, until_us, count)
    own = usable.where((usable.at_us >= since_us) & (usable.at_us < until_us))
    extremes = _extremes(own, since_us, count)
    keep = (every > 0) | (held > 0)
    return Quarters(
        start_us=(since_us + np.arange(count, dtype=np.int64) * QUARTER_US)[keep],
        readings=every[keep],
        good=np.bincount(_index(own.at_us, since_us), minlength=count)[keep],
        lowest=extremes[0][keep],
        highest=extremes[1][keep],
        first=extremes[2][keep],
        last=extremes[3][keep],
        held_us=held[keep],
        area=area[keep],
    )


def total(of: Quarters, *, length_us: int) -> Figures:
    """All quarters as one; length_us: of the whole time, to say how complete it is."""
    held = int(of.held_us.sum())
    area = fsum(of.area.tolist())
    known = of.good > 0
    return Figures(
        readings=int(of.readings.sum()),
        good=int(of.good.sum()),
        lowest=float(of.lowest[known].min()) if known.any() else None,
        highest=float(of.highest[known].max()) if known.any() else None,
        mean=area / (held / 1e6) if held else None,
        area=area,
        held_us=held,
        length_us=length_us,
    )


def touched(at_us: Sequence[int] | Times) -> list[int]:
    """The quarters whose figures a reading can change: its own, and the one it is held into."""
    at = np.asarray(at_us, np.int64)
    both = np.concatenate((at, at + LONGEST_HOLD_US)) // QUARTER_US * QUARTER_US
    return [int(start) for start in np.unique(both)]


def _index(at_us: Times, since_us: int) -> Counts:
    return (at_us - since_us) // QUARTER_US


def _held(usable: Series, since_us: int, until_us: int, count: int) -> tuple[Counts, Values]:
    """For how long values were held in each quarter, and value times time."""
    if not len(usable):
        return np.zeros(count, np.int64), np.zeros(count)
    longest = np.minimum(HELD_INTERVALS * usable.interval_us, LONGEST_HOLD_US)
    ends = usable.at_us + longest
    ends[:-1] = np.minimum(ends[:-1], usable.at_us[1:])
    starts, ends = np.maximum(usable.at_us, since_us), np.minimum(ends, until_us)
    keep = ends > starts
    starts, ends, value = starts[keep], ends[keep], usable.value[keep]
    edges = (starts // QUARTER_US + 1) * QUARTER_US
    over = ends > edges  # into the next quarter and no further: no hold is longer than a quarter
    starts = np.concatenate((starts, edges[over]))
    ends = np.concatenate((np.minimum(ends, edges), ends[over]))
    value = np.concatenate((value, value[over]))
    order = np.argsort(starts, kind="stable")  # so that no figure depends on where time is cut
    at, part = _index(starts, since_us)[order], (ends - starts)[order]
    held = np.zeros(count, np.int64)
    np.add.at(held, at, part)
    area: Values = np.bincount(at, weights=value[order] * (part / 1e6), minlength=count).astype(
        np.float64
    )
    return held, area


def _extremes(own: Series, since_us: int, count: int) -> tuple[Values, Values, Values, Values]:
    """Lowest, highest, first and last value of each quarter; NaN where there is none."""
    lowest, highest, first, last = (np.full(count, np.nan) for _ in range(4))
    if len(own):
        at = _index(own.at_us, since_us)
        begins = np.flatnonzero(np.diff(at, prepend=-1))
        here = at[begins]
        lowest[here] = np.minimum.reduceat(own.value, begins)
        highest[here] = np.maximum.reduceat(own.value, begins)
        first[here] = own.value[begins]
        last[here] = own.value[np.append(begins[1:], len(own)) - 1]
    return lowest, highest, first, last
