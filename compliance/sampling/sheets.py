"""A laboratory file as cells with their place, and what reading it comes to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import TypeVar

from compliance.errors import InputError
from compliance.model.faults import Fault
from compliance.model.samples import Result, Sample
from compliance.sampling.dates import Order
from compliance.sampling.headings import Field, Header

T = TypeVar("T")
LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row of a file with its number there; cells as text."""

    row: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A table as cells with their place: what the bytes of an upload come to."""

    format: str
    lines: tuple[Line, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A result with the sample it belongs to."""

    row: int
    sample: Sample
    result: Result


@dataclass(frozen=True, slots=True, kw_only=True)
class LabReport:
    """What a laboratory file says. rows: data rows received, whatever became of them."""

    format: str
    rows: int
    accepted: tuple[Accepted, ...]
    rejected: tuple[Fault, ...]
    warnings: tuple[str, ...]


class RowFault(Exception):
    """Ends the reading of one row; becomes a ``Fault`` and never leaves this package."""

    def __init__(self, field: Field, found: str, *, expected: str, repair: str) -> None:
        super().__init__(expected)
        self.field, self.found, self.expected, self.repair = field, found, expected, repair


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A sheet whose columns are understood."""

    header: Header
    zone: tzinfo
    orders: dict[Field, Order]
    received_at: datetime | None = None  # no sample is taken later

    def cell(self, line: Line, field: Field) -> str:
        """A cell's text, empty where the row or the file has none."""
        index = self.header.column.get(field)
        return line.cells[index].strip() if index is not None and index < len(line.cells) else ""

    def name_in(self, line: Line, field: Field) -> str | None:
        """A cell that is kept as it stands; None where it is empty. Raises: RowFault."""
        text = self.cell(line, field)
        if len(text) > LONGEST_NAME:
            raise RowFault(
                field,
                text,
                expected=f"at most {LONGEST_NAME} characters, not {len(text):,}",
                repair="shorten it",
            )
        return text or None

    def must_be_text(self, line: Line) -> None:
        """Refuse a NUL byte and its like: no database keeps them. Raises: RowFault."""
        for field in self.header.column:
            text = self.cell(line, field)
            if any(ord(sign) < 32 and sign not in "\t\n\r" for sign in text):  # noqa: PLR2004
                raise RowFault(
                    field,
                    text,
                    expected="text without control characters such as NUL",
                    repair="type the cell again",
                )


def ask(field: Field, found: str, reader: Callable[[], T], *, repair: str) -> T:
    """What a reader makes of a cell. Raises: RowFault where it cannot."""
    try:
        return reader()
    except InputError as error:
        raise RowFault(field, found, expected=str(error), repair=repair) from None
