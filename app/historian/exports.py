"""Historian exports: a CSV of readings to series, or the sentences that say why it is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from app.historian import contents
from app.historian.columns import NAMED_FAULTS, Codes, Columns, same
from app.historian.moments import Moments
from app.historian.times import Ints, read_times
from compliance.errors import InputError, UnitMismatch
from compliance.judging.judge import convert
from compliance.model.faults import Fault
from compliance.model.parameters import Parameter
from compliance.model.readings import Quality, Series
from compliance.model.units import Unit, linear
from compliance.rules.schema import SampleSource

Tell = Callable[[int], None]

LONE_INTERVAL_US = 60_000_000
"""The interval of a series of one reading, unless one is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSeries:
    """One point and parameter from one kind of source: its readings, as arrays and as written."""

    point: str
    parameter: Parameter
    source: SampleSource
    unit: Unit
    series: Series
    interval_us: int
    texts: NDArray[np.bytes_]
    units: tuple[Unit, ...]
    unit_codes: Codes

    def written(self, at: int) -> tuple[str, Unit]:
        """A reading as the file has it, by position."""
        return self.texts[at].decode().strip(), self.units[int(self.unit_codes[at])]

    def exact(self, at: int) -> Fraction:
        """A reading in the series' unit without any rounding, by position."""
        text, own = self.written(at)
        factor, offset = linear(own, self.unit)
        return Fraction(Decimal(text)) * factor + offset


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingFile:
    """What a file holds, by point and parameter, and what its reader should know."""

    series: tuple[FileSeries, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How times without an offset are read, and the cadence where it is known."""

    zone: ZoneInfo
    fold: str | None = None  # first, second
    interval_us: int | None = None


def read(path: str, manner: Manner, tell: Tell = lambda _: None) -> ReadingFile:
    """Read a historian export; ``-`` is standard input, gzip is understood.

    tell: hears how many rows were read so far. Raises: InputError: no such file, not a table,
    columns missing, or the first five bad rows.
    """
    name = "standard input" if path == "-" else Path(path).name
    tell(0)
    return parse(contents.content(path, name), name, manner, tell)


def parse(content: bytes, name: str, manner: Manner, tell: Tell = lambda _: None) -> ReadingFile:
    """The readings in the bytes of a file called ``name``.

    Raises: InputError.
    """
    columns, moments = Columns(), Moments()
    remarks: list[Fault] = []
    rows: list[Ints] = []
    for frame in contents.frames(content, name):
        row = frame.index.to_numpy(np.int64) + 2
        if len(remarks) < NAMED_FAULTS:
            remarks += contents.comments(frame)
        columns.take(frame, row)
        moments.take(read_times(frame["at"], manner.zone), frame["at"], row)
        rows.append(row)
        tell(int(row[-1]) - 1)
    del content  # as large as all that was made of it
    _refuse(remarks, name)
    warnings: list[str] = []
    table = _table(columns, moments, np.concatenate(rows), manner, warnings)
    _refuse([*moments.faults(), *columns.faults()], name)
    order = np.lexsort((table.at_us, table.key))
    order = _without_repeats(order, table, columns, name=name, warnings=warnings)
    return ReadingFile(
        series=tuple(_series(order, table, columns, manner)), warnings=tuple(warnings)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """All rows of a file as arrays of one length; row: in the file; key: of the series."""

    row: Ints
    at_us: Ints
    key: Ints
    point: Codes
    parameter: Codes
    source: Codes
    unit: Codes
    quality: Codes
    numbers: NDArray[np.float64]
    texts: NDArray[np.bytes_]


def _table(
    columns: Columns, moments: Moments, row: Ints, manner: Manner, warnings: list[str]
) -> _Table:
    point, kind = columns.point.whole(), columns.parameter.whole()
    source = columns.sample_type.whole()
    wide = len(columns.sample_type.meanings) + 1
    key = point.astype(np.int64) * (len(columns.parameter.meanings) + 1)
    key = (key + same(columns.parameter, kind)) * wide + same(columns.sample_type, source)

    def named(at: int) -> str:
        parts = columns.point.meanings[point[at]], columns.parameter.meanings[kind[at]]
        return " ".join(str(part) for part in parts)

    return _Table(
        row=row,
        at_us=moments.instants(key, manner.fold, named, warnings),
        key=key,
        point=point,
        parameter=kind,
        source=source,
        unit=columns.unit.whole(),
        quality=columns.quality.whole(),
        numbers=np.concatenate(columns.value.numbers),
        texts=np.concatenate(columns.value.texts),
    )


def _refuse(faults: list[Fault], name: str) -> None:
    if not faults:
        return
    first = sorted(faults, key=lambda fault: fault.row)[:NAMED_FAULTS]
    raise InputError("\n".join(f"{name}, {fault}" for fault in first))


def _without_repeats(
    order: NDArray[np.intp], table: _Table, columns: Columns, *, name: str, warnings: list[str]
) -> NDArray[np.intp]:
    """One row for each instant of a series; two that differ are refused."""
    repeats = (np.diff(table.key[order]) == 0) & (np.diff(table.at_us[order]) == 0)
    later = np.flatnonzero(repeats) + 1
    if not len(later):
        return order
    one, two = order[later - 1], order[later]
    differ = _differ(table.numbers, one, two)
    for column, codes in ((columns.unit, table.unit), (columns.quality, table.quality)):
        own = same(column, codes)
        differ |= own[one] != own[two]
    if differ.any():
        at = int(np.flatnonzero(differ)[0])
        raise InputError(
            f"{name}, row {table.row[two[at]]}, column at: the same point, parameter and instant "
            f"as row {table.row[one[at]]} with another value, expected one; remove the wrong row"
        )
    warnings.append(
        "1 row repeats another one and counts once"
        if len(later) == 1
        else f"{len(later)} rows repeat another one and count once"
    )
    return np.delete(order, later)


def _differ(
    numbers: NDArray[np.float64], one: NDArray[np.intp], two: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Whether two rows have another number; that both have none is the same."""
    first, second = numbers[one], numbers[two]
    found: NDArray[np.bool_] = (first != second) & ~(np.isnan(first) & np.isnan(second))
    return found


def _series(
    order: NDArray[np.intp], table: _Table, columns: Columns, manner: Manner
) -> Iterator[FileSeries]:
    cuts = np.flatnonzero(np.diff(table.key[order])) + 1
    units = tuple(found for found in columns.unit.meanings if isinstance(found, Unit))
    flags = np.array([int(found) for found in columns.quality.meanings], np.int64)  # type: ignore[call-overload]
    for rows in np.split(order, cuts):
        if not len(rows):
            continue
        first, at_us, codes = rows[0], table.at_us[rows], table.unit[rows]
        interval = manner.interval_us or _median_step(at_us)
        target = units[int(codes[0])]
        values = table.numbers[rows]
        quality = flags[table.quality[rows]]
        quality |= np.where(np.isfinite(values), 0, int(Quality.NOT_FINITE))
        raw = Series(
            at_us=at_us,
            value=values,
            quality=quality,
            interval_us=np.full(len(rows), interval, np.int64),
        )
        yield FileSeries(
            point=str(columns.point.meanings[table.point[first]]),
            parameter=Parameter(columns.parameter.meanings[table.parameter[first]]),
            source=SampleSource(columns.sample_type.meanings[table.source[first]]),
            unit=target,
            series=_in_one_unit(raw, codes, units, target),
            interval_us=interval,
            texts=table.texts[rows],
            units=units,
            unit_codes=codes,
        )


def _median_step(at_us: Ints) -> int:
    return LONE_INTERVAL_US if len(at_us) < 2 else int(np.median(np.diff(at_us)))


def _in_one_unit(raw: Series, codes: Codes, units: tuple[Unit, ...], target: Unit) -> Series:
    values = raw.value.copy()
    for code in np.unique(codes):
        try:
            converted = convert(raw, units[int(code)], target).value
        except UnitMismatch as error:
            raise InputError(f"one point and parameter in two kinds of unit: {error}") from None
        values[codes == code] = converted[codes == code]
    return Series(at_us=raw.at_us, value=values, quality=raw.quality, interval_us=raw.interval_us)
