"""A total read every second or two, with the readings left out that cannot change its sum."""

from __future__ import annotations

import numpy as np

from compliance.model.readings import Flags, Series, Values, judged
from compliance.model.totals import Counter

PIECE_US = 60_000_000
"""Of each minute the first and the last reading stay, so that a civil day's edges stay sharp."""
AROUND = 3
"""So many readings on either side of an odd one stay: they decide what it is."""
SURELY = 1.1
"""A rise under so many times the pipe's capacity is plain whatever the rounding."""


def thinned(series: Series, counter: Counter, *, piece_us: int = PIECE_US) -> Series:
    """The judged readings of a total that ``counting.tally`` needs to find the same sum.

    Left out are readings inside a piece of time in which the count only rises, and by no more than
    the pipe passes. Everything around a fall, a leap or a reading that is no count stays; of a run
    of readings that are all left out of the sum, a few stay to tell of it.
    """
    usable = judged(series)
    if len(usable) <= 2 * AROUND:
        return usable
    piece = usable.at_us // piece_us
    changes = np.flatnonzero(np.diff(piece))
    keep = np.zeros(len(usable), np.bool_)
    keep[: AROUND + 1] = keep[-AROUND - 1 :] = True
    keep[changes] = keep[changes + 1] = True
    for odd in np.flatnonzero(~_plain(usable, counter)):
        keep[max(0, odd - AROUND + 1) : odd + AROUND + 1] = True
    return usable.where(keep)


def _plain(usable: Series, counter: Counter) -> Flags:
    """Of each step from a reading to the next: whether nothing about it needs a second look."""
    rises: Values = np.diff(usable.value)
    plain: Flags = (rises >= 0) & (usable.value[:-1] >= 0)
    plain &= usable.value[1:] < float(counter.modulus)
    if counter.max_per_second is not None:
        seconds = np.diff(usable.at_us) / 1_000_000
        plain &= rises <= SURELY * float(counter.max_per_second) * seconds
    falls = rises < 0
    if falls.any():
        lowest = float(usable.value[:-1][falls].min())
        plain &= rises < lowest / 2  # a leap back from a reset would be larger
    return plain
