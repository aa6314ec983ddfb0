"""Slots: instants on a UTC grid at which channels are read. Pure: the clocks are an argument.

A slot is named by the wall clock and waited for by the steady one. A wall clock that is set is an
event, not a pile of slots: set forward, the slots it jumped over never were; set back, new slots
lie beside the grid until the old ones are passed, so that none is given twice and no reading lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from compliance.model.slots import phase_of
from ingest.own_clock import Moment

MOST_SKIPPED = 3600
"""So many missed slots are flagged one by one; a longer absence shows as silence."""
STEP_MS = 1000
"""A wall clock that moves so much against the steady one was set; less is followed."""
_SIDES = 8  # places beside the grid, for clocks set back again and again


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One slot of one interval, and the slots before it that were missed; all in ms since 1970.

    steady: when the slot begins on the steady clock, in ms.
    """

    interval: int
    slot: int
    skipped: tuple[int, ...]
    steady: int = 0


class Schedule:
    """Which slots are due. A missed slot is never made up: it is named as skipped.

    spread_by: a name whose gateway's slots lie beside the grid; None: on it. stepped: by how many
    ms the wall clock was set, as found by the last call of ``due``; 0 if it was not.
    """

    def __init__(
        self, intervals: Iterable[int], *, at: Moment, spread_by: str | None = None
    ) -> None:
        self._grids = [
            _Grid(each, 0 if spread_by is None else phase_of(spread_by, each), at.wall)
            for each in intervals
        ]
        self._lead = at.wall - at.steady
        self.stepped = 0

    def next_at(self) -> int:
        """When the next slot begins, in ms since 1970."""
        return min(grid.next_slot() for grid in self._grids)

    def due(self, at: Moment) -> tuple[Round, ...]:
        """The rounds to make now, oldest slot first; each slot is given once."""
        moved = at.wall - at.steady - self._lead
        self._lead += moved
        self.stepped = moved if abs(moved) >= STEP_MS else 0
        rounds = []
        for grid in self._grids:
            if self.stepped:
                grid.follow(at.wall, moved)
            found = grid.due(at.wall)
            if found is not None:
                slot, skipped = found
                rounds.append(
                    Round(
                        interval=grid.interval,
                        slot=slot,
                        skipped=skipped,
                        steady=at.steady - (at.wall - slot),
                    )
                )
        return tuple(sorted(rounds, key=lambda r: (r.slot, r.interval)))


class _Grid:
    """The slots of one interval. done: the last one given."""

    def __init__(self, interval: int, phase: int, now: int) -> None:
        self.interval = interval
        self._home = self._phase = phase
        self._turns = 0
        self._passed: int | None = None  # the last slot given before the clock was set back
        self._done = self._before(now, phase)

    def _before(self, now: int, phase: int) -> int:
        """The last slot at or before an instant."""
        return (now - phase) // self.interval * self.interval + phase

    def next_slot(self) -> int:
        """The slot after the last one given."""
        following = self._done + self.interval
        back = self._back_home()
        return following if back is None else min(following, back)

    def _back_home(self) -> int | None:
        """The first slot of the grid itself that may be given again; None where we are on it."""
        if self._passed is None:
            return None
        return (
            max(self._before(self._passed, self._home), self._before(self._done, self._home))
            + self.interval
        )

    def follow(self, now: int, moved: int) -> None:
        """Go on by a wall clock that was set by so many ms."""
        if now < self._done:
            if self._done - now >= self.interval:
                self._step_aside(now)
            return
        if self._passed is not None and now > self._passed:
            self._done = max(self._done, self._passed)
            self._passed, self._phase = None, self._home
        last = self._before(now, self._phase)
        waited = now - moved - self._done >= self.interval * 3 // 4
        is_due = waited and now - last <= self.interval // 4
        self._done = max(self._done, last - self.interval if is_due else last)

    def _step_aside(self, now: int) -> None:
        """Lay the slots beside those that were given already, until they are passed."""
        self._turns = self._turns % (_SIDES - 1) + 1
        self._passed = max(self._done, self._passed or self._done)
        self._phase = (self._home + self.interval * self._turns // _SIDES) % self.interval
        self._done = self._before(now, self._phase)

    def due(self, now: int) -> tuple[int, tuple[int, ...]] | None:
        """The slot that is due with those missed before it."""
        back = self._back_home()
        if back is not None and now >= back:
            self._passed, self._phase = None, self._home
        slot = self._before(now, self._phase)
        if slot <= self._done:
            return None
        first = self._before(self._done, self._phase) + self.interval
        self._done = slot
        return slot, tuple(range(first, slot, self.interval)[-MOST_SKIPPED:])
