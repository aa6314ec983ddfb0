"""The columns of a historian export: distinct texts, what they mean, and rows that cannot be."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from app.historian import plain
from app.historian.times import Ints
from compliance.errors import InputError
from compliance.model.faults import Fault, brief
from compliance.model.parameters import CONCENTRATIONS, Parameter, parameter
from compliance.model.readings import Quality
from compliance.model.units import Unit, dimension, unit
from compliance.rules.schema import SampleSource

Codes = NDArray[np.int32]

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


@dataclass(slots=True)
class Column:
    """A column as numbers of its distinct texts: what they mean, and which mean nothing.

    Taken in piece by piece; a text has the same number in all of them.
    """

    name: str
    meaning: Callable[[str], object]
    repair: str
    meanings: list[object] = field(default_factory=list)
    problems: dict[int, str] = field(default_factory=dict)
    codes: list[Codes] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    _known: dict[str, int] = field(default_factory=dict)

    def take(self, column: pd.Series[str], rows: Ints) -> Codes:
        """Take a piece in; its texts by number. rows: of the file, for faults."""
        local, distinct = pd.factorize(column)
        numbers = np.array([self._number(str(text)) for text in distinct], np.int32)
        codes = numbers[local] if len(numbers) else local.astype(np.int32)
        self.codes.append(codes)
        if self.problems and len(self.faults) < NAMED_FAULTS:
            bad = np.flatnonzero(np.isin(codes, list(self.problems)))[:NAMED_FAULTS]
            self.faults += [self._fault(column, rows, int(at), codes) for at in bad]
        return codes

    def whole(self) -> Codes:
        """The numbers of all texts taken in; afterwards they are no longer held here."""
        found = np.concatenate(self.codes)
        self.codes = []
        return found

    def _number(self, text: str) -> int:
        code = self._known.get(text)
        if code is not None:
            return code
        code = self._known[text] = len(self.meanings)
        try:
            self.meanings.append(self.meaning(text.strip()))
        except InputError as error:
            self.meanings.append(None)
            self.problems[code] = str(error).rpartition("expected ")[2] or str(error)
        return code

    def _fault(self, column: pd.Series[str], rows: Ints, at: int, codes: Codes) -> Fault:
        return Fault(
            row=int(rows[at]),
            column=self.name,
            found=str(column.iloc[at]),
            expected=self.problems[int(codes[at])],
            repair=self.repair,
        )


@dataclass(slots=True)
class Values:
    """The numbers of an export, and the text of each as it was written."""

    faults: list[Fault] = field(default_factory=list)
    numbers: list[NDArray[np.float64]] = field(default_factory=list)
    texts: list[NDArray[np.bytes_]] = field(default_factory=list)

    def take(self, column: pd.Series[str], rows: Ints) -> None:
        """Take a piece in. rows: of the file, for faults."""
        texts = column.tolist()
        found = plain.numbers(texts)
        if found is None:
            found, texts = self._any(texts, rows)
        self.numbers.append(found)
        self.texts.append(np.array(texts, np.bytes_) if texts else np.empty(0, np.bytes_))

    def _any(self, texts: list[str], rows: Ints) -> tuple[NDArray[np.float64], list[str]]:
        """Numbers of any form; each distinct text is read once."""
        known: dict[str, float] = {}
        for at, text in enumerate(texts):
            if text not in known:
                try:
                    known[text] = _number(text.strip())
                except InputError as error:
                    known[text] = np.nan
                    self._note(text, int(rows[at]), error)
            elif len(self.faults) < NAMED_FAULTS and known[text] != known[text]:
                self._again(text, int(rows[at]))
        found = np.fromiter(map(known.__getitem__, texts), np.float64, len(texts))
        return found, [_kept(text) for text in texts]

    def _again(self, text: str, row: int) -> None:
        """A text that means no number: a fault unless it says that there is none."""
        try:
            _number(text.strip())
        except InputError as error:
            self._note(text, row, error)

    def _note(self, text: str, row: int, error: InputError) -> None:
        if len(self.faults) < NAMED_FAULTS:
            self.faults.append(
                Fault(
                    row=row,
                    column="value",
                    found=text,
                    expected=str(error).rpartition("expected ")[2] or str(error),
                    repair="correct it, or leave it blank with quality missing",
                )
            )


class Columns:
    """All columns but ``at``, taken in piece by piece."""

    def __init__(self) -> None:
        self.point = Column("point", _point, "name the monitoring point")
        self.parameter = Column("parameter", parameter, "correct its spelling")
        self.unit = Column("unit", unit, "correct the unit")
        self.quality = Column("quality", _quality, "correct its spelling")
        self.sample_type = Column("sample_type", _source, "correct its spelling")
        self.value = Values()
        self._mismatched: list[Fault] = []

    def take(self, frame: pd.DataFrame, rows: Ints) -> None:
        """Take a piece in. rows: of the file, for faults."""
        self.point.take(frame["point"], rows)
        kinds = self.parameter.take(frame["parameter"], rows)
        units = self.unit.take(frame["unit"], rows)
        self.quality.take(frame["quality"], rows)
        self.sample_type.take(frame["sample_type"], rows)
        self.value.take(frame["value"], rows)
        self._mismatched += self._mismatches(frame, rows, kinds, units)

    def faults(self) -> Iterator[Fault]:
        """The first bad rows of each column."""
        columns = (
            self.point, self.parameter, self.value, self.unit, self.quality, self.sample_type,
        )  # fmt: skip
        for column in columns:
            yield from column.faults
        yield from self._mismatched

    def _mismatches(
        self, frame: pd.DataFrame, rows: Ints, kinds: Codes, units: Codes
    ) -> Iterator[Fault]:
        """Units that do not measure their parameter."""
        if len(self._mismatched) >= NAMED_FAULTS:
            return
        wide = len(self.unit.meanings) + 1
        pair = kinds.astype(np.int64) * wide + units
        for number in np.unique(pair):
            kind = self.parameter.meanings[int(number) // wide]
            own = self.unit.meanings[int(number) % wide]
            wanted = _KIND.get(kind) if isinstance(kind, Parameter) else None
            if not isinstance(own, Unit) or wanted in (None, dimension(own)):
                continue
            for row in np.flatnonzero(pair == number)[:NAMED_FAULTS]:
                yield Fault(
                    row=int(rows[row]),
                    column="unit",
                    found=str(frame["unit"].iloc[row]),
                    expected=f"a unit of {wanted} for {brief(str(frame['parameter'].iloc[row]))}, "
                    "such as " + next(u.value for u in Unit if dimension(u) == wanted),
                    repair="correct the unit or the parameter",
                )


def same(column: Column, codes: Codes) -> Codes:
    """Codes in which spellings of one meaning are one: ``pH`` and ``ph``."""
    first = {meaning: code for code, meaning in reversed(list(enumerate(column.meanings)))}
    return np.array([first[meaning] for meaning in column.meanings], np.int32)[codes]


def _kept(text: str) -> str:
    """What is kept of a text: of one that is no number, enough to see that it is none."""
    return text.strip()[: _LONGEST_NUMBER + 1].encode("ascii", "replace").decode()


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
