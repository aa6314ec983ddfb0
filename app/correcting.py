"""A table of corrected readings on its way in: read whole, refused whole, each fault in place."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from app.moments import at_plant
from compliance.errors import InputError
from compliance.model.corrections import MOST, QUALITIES
from compliance.model.faults import Fault
from compliance.model.parameters import PHYSICAL_RANGE, Parameter
from compliance.records import corrections
from compliance.records.overlay import Correction
from compliance.records.places import Signal

HEADINGS = ("at", "value", "quality")
_WITHOUT_VALUE = ("missing",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of the table: the correction, and what was read first."""

    row: int
    correction: Correction
    first: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What a table says; with a fault none of it is taken."""

    rows: tuple[Row, ...]
    faults: tuple[Fault, ...]


def table(db: Connection, signal: Signal, content: bytes, *, filename: str) -> Table:
    """The corrections of a CSV file for a channel.

    Columns: at (at the plant, unless an offset is written), value in the channel's unit, and
    optionally quality. Raises: InputError where it is no such table.
    """
    lines = _lines(content, filename)
    faults: list[Fault] = []
    found: dict[datetime, tuple[int, Correction]] = {}
    for number, cells in lines:
        one = _correction(number, cells, signal, faults)
        if one is None:
            continue
        if one.read_at in found:
            faults.append(_twice(number, cells["at"], found[one.read_at][0]))
        else:
            found[one.read_at] = (number, one)
    first = corrections.stored(db, signal.channel_id, list(found)) if found else {}
    written = {number: cells["at"] for number, cells in lines}
    faults += [_unknown(n, written[n]) for at, (n, _) in found.items() if at not in first]
    rows = [
        Row(row=number, correction=one, first=first.get(at)) for at, (number, one) in found.items()
    ]
    return Table(rows=tuple(rows), faults=tuple(sorted(faults, key=lambda one: one.row)))


def _lines(content: bytes, filename: str) -> list[tuple[int, dict[str, str]]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{filename} is not UTF-8 text; save it as CSV in UTF-8.") from None
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = [(reader.line_num, cells) for cells in reader if any(one.strip() for one in cells)]
    except csv.Error as error:
        raise InputError(f"{filename}, line {reader.line_num}: {error}; save it as CSV.") from None
    names = [one.strip().casefold() for one in rows[0][1]] if rows else []
    if not {"at", "value"} <= set(names) or set(names) - set(HEADINGS):
        raise InputError(
            f"{filename} has the columns {', '.join(names)[:200] or 'none'}; expected at, value "
            "and optionally quality in its first line."
        )
    if len(rows) - 1 > MOST:
        raise InputError(f"{filename} has {len(rows) - 1:,} rows; expected at most {MOST:,}.")
    if len(rows) == 1:
        raise InputError(f"{filename} has no row below its heading; add one for each reading.")
    return [(number, _cells(names, cells)) for number, cells in rows[1:]]


def _cells(names: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    padded = [*cells, *[""] * len(names)]
    found = dict(zip(names, (one.strip() for one in padded), strict=False))
    return {"quality": "", **found}


def _correction(
    row: int, cells: dict[str, str], signal: Signal, faults: list[Fault]
) -> Correction | None:
    """One line; None, with its faults."""
    before = len(faults)
    at = _instant(row, cells["at"], signal.zone, faults)
    quality = cells["quality"].casefold() or "good"
    if quality not in QUALITIES:
        expected = f"one of {', '.join(QUALITIES)}"
        faults.append(_fault(row, "quality", cells["quality"], expected, "write one of them"))
    value = _value(row, cells["value"], quality, signal, faults)
    if len(faults) > before or at is None:
        return None
    return Correction(read_at=at, value=value, quality=QUALITIES[quality])


def _instant(row: int, written: str, zone: str, faults: list[Fault]) -> datetime | None:
    try:
        return at_plant(written, zone)
    except InputError as error:
        expected = "a date and a time as the reading has it, such as 2026-11-30T08:15:00-06:00"
        faults.append(_fault(row, "at", written, expected, str(error).rstrip(".")))
        return None


def _value(
    row: int, written: str, quality: str, signal: Signal, faults: list[Fault]
) -> float | None:
    if quality in _WITHOUT_VALUE:
        if written:
            repair = "leave it empty, or write another quality"
            faults.append(_fault(row, "value", written, "no value of a missing reading", repair))
        return None
    try:
        value = float(written)
    except ValueError:
        value = math.nan
    lowest, highest = PHYSICAL_RANGE.get(Parameter(signal.parameter), (-math.inf, math.inf))
    if not math.isfinite(value) or not lowest <= value <= highest or "_" in written:
        span = f" from {lowest:g} to {highest:g}" if math.isfinite(lowest) else ""
        expected = f"a number in {signal.unit}{span}"
        repair = "write the number, or leave it empty with quality missing"
        faults.append(_fault(row, "value", written, expected, repair))
        return None
    return value


def _fault(row: int, column: str, found: str, expected: str, repair: str) -> Fault:
    return Fault(row=row, column=column, found=found, expected=expected, repair=repair)


def _twice(row: int, written: str, before: int) -> Fault:
    expected = f"an instant that row {before} does not have already"
    return _fault(row, "at", written, expected, "keep one of them")


def _unknown(row: int, written: str) -> Fault:
    expected = "the instant of a stored reading"
    return _fault(row, "at", written, expected, "only a reading that is stored can be corrected")
