"""One block of an export as columns, and the same with instants: what both layouts come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.historian.blocks import Block
from app.historian.passes import Passes
from app.historian.targets import Unusable
from app.historian.times import Ints, Mask, Times
from compliance.model.faults import Fault
from compliance.model.history import Piece, Rejected
from compliance.model.periods import FIRST_YEAR, LAST_YEAR
from compliance.model.readings import Values

ALL = "all"
"""The column of a fault of the whole row."""
CLOSED = Unusable(ALL, expected="a closed quote", repair="close it, or take the quotes out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bad:
    """A cell that cannot be used: what stands there, and why not."""

    found: str
    problem: Unusable

    def rejected(self, row: int, line: str) -> Rejected:
        fault = Fault(
            row=row,
            column=self.problem.column,
            found=self.found,
            expected=self.problem.expected,
            repair=self.problem.repair,
        )
        return Rejected(fault=fault, line=line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Rows with a time, and the readings in them.

    at: their times as written; line: which line of the block each is; key: the series whose order
    tells the pass of a repeated hour. The readings: of which of these rows each is, its channel,
    value (NaN where missing) and quality.
    """

    at: list[str]
    line: NDArray[np.intp]
    times: Times
    key: Ints
    of: NDArray[np.intp]
    channel_id: NDArray[np.int32]
    value: Values
    quality: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A block as columns. rows: how many are not blank; bad: by line, what is wrong there."""

    block: Block
    rows: int
    timed: Timed
    bad: Mapping[int, list[Bad]]

    @property
    def row(self) -> Ints:
        """The row of each time in the file, the header's is 1."""
        row: Ints = self.timed.line.astype(np.int64) + self.block.first
        return row

    def learn(self, passes: Passes) -> None:
        """Let the order of rows be known that tells the passes of a repeated hour."""
        times = self.timed.times
        if times.naive.any():
            good = ~times.bad
            key, local_us = self.timed.key[good], times.local_us[good]
            passes.learn(key, local_us, times.repeated[good], row=self.row[good])

    def piece(self, passes: Passes | None) -> Piece:
        """The readings with their instants. passes: None where nothing is decided yet."""
        times, timed = self.timed.times, self.timed
        second = undecided = np.zeros(len(timed.at), np.bool_)
        if passes is not None and times.repeated.any():
            repeated = times.repeated
            second, undecided = passes.second(timed.key, times.local_us, repeated, row=self.row)
        unusable = times.bad | undecided
        keep = np.flatnonzero(~unusable[timed.of])
        of = timed.of[keep]
        at_us = np.where(second, times.second_us, times.first_us)
        return Piece(
            number=self.block.number,
            position=self.block.position,
            rows=self.rows,
            row=self.row[of],
            channel_id=timed.channel_id[keep],
            at_us=at_us[of],
            until_us=(times.second_us if passes is None else at_us)[of],
            value=timed.value[keep],
            quality=timed.quality[keep],
            rejected=tuple(self._rejected(undecided)),
        )

    def _rejected(self, undecided: Mask) -> list[Rejected]:
        """In the order of the file; a row without a time of its own is rejected for that alone."""
        bad = dict(self.bad)
        for mask, problem in _time_problems(self.timed.times, undecided):
            for at in np.flatnonzero(mask):
                bad[int(self.timed.line[at])] = [Bad(found=self.timed.at[at], problem=problem)]
        return [
            one.rejected(self.block.first + line, self.block.lines[line])
            for line in sorted(bad)
            for one in bad[line]
        ]


def _time_problems(times: Times, undecided: Mask) -> list[tuple[Mask, Unusable]]:
    return [
        (
            times.malformed,
            Unusable(
                "at",
                expected="a date with a time such as 2026-03-01T08:00:00-06:00",
                repair="rewrite it",
            ),
        ),
        (
            times.distant,
            Unusable(
                "at", expected=f"a year from {FIRST_YEAR} to {LAST_YEAR}", repair="correct the year"
            ),
        ),
        (
            times.later,
            Unusable(
                "at",
                expected="an instant that has passed: this one lies in the future",
                repair="correct the date, or import the row once it has passed",
            ),
        ),
        (
            times.impossible,
            Unusable("at", expected="a day and time that exist", repair="correct it"),
        ),
        (
            times.skipped,
            Unusable(
                "at",
                expected="a local time that exists: the clock goes forward over this one",
                repair="give its offset, or --tz -06:00 where the historian keeps one offset all "
                "year",
            ),
        ),
        (
            undecided,
            Unusable(
                "at",
                expected="which of the two passes of the repeated hour",
                repair="add the offset, or give --fold first or --fold second",
            ),
        ),
    ]


class Layout(Protocol):
    """How the lines of a file are read, its header known."""

    def part(self, block: Block) -> Part:
        """The lines of one block as columns."""
