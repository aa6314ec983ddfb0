"""Historian exports: a CSV of readings to series, or the sentences that say why it is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from app.historian import contents
from app.historian.columns import NAMED_FAULTS, Columns
from app.historian.times import Ints, Mask, Times, read_times, second_pass
from compliance.errors import InputError, UnitMismatch
from compliance.judging.judge import convert
from compliance.model.faults import Fault
from compliance.model.parameters import Parameter
from compliance.model.periods import FIRST_YEAR, LAST_YEAR, from_us
from compliance.model.readings import Quality, Series
from compliance.model.units import Unit, linear
from compliance.rules.schema import SampleSource

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
    texts: NDArray[np.object_]
    units: tuple[Unit, ...]
    unit_codes: NDArray[np.intp]

    def written(self, at: int) -> tuple[str, Unit]:
        """A reading as the file has it, by position."""
        return str(self.texts[at]).strip(), self.units[int(self.unit_codes[at])]

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


def read(path: str, manner: Manner) -> ReadingFile:
    """Read a historian export; ``-`` is standard input, gzip is understood.

    Raises: InputError: no such file, not a table, columns missing, or the first five bad rows.
    """
    name = "standard input" if path == "-" else Path(path).name
    return parse(contents.content(path, name), name, manner)


def parse(content: bytes, name: str, manner: Manner) -> ReadingFile:
    """The readings in the bytes of a file called ``name``.

    Raises: InputError.
    """
    frame = contents.frame(content, name)
    _refuse(list(contents.comments(frame)), name)
    rows = frame.index.to_numpy() + 2
    columns = Columns.of(frame)
    times = read_times(frame["at"], manner.zone)
    warnings: list[str] = []
    at_us, undecided = _instants(times, columns, manner, warnings)
    faults = [
        *_time_faults(frame, rows, times, undecided),
        *columns.faults(frame, rows),
    ]
    _refuse(faults, name)
    order = np.lexsort((at_us, columns.key))
    order = _without_repeats(order, at_us, columns, rows=rows, name=name, warnings=warnings)
    series = tuple(_series(order, at_us, columns, manner))
    return ReadingFile(series=series, warnings=tuple(warnings))


def _instants(
    times: Times, columns: Columns, manner: Manner, warnings: list[str]
) -> tuple[Ints, Mask]:
    """Every row's instant, and the rows of a repeated hour that nothing decides."""
    undecided = times.repeated
    second = np.zeros(len(undecided), np.bool_)
    for key in np.unique(columns.key[undecided]):
        rows = np.flatnonzero(columns.key == key)
        for at, later in second_pass(times.local_us[rows], undecided[rows]):
            second[rows[at]] = later
            undecided[rows[at]] = False
            day = from_us(times.local_us[rows[at[0]]]).date().isoformat()
            named = columns.point.meanings[columns.point.codes[rows[0]]]
            kind = columns.parameter.meanings[columns.parameter.codes[rows[0]]]
            warnings.append(
                f"{named} {kind}: the repeated hour of {day} is passed twice without an offset; "
                "the order of the rows decided"
            )
    if manner.fold is not None:
        second |= undecided & (manner.fold == "second")
        undecided = np.zeros_like(undecided)
    return np.where(second, times.second_us, times.first_us), undecided


def _time_faults(frame: pd.DataFrame, rows: Ints, times: Times, undecided: Mask) -> Iterator[Fault]:
    for mask, expected, repair in (
        (times.malformed, "a date with a time such as 2026-03-01T08:00:00-06:00", "rewrite it"),
        (times.distant, f"a year from {FIRST_YEAR} to {LAST_YEAR}", "correct the year"),
        (times.impossible, "a day and time that exist", "correct the date or the time"),
        (
            times.skipped,
            "a local time that exists: the clock goes forward over this one",
            "correct it or give its offset",
        ),
        (
            undecided,
            "which of the two passes of the repeated hour",
            "add the offset or give --fold first or --fold second",
        ),
    ):
        for at in np.flatnonzero(mask)[:NAMED_FAULTS]:
            found = str(frame["at"].iloc[at])
            yield Fault(
                row=int(rows[at]), column="at", found=found, expected=expected, repair=repair
            )


def _refuse(faults: list[Fault], name: str) -> None:
    if not faults:
        return
    first = sorted(faults, key=lambda fault: fault.row)[:NAMED_FAULTS]
    raise InputError("\n".join(f"{name}, {fault}" for fault in first))


def _without_repeats(
    order: NDArray[np.intp],
    at_us: Ints,
    columns: Columns,
    *,
    rows: Ints,
    name: str,
    warnings: list[str],
) -> NDArray[np.intp]:
    """One row for each instant of a series; two that differ are refused."""
    same = (np.diff(columns.key[order]) == 0) & (np.diff(at_us[order]) == 0)
    later = np.flatnonzero(same) + 1
    if not len(later):
        return order
    for at in later:
        one, two = order[at - 1], order[at]
        if any(
            column.meanings[column.codes[one]] is not column.meanings[column.codes[two]]
            for column in (columns.value, columns.unit, columns.quality)
        ):
            raise InputError(
                f"{name}, row {rows[two]}, column at: the same point, parameter and instant as row "
                f"{rows[one]} with another value, expected one; remove the wrong row"
            )
    warnings.append(
        "1 row repeats another one and counts once"
        if len(later) == 1
        else f"{len(later)} rows repeat another one and count once"
    )
    return np.delete(order, later)


def _series(
    order: NDArray[np.intp], at_us: Ints, columns: Columns, manner: Manner
) -> Iterator[FileSeries]:
    cuts = np.flatnonzero(np.diff(columns.key[order])) + 1
    units = tuple(found for found in columns.unit.meanings if isinstance(found, Unit))
    flags = np.array([int(found) for found in columns.quality.meanings], np.int64)  # type: ignore[call-overload]
    for rows in np.split(order, cuts):
        if not len(rows):
            continue
        interval = manner.interval_us or _median_step(at_us[rows])
        codes = columns.unit.codes[rows]
        target = units[int(codes[0])]
        values = columns.numbers[rows]
        quality = flags[columns.quality.codes[rows]]
        quality |= np.where(np.isfinite(values), 0, int(Quality.NOT_FINITE))
        raw = Series(
            at_us=at_us[rows],
            value=values,
            quality=quality,
            interval_us=np.full(len(rows), interval, np.int64),
        )
        kind = columns.parameter.meanings[columns.parameter.codes[rows[0]]]
        source = columns.sample_type.meanings[columns.sample_type.codes[rows[0]]]
        yield FileSeries(
            point=str(columns.point.meanings[columns.point.codes[rows[0]]]),
            parameter=Parameter(kind),
            source=SampleSource(source),
            unit=target,
            series=_in_one_unit(raw, codes, units, target),
            interval_us=interval,
            texts=columns.texts[rows],
            units=units,
            unit_codes=codes,
        )


def _median_step(at_us: Ints) -> int:
    return LONE_INTERVAL_US if len(at_us) < 2 else int(np.median(np.diff(at_us)))


def _in_one_unit(
    raw: Series, codes: NDArray[np.intp], units: tuple[Unit, ...], target: Unit
) -> Series:
    values = raw.value.copy()
    for code in np.unique(codes):
        try:
            converted = convert(raw, units[int(code)], target).value
        except UnitMismatch as error:
            raise InputError(f"one point and parameter in two kinds of unit: {error}") from None
        values[codes == code] = converted[codes == code]
    return Series(at_us=raw.at_us, value=values, quality=raw.quality, interval_us=raw.interval_us)
