"""The columns of a historian export: distinct texts, what they mean, and rows that cannot be."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from app.historian.times import Ints
from compliance.errors import InputError
from compliance.model.faults import Fault, brief
from compliance.model.parameters import CONCENTRATIONS, Parameter, parameter
from compliance.model.readings import Quality
from compliance.model.units import Unit, dimension, unit
from compliance.rules.schema import SampleSource

NAMED_FAULTS = 5
"""How many bad rows are named when a file is refused."""

_QUALITY = {
    "good": Quality.GOOD,
    "suspect": Quality.DECLARED_SUSPECT,
    "bad": Quality.DECLARED_BAD,
    "missing": Quality.MISSING_MARK,
    "maintenance": Quality.MAINTENANCE,
}
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_SMALLEST, _LARGEST = 1e-46, 1e39
"""Wider than a 32-bit float, the most that an instrument says; beyond it sums overflow."""
_LONGEST_NUMBER, _LONGEST_NAME = 60, 200
_NOT_A_NUMBER = frozenset({"", "nan", "inf", "+inf", "-inf", "infinity", "-infinity"})
_KIND = {
    Parameter.PH: "ph",
    Parameter.TEMPERATURE: "temperature",
    Parameter.FLOW: "flow",
    Parameter.VOLUME: "volume",
    Parameter.LEVEL: "length",
    Parameter.VELOCITY: "speed",
    Parameter.ORP: "potential",
    Parameter.CONDUCTIVITY: "conductivity",
    Parameter.CURRENT: "current",
    **dict.fromkeys(CONCENTRATIONS, "concentration"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column as codes into its distinct texts, what they mean, and which mean nothing."""

    codes: NDArray[np.intp]
    meanings: list[object]
    problems: Mapping[int, str]

    @classmethod
    def of(cls, column: pd.Series[str], meaning: Callable[[str], object]) -> Column:
        codes, distinct = pd.factorize(column)
        meanings: list[object] = []
        problems: dict[int, str] = {}
        known: dict[object, object] = {}
        for code, text in enumerate(distinct):
            try:
                value = meaning(str(text).strip())
                meanings.append(known.setdefault(value, value))
            except InputError as error:
                meanings.append(None)
                problems[code] = str(error).rpartition("expected ")[2] or str(error)
        return cls(codes=codes, meanings=meanings, problems=problems)

    def faults(self, column: pd.Series[str], rows: Ints, repair: str) -> Iterator[Fault]:
        bad = np.flatnonzero(np.isin(self.codes, list(self.problems)))[:NAMED_FAULTS]
        for at in bad:
            yield Fault(
                row=int(rows[at]),
                column=str(column.name),
                found=str(column.iloc[at]),
                expected=self.problems[int(self.codes[at])],
                repair=repair,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """All columns but ``at``, and the number of the series that each row belongs to."""

    point: Column
    parameter: Column
    value: Column
    unit: Column
    quality: Column
    sample_type: Column
    numbers: NDArray[np.float64]
    texts: NDArray[np.object_]
    key: NDArray[np.intp]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Columns:
        point = Column.of(frame["point"], _point)
        kind = Column.of(frame["parameter"], parameter)
        source = Column.of(frame["sample_type"], _source)
        value = Column.of(frame["value"], _number)
        floats = np.array([np.nan if v is None else v for v in value.meanings], float)
        wide = len(source.meanings) + 1
        key = (point.codes * (len(kind.meanings) + 1) + _same(kind)) * wide + _same(source)
        return cls(
            point=point,
            parameter=kind,
            value=value,
            unit=Column.of(frame["unit"], unit),
            quality=Column.of(frame["quality"], _quality),
            sample_type=source,
            numbers=floats[value.codes] if len(floats) else floats,
            texts=frame["value"].to_numpy(object),
            key=key,
        )

    def faults(self, frame: pd.DataFrame, rows: Ints) -> Iterator[Fault]:
        """The first bad rows of each column."""
        for name, repair in (
            ("point", "name the monitoring point"),
            ("parameter", "correct its spelling"),
            ("value", "correct it, or leave it blank with quality missing"),
            ("unit", "correct the unit"),
            ("quality", "correct its spelling"),
            ("sample_type", "correct its spelling"),
        ):
            yield from getattr(self, name).faults(frame[name], rows, repair)
        yield from self._mismatches(frame, rows)

    def _mismatches(self, frame: pd.DataFrame, rows: Ints) -> Iterator[Fault]:
        """Units that do not measure their parameter."""
        pair = self.parameter.codes * (len(self.unit.meanings) + 1) + self.unit.codes
        distinct, first = np.unique(pair, return_index=True)
        for number, at in zip(distinct, first, strict=True):
            kind = self.parameter.meanings[self.parameter.codes[at]]
            own = self.unit.meanings[self.unit.codes[at]]
            wanted = _KIND.get(kind) if isinstance(kind, Parameter) else None
            if isinstance(own, Unit) and wanted not in (None, dimension(own)):
                named = brief(str(frame["parameter"].iloc[at]))
                for row in np.flatnonzero(pair == number)[:NAMED_FAULTS]:
                    yield Fault(
                        row=int(rows[row]),
                        column="unit",
                        found=str(frame["unit"].iloc[row]),
                        expected=f"a unit of {wanted} for {named}, such as "
                        + next(u.value for u in Unit if dimension(u) == wanted),
                        repair="correct the unit or the parameter",
                    )


def _same(column: Column) -> NDArray[np.intp]:
    """Codes in which spellings of one meaning are one: ``pH`` and ``ph``."""
    first = {meaning: code for code, meaning in reversed(list(enumerate(column.meanings)))}
    return np.array([first[meaning] for meaning in column.meanings], np.intp)[column.codes]


def _point(text: str) -> str:
    if not text:
        raise InputError("expected a name")
    if len(text) > _LONGEST_NAME or any(unicodedata.category(sign) == "Cc" for sign in text):
        raise InputError(f"expected a name of at most {_LONGEST_NAME} printable characters")
    return text


def _source(text: str) -> SampleSource:
    try:
        return SampleSource(text.casefold())
    except ValueError:
        raise InputError("expected meter, grab or composite") from None


def _quality(text: str) -> Quality:
    found = _QUALITY.get(text.casefold())
    if found is None:
        raise InputError("expected good, suspect, bad, missing or maintenance")
    return found


def _number(text: str) -> float:
    if text.casefold() in _NOT_A_NUMBER:
        return np.nan
    if not _NUMBER.fullmatch(text):
        raise InputError("expected a plain decimal number such as 7.25, in the digits 0 to 9")
    value = float(text)
    is_zero = not re.search("[1-9]", text.casefold().split("e")[0])
    if len(text) > _LONGEST_NUMBER or not (is_zero or _SMALLEST < abs(value) < _LARGEST):
        raise InputError("expected a number that an instrument can show, from 1e-46 to 1e39")
    return value
