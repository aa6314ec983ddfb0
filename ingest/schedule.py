"""Slots: instants on a UTC grid at which channels are read. Pure: the clock is an argument."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

MOST_SKIPPED = 3600
"""So many missed slots are flagged one by one; a longer absence shows as silence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One slot of one interval, and the slots before it that were missed; all in ms since 1970."""

    interval: int
    slot: int
    skipped: tuple[int, ...]


class Schedule:
    """Which slots are due. A missed slot is never made up: it is named as skipped."""

    def __init__(self, intervals: Iterable[int], *, now: int) -> None:
        self._done = {interval: now // interval * interval for interval in intervals}

    def next_at(self) -> int:
        """When the next slot begins, in ms since 1970."""
        return min(done + interval for interval, done in self._done.items())

    def due(self, now: int) -> tuple[Round, ...]:
        """The rounds to make now, oldest slot first; each slot is given once.

        A clock that was set back more than one interval starts the grid anew.
        """
        rounds = []
        for interval, done in self._done.items():
            slot = now // interval * interval
            if slot > done:
                missed = range(done + interval, slot, interval)[-MOST_SKIPPED:]
                rounds.append(Round(interval=interval, slot=slot, skipped=tuple(missed)))
            if slot > done or slot < done - interval:
                self._done[interval] = slot
        return tuple(sorted(rounds, key=lambda r: (r.slot, r.interval)))
