"""The instants of an export's rows: what each piece says, and which pass of a repeated hour."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from app.historian.columns import NAMED_FAULTS
from app.historian.times import Ints, Mask, Times, second_pass
from compliance.model.faults import Fault
from compliance.model.periods import FIRST_YEAR, LAST_YEAR, from_us

_BAD = (
    ("malformed", "a date with a time such as 2026-03-01T08:00:00-06:00", "rewrite it"),
    ("distant", f"a year from {FIRST_YEAR} to {LAST_YEAR}", "correct the year"),
    ("impossible", "a day and time that exist", "correct the date or the time"),
    (
        "skipped",
        "a local time that exists: the clock goes forward over this one",
        "correct it or give its offset",
    ),
)
_EITHER = (
    "which of the two passes of the repeated hour",
    "add the offset or give --fold first or --fold second",
)


@dataclass(slots=True)
class Moments:
    """The ``at`` column, taken in piece by piece.

    Of a row whose local time comes twice that day both instants and the text are kept.
    """

    _first: list[Ints] = field(default_factory=list)
    _local: list[Ints] = field(default_factory=list)
    _twice: list[Ints] = field(default_factory=list)  # positions among all rows
    _second: list[Ints] = field(default_factory=list)  # their later instants
    _texts: dict[int, tuple[int, str]] = field(default_factory=dict)  # their rows and texts
    _faults: dict[str, list[Fault]] = field(default_factory=dict)
    _length: int = 0

    def take(self, times: Times, texts: pd.Series[str], rows: Ints) -> None:
        """Take a piece in. rows: of the file, for faults."""
        for name, expected, repair in _BAD:
            found = self._faults.setdefault(name, [])
            for at in np.flatnonzero(getattr(times, name))[: NAMED_FAULTS - len(found)]:
                found.append(_fault(int(rows[at]), str(texts.iloc[at]), expected, repair))
        twice = np.flatnonzero(times.repeated)
        self._first.append(times.first_us)
        self._local.append(times.local_us)
        self._twice.append(twice + self._length)
        self._second.append(times.second_us[twice])
        for at in twice:
            self._texts[self._length + int(at)] = int(rows[at]), str(texts.iloc[at])
        self._length += len(rows)

    def instants(
        self, key: Ints, fold: str | None, named: Callable[[int], str], warnings: list[str]
    ) -> Ints:
        """The instant of every row; a row that nothing decides becomes a fault.

        key: the series of each row. fold: first or second, where no order tells. named: the name
        of a row's series, for the warnings.
        """
        at_us, twice = np.concatenate(self._first), np.concatenate(self._twice)
        self._first = []
        if not len(twice):
            return at_us
        undecided, second = np.zeros((2, self._length), np.bool_)
        undecided[twice] = True
        self._by_order(key, undecided, second, named=named, warnings=warnings)
        if fold is not None:
            second |= undecided & (fold == "second")
            undecided[:] = False
        later = second[twice]
        at_us[twice[later]] = np.concatenate(self._second)[later]
        found = [self._texts[int(at)] for at in np.flatnonzero(undecided)[:NAMED_FAULTS]]
        self._faults["undecided"] = [_fault(row, text, *_EITHER) for row, text in found]
        return at_us

    def _by_order(
        self,
        key: Ints,
        undecided: Mask,
        second: Mask,
        *,
        named: Callable[[int], str],
        warnings: list[str],
    ) -> None:
        """Decide what the order of the rows tells."""
        local_us = np.concatenate(self._local)
        self._local = []
        for each in np.unique(key[undecided]):
            rows = np.flatnonzero(key == each)
            for at, later in second_pass(local_us[rows], undecided[rows]):
                second[rows[at]] = later
                undecided[rows[at]] = False
                day = from_us(local_us[rows[at[0]]]).date().isoformat()
                warnings.append(
                    f"{named(int(rows[0]))}: the repeated hour of {day} is passed twice without "
                    "an offset; the order of the rows decided"
                )

    def faults(self) -> Iterator[Fault]:
        """The first rows of each kind whose time cannot be."""
        for found in self._faults.values():
            yield from found


def _fault(row: int, found: str, expected: str, repair: str) -> Fault:
    return Fault(row=row, column="at", found=found, expected=expected, repair=repair)
