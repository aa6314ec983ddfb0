"""This machine's clocks: the one that people and NTP set, and the one that only ever runs."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Protocol

_RUNNING = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # goes on while suspended


@dataclass(frozen=True, slots=True)
class Moment:
    """One instant on both clocks, in ms. wall: since 1970, UTC; steady: since some start."""

    wall: int
    steady: int


class Clock(Protocol):
    """What a poller needs to know of time."""

    def now(self) -> Moment: ...

    async def sleep(self, seconds: float) -> None: ...


class OwnClock:
    """The clocks of this machine."""

    def now(self) -> Moment:
        """Both clocks."""
        return Moment(time.time_ns() // 1_000_000, time.clock_gettime_ns(_RUNNING) // 1_000_000)

    async def sleep(self, seconds: float) -> None:
        """Let others run for so long."""
        await asyncio.sleep(seconds)
