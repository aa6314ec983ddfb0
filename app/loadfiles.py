"""The two files of ``pretreat capacity``: a user's days as CSV, a plant's design as YAML."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TypeVar

import yaml

from app.historian import contents
from compliance.errors import InputError
from compliance.judging.agreements import LOADS, Design, LoadDay
from compliance.model.faults import Fault, brief
from compliance.model.periods import FIRST_YEAR, LAST_YEAR

DATE, FLOW, SANITARY = "date", "flow_gpd", "sanitary_gpd"
STRENGTHS = {f"{one.value}_mg_l": one for one in LOADS}
NEEDED = (DATE, FLOW, *STRENGTHS)
KNOWN = (*NEEDED, SANITARY)
NAMED_FAULTS = 5
"""How many bad rows are named when a file is refused."""
PLANT_KEYS = ("average_design", "source", "sanitary_basis")
DESIGN_KEYS = ("flow_mgd", *(f"{one.value}_lb_day" for one in LOADS))

_NUMBER = re.compile(r"\d{1,15}(\.\d{0,20})?|\.\d{1,20}", re.ASCII)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """A plant's design, and what the deduction of sanitary flow rests on ("" where unsaid)."""

    design: Design
    sanitary_basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """The days of one user in order, and what the reader of the file should know."""

    days: tuple[LoadDay, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    number: int
    cells: Mapping[str, str]


def loads(path: str) -> Loads:
    """Read LOADS.csv; ``-`` is standard input, gzip is understood.

    Raises: InputError: no table, a column missing, or the first five bad rows.
    """
    name = contents_name(path)
    rows = _rows(_text(_bytes(path, name), name), name)
    faults: list[Fault] = []
    days = [day for row in rows if (day := _day(row, faults)) is not None]
    faults += _twice(rows)
    if faults:
        raise InputError(f"{name}: {_told(faults)}")
    if not days:
        raise InputError(f"{name} has no row of a day; expected a row for each day under {_HEADER}")
    return Loads(days=tuple(sorted(days, key=lambda day: day.day)), warnings=_warnings(days))


def contents_name(path: str) -> str:
    """A file as a sentence names it."""
    return "standard input" if path == "-" else path.rsplit("/", maxsplit=1)[-1]


_HEADER = ",".join(NEEDED)


def _bytes(path: str, name: str) -> bytes:
    try:
        return contents.content(path, name)
    except InputError as error:
        said = str(error).partition("; expected")[0]
        raise InputError(
            f"{said}; expected a CSV of days and a YAML file of the plant: correct the path"
        ) from None


def _text(raw: bytes, name: str) -> str:
    try:
        text = raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        text = ""
    if not text or "\x00" in text:
        raise InputError(
            f"{name} is no text of UTF-8; expected a CSV with the columns {_HEADER}: save it as CSV"
        )
    return text


def _rows(text: str, name: str) -> list[_Row]:
    """Rows by heading; blank lines are left out."""
    first = text.split("\n", maxsplit=1)[0]
    separator = max((",", ";", "\t"), key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        lines = [(reader.line_num, cells) for cells in reader]
    except csv.Error as error:
        raise InputError(
            f"{name}, row {reader.line_num}: {error}; expected a CSV, saved anew"
        ) from None
    headings = [cell.strip().casefold() for cell in lines[0][1]] if lines else []
    _check_headings(headings, name)
    return list(_filled(lines[1:], headings, name))


def _check_headings(headings: Sequence[str], name: str) -> None:
    for needed in NEEDED:
        if needed not in headings:
            found = ", ".join(brief(one) for one in headings[:12]) or "none"
            raise InputError(
                f"{name}, row 1: found the columns {found}, expected {_HEADER}: "
                f"add {needed}, blank where nothing is known"
            )
    for known in KNOWN:
        if headings.count(known) > 1:
            raise InputError(
                f"{name}, row 1: the column {known} stands twice, expected once; remove one"
            )


def _filled(
    lines: Sequence[tuple[int, list[str]]], headings: Sequence[str], name: str
) -> Iterator[_Row]:
    for number, cells in lines:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) > len(headings):
            raise InputError(
                f"{name}, row {number}: found {len(cells)} cells, expected {len(headings)} as in "
                "the headings; put numbers without thousands separators"
            )
        padded = [*cells, *[""] * (len(headings) - len(cells))]
        pairs = zip(headings, (cell.strip() for cell in padded), strict=True)
        yield _Row(number=number, cells={key: cell for key, cell in pairs if key in KNOWN})


def _day(row: _Row, faults: list[Fault]) -> LoadDay | None:
    """A row's day; None, with the faults, where a cell cannot be used."""
    before = len(faults)
    day = _read(row, DATE, _date, faults)
    flow = _read(row, FLOW, _number, faults)
    sanitary = _read(row, SANITARY, _number, faults)
    strengths = {
        parameter: value
        for column, parameter in STRENGTHS.items()
        if (value := _read(row, column, _number, faults)) is not None
    }
    if day is None or len(faults) > before:
        return None
    return LoadDay(day=day, flow_gpd=flow, sanitary_gpd=sanitary or Decimal(0), strengths=strengths)


def _read(
    row: _Row, column: str, meaning: Callable[[str], T | None], faults: list[Fault]
) -> T | None:
    text = row.cells.get(column, "")
    try:
        return meaning(text)
    except _Unread as why:
        expected, repair = why.args
        faults.append(
            Fault(row=row.number, column=column, found=text, expected=expected, repair=repair)
        )
        return None


class _Unread(Exception):
    """A cell that cannot be used: what was expected, and the repair."""


def _date(text: str) -> date:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise _Unread(
            f"a day such as 2026-03-01 of {FIRST_YEAR} to {LAST_YEAR}", "write it year first"
        )
    return found


def _number(text: str) -> Decimal | None:
    if not text:
        return None
    if not _NUMBER.fullmatch(text):
        raise _Unread(
            "a plain number that is not negative, or blank where there is none",
            "write a non-detect as the number your policy counts, and no separators or units",
        )
    return Decimal(text)


def _twice(rows: Sequence[_Row]) -> Iterator[Fault]:
    met: set[str] = set()
    for row in rows:
        text = row.cells[DATE]
        if text and text in met:
            yield Fault(
                row=row.number,
                column=DATE,
                found=text,
                expected="each day once, of one user",
                repair="leave one of the rows out, or add up the points of the user",
            )
        met.add(text)


def _told(faults: Sequence[Fault]) -> str:
    named = sorted(faults, key=lambda fault: fault.row)[:NAMED_FAULTS]
    more = len(faults) - len(named)
    return " · ".join(str(one) for one in named) + (f" · and {more} more" if more else "")


def _warnings(days: Sequence[LoadDay]) -> tuple[str, ...]:
    found: list[str] = []
    unmeasured = sum(1 for day in days if day.flow_gpd is None and day.strengths)
    if unmeasured:
        found.append(
            f"{unmeasured} sampled {_days(unmeasured)} without a record of flow: "
            "the samples do not count, since a strength is weighed by its flow"
        )
    more = sum(1 for day in days if day.flow_gpd is not None and day.sanitary_gpd > day.flow_gpd)
    if more:
        found.append(f"{more} {_days(more)} with more sanitary than total flow: counted as zero")
    return tuple(found)


def _days(count: int) -> str:
    return "day" if count == 1 else "days"


def plant(path: str) -> Plant:
    """Read PLANT.yaml: numbers exactly as they are written, with or without quotes.

    Raises: InputError naming the key.
    """
    name = contents_name(path)
    found = _document(_text(_bytes(path, name), name), name)
    _only(found, PLANT_KEYS, name)
    figures = found.get("average_design")
    if not isinstance(figures, dict):
        raise InputError(
            f"{name}: average_design is {brief(str(figures))!r}, expected a table with "
            f"{', '.join(DESIGN_KEYS)}; add it"
        )
    _only(figures, DESIGN_KEYS, f"{name}, average_design")
    source = _words(found, "source", name)
    if not source:
        raise InputError(
            f"{name}: source is missing, expected the document of the design figures, "
            "such as 'CMAR 2025, part 3'; add it"
        )
    design = Design(
        flow_mgd=_figure(figures, DESIGN_KEYS[0], name),
        loads_lb_day={
            one: _figure(figures, key, name)
            for key, one in zip(DESIGN_KEYS[1:], LOADS, strict=True)
            if key in figures
        },
        source=source,
    )
    return Plant(design=design, sanitary_basis=_words(found, "sanitary_basis", name))


def _document(text: str, name: str) -> dict[str, object]:
    try:
        # texts only, so that 0.70 stays 0.70
        found = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - it makes no objects
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise InputError(f"{name}{where}: this is not YAML; check indentation and quotes") from None
    if not isinstance(found, dict):
        raise InputError(f"{name}: no plant, expected the keys average_design and source; add them")
    return found


def _only(found: Mapping[str, object], known: Sequence[str], where: str) -> None:
    for key in found:
        if key not in known:
            raise InputError(
                f"{where}: the key {brief(str(key))!r} is not known, expected "
                f"{', '.join(known)}; correct or remove it"
            )


def _words(found: Mapping[str, object], key: str, name: str) -> str:
    value = found.get(key, "")
    if not isinstance(value, str):
        raise InputError(f"{name}: {key} is no text; write it in one line")
    return " ".join(value.split())


def _figure(figures: Mapping[str, object], key: str, name: str) -> Decimal:
    text = figures.get(key, "")
    if not isinstance(text, str) or not _NUMBER.fullmatch(text) or not Decimal(text):
        shown = brief(str(text)) if key in figures else "missing"
        raise InputError(
            f"{name}: average_design.{key} is {shown!r}, expected a number over zero; "
            "take it from the design document"
        )
    return Decimal(text)
