"""A CSV of a total's readings (``at, value``) to counts in time order, or why it is refused."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from app.historian.columns import NAMED_FAULTS
from app.historian.times import Ints, Mask, Times, read_times, second_pass
from compliance.errors import InputError
from compliance.model.faults import Fault
from compliance.model.totals import Count

_NUMBER = re.compile(r"[+-]?([0-9]{1,60}(\.[0-9]{0,60})?|\.[0-9]{1,60})([eE][+-]?[0-9]{1,2})?")
_MISSING = frozenset({"", "nan", "null"})
_QUALITIES = {"": True, "good": True, "suspect": True}
_QUALITIES |= {"bad": False, "missing": False, "maintenance": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalFile:
    """Readings of a total in time order, each instant once, missing ones left out.

    written: an instant as the file has it; resolution: the last decimal that any value has, at
    most 1; warnings: what its reader should know.
    """

    counts: tuple[Count, ...]
    written: dict[int, str]
    resolution: Decimal
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    number: int
    at: str
    value: str
    is_read: bool

    def fault(self, column: str, expected: str, repair: str) -> Fault:
        found = self.at if column == "at" else self.value
        return Fault(row=self.number, column=column, found=found, expected=expected, repair=repair)


def read(path: str, *, modulus: Decimal, zone: ZoneInfo, fold: str | None = None) -> TotalFile:
    """Read the columns ``at, value``; ``-`` is standard input, gzip is understood.

    A value is missing where it is empty or NaN, or where an optional column ``quality`` says bad,
    missing or maintenance. ``at`` without an offset is read in ``zone``; fold: which pass of the
    repeated hour, where the order of the rows does not tell.
    Raises: InputError: no such file, no table, or the first five bad rows.
    """
    name = "standard input" if path == "-" else Path(path).name
    rows = list(_rows(_text(path, name), name))
    times = read_times(pd.Series([row.at for row in rows], dtype="str"), zone)
    at_us, undecided = _instants(times, fold)
    faults = [*_time_faults(rows, times, undecided), *_value_faults(rows, modulus)]
    if faults:
        first = sorted(faults, key=lambda fault: fault.row)[:NAMED_FAULTS]
        raise InputError("\n".join(f"{name}, {fault}" for fault in first))
    known = [(int(us), row) for us, row in zip(at_us, rows, strict=True) if row.is_read]
    if not known:
        raise InputError(
            f"{name}: found {len(rows)} rows and no reading, expected one at least; a total "
            "cannot be taken from silence"
        )
    counts, repeats = _counts(known, name)
    return TotalFile(
        counts=counts,
        written={us: row.at for us, row in known},
        resolution=_resolution(counts),
        warnings=tuple(_warnings(rows, known, repeats=repeats, by_order=_by_order(times, fold))),
    )


def _text(path: str, name: str) -> str:
    try:
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
        return content.decode("utf-16" if wide else "utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or str(error) or "it is cut short"
        raise InputError(
            f"{name} cannot be read ({why}); expected a CSV with the columns at, value"
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"{name} is not text; expected a CSV, in UTF-8") from None


def _rows(text: str, name: str) -> Iterator[_Row]:
    heading = text.split("\n", maxsplit=1)[0]
    separator = max((",", ";", "\t"), key=heading.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        columns = [cell.strip().casefold() for cell in next(reader, [])]
        for column in ("at", "value"):
            if columns.count(column) != 1:
                found = ", ".join(columns) or "nothing"
                raise InputError(
                    f"{name}, row 1: found {found}; expected the columns at, value: "
                    f"add one {column}"
                )
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield _row(cells, columns, number=reader.line_num, name=name)
    except csv.Error as error:
        raise InputError(
            f"{name}, row {reader.line_num}: {error}; expected a CSV: quote what holds commas"
        ) from None


def _row(cells: list[str], columns: list[str], *, number: int, name: str) -> _Row:
    if len(cells) != len(columns):
        raise InputError(
            f"{name}, row {number}: found {len(cells)} cells, expected {len(columns)} as in the "
            "header; write a number without separators of thousands"
        )
    named = dict(zip(columns, (cell.strip() for cell in cells), strict=True))
    quality = named.get("quality", "").casefold()
    if quality not in _QUALITIES:
        raise InputError(
            f"{name}, row {number}, column quality: found {quality!r}, expected good, suspect, "
            "bad, missing or maintenance; correct it"
        )
    value = named["value"]
    is_read = _QUALITIES[quality] and value.casefold() not in _MISSING
    return _Row(number=number, at=named["at"], value=value, is_read=is_read)


def _instants(times: Times, fold: str | None) -> tuple[Ints, Mask]:
    """Every row's instant, and the rows of a repeated hour that nothing decides."""
    undecided = times.repeated.copy()
    second = np.zeros(len(undecided), np.bool_)
    for at, later in second_pass(times.local_us, times.repeated):
        second[at], undecided[at] = later, False
    if fold is not None:
        second |= undecided & (fold == "second")
        undecided = np.zeros_like(undecided)
    return np.where(second, times.second_us, times.first_us), undecided


def _by_order(times: Times, fold: str | None) -> bool:
    return bool(times.repeated.any()) and fold is None


def _time_faults(rows: Sequence[_Row], times: Times, undecided: Mask) -> Iterator[Fault]:
    twice = "which of the two passes of the repeated hour"
    for mask, expected, repair in (
        (times.malformed, "a date with a time such as 2026-03-01T08:00:00-06:00", "rewrite it"),
        (times.impossible, "a day and time that exist", "correct it"),
        (times.skipped, "a local time that exists: the clock goes forward", "give its offset"),
        (undecided, twice, "add the offset or give --fold first or --fold second"),
    ):
        for at in np.flatnonzero(mask)[:NAMED_FAULTS]:
            yield rows[at].fault("at", expected, repair)


def _value_faults(rows: Sequence[_Row], modulus: Decimal) -> Iterator[Fault]:
    for row in rows:
        if not row.is_read:
            continue
        if not _NUMBER.fullmatch(row.value):
            yield row.fault("value", "a plain number, or nothing where none came", "correct it")
        elif not 0 <= Decimal(row.value) < modulus:
            expected = f"a count from 0 up to the modulus {modulus:f}"
            yield row.fault("value", expected, "correct --modulus, or empty the value")


def _counts(known: Sequence[tuple[int, _Row]], name: str) -> tuple[tuple[Count, ...], int]:
    """Counts in time order and how many rows repeat another; two that differ are refused."""
    kept: dict[int, _Row] = {}
    for us, row in known:
        other = kept.setdefault(us, row)
        if Decimal(other.value) != Decimal(row.value):
            raise InputError(
                f"{name}, row {row.number}, column at: found the instant of row {other.number} "
                f"with another value ({other.value} and {row.value}), expected one reading an "
                "instant; remove the wrong row"
            )
    counts = tuple(Count(at_us=us, value=Decimal(kept[us].value)) for us in sorted(kept))
    return counts, len(known) - len(counts)


def _resolution(counts: Sequence[Count]) -> Decimal:
    """One of the last decimal that any value has; 1 for whole numbers."""
    places = (int(count.value.normalize().as_tuple().exponent) for count in counts)
    return Decimal(1).scaleb(min(0, *places))


def _warnings(
    rows: Sequence[_Row], known: Sequence[tuple[int, _Row]], *, repeats: int, by_order: bool
) -> Iterator[str]:
    instants = [us for us, _ in known]
    if missing := len(rows) - len(known):
        yield f"{missing} of {len(rows)} rows have no reading and are left out"
    if repeats:
        yield f"{repeats} rows repeat another one and count once"
    if any(later < earlier for earlier, later in zip(instants, instants[1:], strict=False)):
        yield "the rows are not in time order and were sorted by at"
    if by_order:
        yield "the repeated hour is passed twice without an offset; the order of the rows decided"
