"""Which pass of the repeated hour a row belongs to, told by the order of a file read in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

import numpy as np

from app.historian.times import Ints, Mask

DAY_US = 86_400_000_000


@dataclass(slots=True)
class _Hour:
    """The repeated hour of one day in one series; a turn is a step against the series' direction.

    first, last: positions in the series; up, down: turns of a rising and of a falling series, and
    the row after the last of each.
    """

    first: int
    last: int
    local_us: int
    count: int = 1
    up: int = 0
    up_row: int = 0
    down: int = 0
    down_row: int = 0

    def see(self, position: int, local_us: int, row: int) -> None:
        if local_us <= self.local_us:
            self.up, self.up_row = self.up + 1, row
        if local_us >= self.local_us:
            self.down, self.down_row = self.down + 1, row
        self.last, self.local_us, self.count = position, local_us, self.count + 1

    def turn(self, *, falling: bool) -> int | None:
        """The row at which the second pass in the file begins; None where no order tells."""
        turns, row = (self.down, self.down_row) if falling else (self.up, self.up_row)
        together = self.last - self.first + 1 == self.count
        return row if together and turns == 1 else None


@dataclass(slots=True)
class _Walk:
    """How a series runs through time: where it is, and which way it goes on the whole."""

    length: int = 0
    local_us: int = 0
    direction: int = 0
    hours: dict[int, _Hour] = field(default_factory=dict)


@dataclass(slots=True)
class Passes:
    """What the first reading of a file learns, and what the second one asks.

    What is kept grows with the series and the years, not with the rows.
    """

    fold: str | None = None  # first, second: where no order tells
    _walks: dict[int, _Walk] = field(default_factory=dict)

    def learn(self, key: Ints, local_us: Ints, repeated: Mask, *, row: Ints) -> None:
        """Follow the rows of a block: the series of each, its local time, whether that repeats."""
        order = np.argsort(key, kind="stable")
        cuts = np.flatnonzero(np.diff(key[order])) + 1
        for rows in np.split(order, cuts):
            if len(rows):
                walk = self._walks.setdefault(int(key[rows[0]]), _Walk())
                _follow(walk, local_us[rows], repeated[rows], row=row[rows])

    def second(self, key: Ints, local_us: Ints, repeated: Mask, *, row: Ints) -> tuple[Mask, Mask]:
        """Which rows belong to the second pass, and which nothing decides."""
        second, undecided = np.zeros(len(key), np.bool_), np.zeros(len(key), np.bool_)
        for at in np.flatnonzero(repeated):
            walk = self._walks[int(key[at])]
            turn = walk.hours[int(local_us[at]) // DAY_US].turn(falling=walk.direction < 0)
            if turn is not None:
                second[at] = (row[at] >= turn) != (walk.direction < 0)
            elif self.fold is None:
                undecided[at] = True
            else:
                second[at] = self.fold == "second"
        return second, undecided

    @property
    def is_undecided(self) -> bool:
        """Whether there is a repeated hour whose pass neither an order nor a person tells."""
        return self.fold is None and any(
            hour.turn(falling=walk.direction < 0) is None
            for walk in self._walks.values()
            for hour in walk.hours.values()
        )

    def days(self) -> Iterator[date]:
        """The days whose repeated hour was told by the order of rows."""
        found = {
            day
            for walk in self._walks.values()
            for day, hour in walk.hours.items()
            if hour.turn(falling=walk.direction < 0) is not None
        }
        for day in sorted(found):
            yield datetime.fromtimestamp(day * DAY_US // 1_000_000, UTC).date()


def _follow(walk: _Walk, local_us: Ints, repeated: Mask, *, row: Ints) -> None:
    before = np.array([walk.local_us if walk.length else local_us[0]], np.int64)
    walk.direction += int(np.sign(np.diff(np.concatenate([before, local_us]))).sum())
    for at in np.flatnonzero(repeated):
        local, position = int(local_us[at]), walk.length + int(at)
        hour = walk.hours.get(local // DAY_US)
        if hour is None:
            walk.hours[local // DAY_US] = _Hour(position, position, local)
        else:
            hour.see(position, local, int(row[at]))
    walk.length, walk.local_us = walk.length + len(local_us), int(local_us[-1])
