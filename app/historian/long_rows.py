"""The long layout of an export: a row a reading (``at, point, parameter, value, unit``)."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from app.historian.blocks import Block, cells, separator
from app.historian.clocks import midnight
from app.historian.parts import ALL, CLOSED, Bad, Part, Timed
from app.historian.tags import GRADES
from app.historian.targets import LARGEST, NUMBER, Meaning, Target, Targets, Unusable
from app.historian.times import read_times
from compliance.errors import InputError
from compliance.model.readings import Quality, Values

REQUIRED = ("at", "point", "parameter", "value", "unit")
OPTIONAL = ("quality", "sample_type")
_NOT_FINITE = frozenset({"nan", "inf", "+inf", "-inf", "infinity", "-infinity"})
_MOST_TEXTS = 100_000
_Codes = NDArray[np.int64]


class _Numbers(dict[str, float]):
    """Written numbers as floats; NaN for a missing one, and in ``flaw`` the quality that says so.

    A text that is no number has the flaw -1.
    """

    def __init__(self) -> None:
        super().__init__()
        self.flaw: dict[str, int] = {}

    def __missing__(self, text: str) -> float:
        said = text.strip()
        value = float(said) if NUMBER.fullmatch(said) else np.nan
        if not abs(value) < LARGEST:
            known = said == "" or said.casefold() in _NOT_FINITE
            flaw = Quality.NOT_FINITE if said else Quality.MISSING_MARK
            value, self.flaw[text] = np.nan, int(flaw) if known else -1
        self[text] = value
        return value


class LongRows:
    """Reads rows of the long layout.

    Raises: InputError for a header without its columns.
    """

    def __init__(
        self,
        header: str,
        name: str,
        *,
        targets: Targets,
        zone: ZoneInfo,
        until: datetime | None = None,
    ) -> None:
        self._mark = separator(header)
        self._columns = [cell.strip().casefold() for cell in (cells([header], self._mark)[0] or [])]
        missing = [column for column in REQUIRED if self._columns.count(column) != 1]
        if missing:
            raise InputError(
                f"{name}, row 1: found the columns {', '.join(self._columns)}; expected "
                f"{', '.join(REQUIRED)} once each, or $DATE,$TIME and tags: add {missing[0]}"
            )
        self._zone, self._targets, self._until = zone, targets, until
        self._found: list[Target] = []
        self._sources: dict[tuple[str, str, str], int] = {}
        self._unknown: dict[tuple[str, str, str], Unusable] = {}
        self._grade = Meaning(_grade)
        self._kind = Meaning(_kind)
        self._numbers = _Numbers()

    def part(self, block: Block) -> Part:
        """The lines of one block as columns."""
        self._forget()
        rows = cells(block.lines, self._mark)
        if block.first == 1:
            rows[0] = []
        width = len(self._columns)
        bad: dict[int, list[Bad]] = {}
        lines = [line for line, row in enumerate(rows) if row and len(row) == width and any(row)]
        if len(lines) < len(rows):
            for line in sorted(set(range(len(rows))) - set(lines)):
                row = rows[line]
                if row is None or any(cell.strip() for cell in row):
                    bad[line] = [_misshapen(block.lines[line], row, width)]
        good = [rows[line] or [] for line in lines]
        columns = list(zip(*good, strict=True)) or [()] * width
        misshapen = len(bad)
        texts = dict(zip(self._columns, columns, strict=True))
        timed = self._timed(texts, np.array(lines, np.intp), bad)
        return Part(block=block, rows=len(lines) + misshapen, timed=timed, bad=bad)

    def _forget(self) -> None:
        """Keep what is remembered of texts small, whatever the file is full of."""
        if len(self._numbers) > _MOST_TEXTS:
            self._numbers = _Numbers()
        if len(self._unknown) + len(self._grade) + len(self._kind) > _MOST_TEXTS:
            self._unknown.clear()
            self._sources = {key: code for key, code in self._sources.items() if code >= 0}
            self._grade, self._kind = Meaning(_grade), Meaning(_kind)

    def _timed(
        self, texts: dict[str, tuple[str, ...]], line: NDArray[np.intp], bad: dict[int, list[Bad]]
    ) -> Timed:
        count = len(line)
        source = self._codes(texts)
        grade = np.array([self._grade[t] for t in texts.get("quality", ("",) * count)], np.int64)
        kind = np.array([self._kind[t] for t in texts.get("sample_type", ("",) * count)], np.int64)
        written = texts["value"]
        value = np.array([self._numbers[text] for text in written], np.float64)
        flaw = np.zeros(count, np.int64)
        for at in np.flatnonzero(np.isnan(value)):
            flaw[at] = self._numbers.flaw[written[at]]
        usable = (source >= 0) & (grade >= 0) & (kind >= 0) & (flaw >= 0)
        for at in np.flatnonzero(~usable):
            bad[int(line[at])] = [self._problem({name: texts[name][at] for name in texts})]
        timed = np.flatnonzero(source >= 0)
        of = np.flatnonzero(usable[timed])
        kept = timed[of]
        at_texts = [midnight(texts["at"][at]) for at in timed]
        channels = np.array([one.channel_id for one in self._found], np.int32)
        value[grade == Quality.MISSING_MARK] = np.nan
        self._convert(value, source, written, kept)
        return Timed(
            at=at_texts,
            line=line[timed],
            times=read_times(pd.Series(at_texts, dtype="str"), self._zone, until=self._until),
            key=channels[source[timed]].astype(np.int64) if len(timed) else timed.astype(np.int64),
            of=of,
            channel_id=channels[source[kept]] if len(kept) else np.empty(0, np.int32),
            value=value[kept],
            quality=(grade | flaw)[kept],
        )

    def _codes(self, texts: dict[str, tuple[str, ...]]) -> _Codes:
        """For each row, where it goes: a place in ``_found``, -1 for nowhere."""
        keys = zip(texts["point"], texts["parameter"], texts["unit"], strict=True)
        known = self._sources
        return np.array([known[key] if key in known else self._look(key) for key in keys], np.int64)

    def _look(self, key: tuple[str, str, str]) -> int:
        try:
            point, kind, unit = (text.strip() for text in key)
            self._found.append(self._targets.find(point, kind, unit))
            self._sources[key] = len(self._found) - 1
        except Unusable as problem:
            self._unknown[key] = problem
            self._sources[key] = -1
        return self._sources[key]

    def _convert(
        self, value: Values, source: _Codes, written: tuple[str, ...], kept: NDArray[np.intp]
    ) -> None:
        """Numbers in another unit than their channel's, each from its text, exactly."""
        plain = np.array([one.is_plain for one in self._found], np.bool_)
        if plain.all():
            return
        known: dict[tuple[int, str], float] = {}
        for at in kept[~plain[source[kept]] & ~np.isnan(value[kept])]:
            key = (int(source[at]), written[at])
            if key not in known:
                known[key] = self._found[key[0]].number(key[1].strip())
            value[at] = known[key]

    def _problem(self, texts: dict[str, str]) -> Bad:
        """The first thing wrong in a row."""
        key = (texts["point"], texts["parameter"], texts["unit"])
        problem = self._unknown.get(key)
        problem = problem or self._grade.problems.get(texts.get("quality", ""))
        problem = problem or self._kind.problems.get(texts.get("sample_type", ""))
        problem = problem or Unusable(
            "value",
            expected="a plain decimal number such as 7.25",
            repair="correct it, or leave it blank with quality missing",
        )
        return Bad(found=texts[problem.column].strip(), problem=problem)


def _misshapen(line: str, row: list[str] | None, width: int) -> Bad:
    if row is None:
        return Bad(found=line[:80], problem=CLOSED)
    return Bad(
        found=f"{len(row)} cells",
        problem=Unusable(
            ALL,
            expected=f"{width}, one for each column",
            repair="quote what holds separators, and write numbers without those of thousands",
        ),
    )


def _grade(text: str) -> int:
    found = GRADES.get(text.casefold() or "good")
    if found is None:
        raise Unusable(
            "quality",
            expected="good, suspect, bad, missing or maintenance",
            repair="correct its spelling",
        )
    return int(found)


def _kind(text: str) -> int:
    if text.casefold() not in ("", "meter"):
        raise Unusable(
            "sample_type",
            expected="meter: only a meter's readings are imported",
            repair="take the row out, and upload laboratory results",
        )
    return 0
