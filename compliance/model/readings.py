"""Readings: one instrument value at one instant, and many of them as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import IntFlag, StrEnum

import numpy as np
from numpy.typing import NDArray

from compliance.model.units import Unit


class Quality(IntFlag):
    """Why a reading may not be relied on, as instrument and gateway said it. Nothing set: good."""

    GOOD = 0
    NO_ANSWER = 1
    NOT_CONNECTED = 2
    EXCEPTION = 4
    BAD_REPLY = 8
    MISSING_MARK = 16
    NOT_FINITE = 32
    DENORMAL = 64
    OUT_OF_RANGE = 128
    STATUS_BAD = 256
    STATUS_UNCERTAIN = 512
    STALE = 1024
    MAINTENANCE = 2048
    DECLARED_SUSPECT = 4096
    DECLARED_BAD = 8192
    NOT_READ = 16384
    NOT_COMMISSIONED = 32768  # laid on by the reader, never stored
    ORDER_OPEN = NOT_READ | DENORMAL  # stored without a value; the two never meet otherwise


class Grade(StrEnum):
    """What a quality means for judging; spelled as the ``quality`` column of a historian export."""

    GOOD = "good"
    SUSPECT = "suspect"
    BAD = "bad"
    MISSING = "missing"
    MAINTENANCE = "maintenance"
    NOT_COMMISSIONED = "not commissioned"  # ours alone: no export says so


_ABSENT = (
    Quality.NO_ANSWER
    | Quality.NOT_CONNECTED
    | Quality.EXCEPTION
    | Quality.BAD_REPLY
    | Quality.MISSING_MARK
    | Quality.NOT_READ
)
_BAD = (
    Quality.NOT_FINITE
    | Quality.OUT_OF_RANGE
    | Quality.STATUS_BAD
    | Quality.STALE
    | Quality.DECLARED_BAD
)
_SUSPECT = Quality.DENORMAL | Quality.STATUS_UNCERTAIN | Quality.DECLARED_SUSPECT

UNJUDGED = int(_ABSENT | _BAD | Quality.MAINTENANCE | Quality.NOT_COMMISSIONED)
"""A reading with any of these bits counts as absent; the others are judged."""
STORED_UNJUDGED = UNJUDGED & 0x7FFF
"""Those of them that a reading is stored with: a value without any may be shown."""
SUSPECT = int(_SUSPECT)
"""A reading with any of these bits, and none of ``UNJUDGED``, is judged but for review."""

WORDS_FOR = {
    Quality.NO_ANSWER: "no answer in time",
    Quality.NOT_CONNECTED: "gateway not connected",
    Quality.EXCEPTION: "the instrument refused the request",
    Quality.BAD_REPLY: "an answer that does not fit the question",
    Quality.MISSING_MARK: "the instrument's own mark for no value",
    Quality.NOT_FINITE: "not a number",
    Quality.DENORMAL: "a denormal float: check the word order",
    Quality.OUT_OF_RANGE: "outside the instrument's range",
    Quality.STATUS_BAD: "the status register says bad",
    Quality.STATUS_UNCERTAIN: "the status register says uncertain",
    Quality.STALE: "the instrument repeats an old value",
    Quality.MAINTENANCE: "declared maintenance",
    Quality.DECLARED_SUSPECT: "declared suspect by its source",
    Quality.DECLARED_BAD: "declared bad by its source",
    Quality.NOT_READ: "not read in time",
    Quality.NOT_COMMISSIONED: "not commissioned",
}
_ORDER_OPEN = "byte order not confirmed"


def grade(quality: Quality) -> Grade:
    """What a quality means for judging: the worst of its bits decides."""
    if quality & Quality.MAINTENANCE:
        return Grade.MAINTENANCE
    if quality & _ABSENT:
        return Grade.MISSING
    if quality & _BAD:
        return Grade.BAD
    if quality & Quality.NOT_COMMISSIONED:
        return Grade.NOT_COMMISSIONED
    return Grade.SUSPECT if quality & _SUSPECT else Grade.GOOD


def reasons(quality: Quality) -> str:
    """A quality in words, empty when good."""
    found = []
    if quality & Quality.ORDER_OPEN == Quality.ORDER_OPEN:
        found, quality = [_ORDER_OPEN], quality & ~Quality.ORDER_OPEN
    return "; ".join([*found, *(words for bit, words in WORDS_FOR.items() if quality & bit)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One instrument value at one slot."""

    channel_id: int
    read_at: datetime  # the scheduled slot, aware, UTC
    value: float | None  # None when nothing came: never NaN, never zero
    unit: Unit
    quality: Quality = Quality.GOOD
    words: tuple[int, ...] = ()  # the registers as they came: evidence
    offset_ms: int = 0  # how long after the slot we asked
    device_offset_ms: int | None = None  # the instrument's own time less ours, where it tells one


Times = NDArray[np.int64]
Values = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Readings of one channel as arrays of one length, in time order, instants unique.

    at_us: microseconds since 1970; value: in the channel's unit, NaN where nothing came;
    quality: bits of ``Quality``; interval_us: the cadence in force at each reading.
    """

    at_us: Times
    value: Values
    quality: NDArray[np.int64]
    interval_us: Times

    def __len__(self) -> int:
        return len(self.at_us)

    def where(self, mask: Flags) -> Series:
        """The readings that a mask keeps."""
        return Series(
            at_us=self.at_us[mask],
            value=self.value[mask],
            quality=self.quality[mask],
            interval_us=self.interval_us[mask],
        )


def judged(series: Series, *, lowest: float = -np.inf, highest: float = np.inf) -> Series:
    """The readings that may be judged: good or suspect, finite, inside the physical range."""
    usable = (series.quality & UNJUDGED) == 0
    usable &= np.isfinite(series.value)
    with np.errstate(invalid="ignore"):
        usable &= (series.value >= lowest) & (series.value <= highest)
    return series.where(usable)
