"""How full a spool is, and what is then left out: diagnostic channels first, nothing stored ever.

From 70 % of its room the worker warns; from 85 % channels that no rule rests on keep one reading a
minute, from 95 % none; at 100 % the spool takes no more. What is left out is told as a gap.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np

from compliance.model.gaps import SPARED, THINNED, Gap
from compliance.model.parameters import Parameter
from compliance.model.readings import Flags
from compliance.records.batch import ReadingBatch

RESERVE_BYTES = 1024**3
SMALL_DISK = 10
"""On a disk under 10 GiB a tenth of it is left free in place of one GiB."""
MINUTE_US = 60_000_000
DIAGNOSTIC = frozenset(
    {
        Parameter.LEVEL,
        Parameter.VELOCITY,
        Parameter.ORP,
        Parameter.CONDUCTIVITY,
        Parameter.CURRENT,
    }
)
"""Parameters that explain others; no limit, total, bill or sampler rests on them."""


class Level(IntEnum):
    """How full, by the percentage from which it holds."""

    ROOMY = 0
    WARN = 70
    THIN = 85
    SPARE = 95
    FULL = 100


@dataclass(frozen=True, slots=True)
class Disk:
    """Free and total bytes of a file system."""

    free: int
    total: int


def disk(folder: Path) -> Disk:
    """The file system that holds a folder."""
    found = os.statvfs(folder)
    return Disk(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """How many bytes a spool may take: as configured, and never the last of its disk."""

    most: int
    disk: Callable[[], Disk]

    def room(self, used: int) -> int:
        """The bytes it may take in all, ``used`` included."""
        found = self.disk()
        reserve = min(RESERVE_BYTES, found.total // SMALL_DISK)
        return max(0, min(self.most, used + found.free - reserve))

    def level(self, used: int) -> Level:
        """How full it is with so many bytes used."""
        room = self.room(used)
        if not used and room:
            return Level.ROOMY
        share = 100 * used // room if room else 100
        return max(level for level in Level if level <= share)


class Thinner:
    """Leaves readings of diagnostic channels out while a spool is nearly full."""

    def __init__(self) -> None:
        self.diagnostic: frozenset[int] = frozenset()  # ids of channels; others are never touched
        self._kept: dict[int, int] = {}  # by channel: the last minute that kept a reading
        self._channels: set[int] = set()
        self._until: int | None = None

    def sift(self, readings: ReadingBatch, level: Level) -> tuple[ReadingBatch, Gap | None]:
        """What is kept, and the gap that says what is not."""
        if level < Level.THIN:
            self._kept, self._channels, self._until = {}, set(), None
            return readings, None
        keeps = self._keeps(readings, level)
        if keeps.all():
            return readings, None
        left_out = readings.part(~keeps)
        self._channels |= set(left_out.channel_id.tolist())
        since = int(left_out.at_us.min())
        if self._until is not None:
            since = min(self._until, since)
        self._until = int(left_out.at_us.max()) + 1
        gap = Gap(
            channels=tuple(sorted(self._channels)),
            since_us=since,
            until_us=self._until,
            cause=THINNED if level < Level.SPARE else SPARED,
        )
        return readings.part(keeps), gap

    def _keeps(self, readings: ReadingBatch, level: Level) -> Flags:
        """Which readings are kept: of a diagnostic channel the first of each minute, or none."""
        keeps: Flags = ~np.isin(readings.channel_id, list(self.diagnostic))
        if level >= Level.SPARE:
            return keeps
        at = np.flatnonzero(~keeps)
        channels, minutes = readings.channel_id[at], readings.at_us[at] // MINUTE_US
        for place, channel, minute in zip(
            at.tolist(), channels.tolist(), minutes.tolist(), strict=True
        ):
            if minute > self._kept.get(channel, -1):
                self._kept[channel] = minute
                keeps[place] = True
        return keeps
