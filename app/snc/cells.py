"""A CSV of named columns: its rows as text with their numbers, or a sentence why it is none."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.historian import contents
from compliance.errors import InputError
from compliance.model.faults import Fault, brief

NAMED_FAULTS = 5
_MARKS = (",", ";", "\t", "|")
_HEADINGS_SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row: its number in the file (the header's is 1), and its cells by column."""

    number: int
    cells: dict[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells.get(column, "")


Rows = Iterable[Row]


class CellFault(Exception):
    """Ends the reading of one row; becomes a ``Fault`` and never leaves this package."""

    def __init__(self, column: str, found: str, *, expected: str, repair: str) -> None:
        super().__init__(expected)
        self.column, self.found, self.expected, self.repair = column, found, expected, repair

    def at(self, row: Row) -> Fault:
        """The fault of a row."""
        return Fault(
            row=row.number,
            column=self.column,
            found=self.found,
            expected=self.expected,
            repair=self.repair,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What a file must have, may have, and is a table of."""

    required: Sequence[str]
    optional: Sequence[str]
    of: str


def name_of(path: str) -> str:
    """How sentences name a file."""
    return "standard input" if path == "-" else Path(path).name


def rows(path: str, columns: Columns) -> Iterator[Row]:
    """The rows of a CSV that hold anything; ``-`` is standard input, gzip is understood.

    Raises: InputError.
    """
    name = name_of(path)
    raw = contents.content(path, name, columns.of)
    return _parse(contents.as_utf8(raw, name).decode(), name, columns)


def refuse(faults: Sequence[Fault], name: str) -> None:
    """Raises: InputError naming the first five, a line each, and how many more there are."""
    if not faults:
        return
    said = [f"{name}, {fault}" for fault in faults[:NAMED_FAULTS]]
    more = len(faults) - NAMED_FAULTS
    if more > 0:
        said.append(f"{name}: and {more} more rows that cannot be used")
    raise InputError("\n".join(said))


def _parse(text: str, name: str, columns: Columns) -> Iterator[Row]:
    first = text.split("\n", maxsplit=1)[0]
    mark = max(_MARKS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    wanted = ",".join(columns.required)
    try:
        header = next(reader, [])
        headings = [cell.strip().casefold() for cell in header]
        _check(headings, name, columns)
        begins = reader.line_num + 1
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield _row(cells, headings, begins, name)
            begins = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{name}, row {reader.line_num}: {error}; expected a CSV with the columns {wanted}: "
            "export it again"
        ) from None


def _row(cells: Sequence[str], headings: Sequence[str], number: int, name: str) -> Row:
    if any(cell.strip() for cell in cells[len(headings) :]):
        raise InputError(
            f"{name}, row {number}: found {len(cells)} cells, expected {len(headings)} as in the "
            "header; quote a cell that holds the separator"
        )
    found = {heading: cell.strip() for heading, cell in zip(headings, cells, strict=False)}
    return Row(number=number, cells=found)


def _check(headings: Sequence[str], name: str, columns: Columns) -> None:
    wanted = ",".join(columns.required)
    if not any(headings):
        raise InputError(f"{name} is empty; expected a CSV with the columns {wanted}")
    missing = [column for column in columns.required if column not in headings]
    if missing:
        shown = ", ".join(repr(brief(heading)) for heading in headings[:_HEADINGS_SHOWN])
        raise InputError(
            f"{name}, row 1: found the columns {shown}, expected {wanted}; "
            f"add or rename {', '.join(missing)}"
        )
    for column in (*columns.required, *columns.optional):
        if headings.count(column) > 1:
            raise InputError(
                f"{name}, row 1: found the column {column} {headings.count(column)} times, "
                "expected one; remove or rename the others"
            )
