"""The wide layout of an export: ``$DATE,$TIME,tag…``, a row an instant, a column a tag."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from app.historian.blocks import Block, cells, separator
from app.historian.clocks import Order, instant
from app.historian.parts import ALL, CLOSED, Bad, Part, Timed
from app.historian.tags import EXAMPLE, QualityOf, Signal, Tags
from app.historian.targets import LARGEST, Target, Targets, Unusable
from app.historian.times import read_times
from compliance.errors import InputError
from compliance.model.readings import Quality, Values

HEADER = ("$date", "$time")
_MARKED = re.compile(
    r"([<>~]?)\s*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)\s*(\S.*)?"
)
_OPC_GOOD, _OPC_UNCERTAIN = 192, 64
_BLANK, _NOT_KNOWN = -1, -2


def is_wide(header: str) -> bool:
    """Whether a header begins the wide layout."""
    found = cells([header], separator(header))[0] or []
    return tuple(cell.strip().casefold() for cell in found[:2]) == HEADER


class _Cells(dict[str, tuple[float, int]]):
    """What a cell says: a number in the channel's unit, and a quality.

    A blank cell is no reading; a mark alone is a missing one; a number with a mark is flagged.
    """

    def __init__(self, target: Target, marks: dict[str, Quality]) -> None:
        super().__init__()
        self._target, self._marks = target, marks

    def __missing__(self, text: str) -> tuple[float, int]:
        said = self._said(text.strip())
        self[text] = said
        return said

    def _said(self, text: str) -> tuple[float, int]:
        if not text:
            return np.nan, _BLANK
        if text.casefold() in self._marks:
            grade = self._marks[text.casefold()]
            return np.nan, int(grade | Quality.MISSING_MARK)
        number = _MARKED.fullmatch(text)
        if number is None:
            return np.nan, _NOT_KNOWN
        before, digits, after = number.groups()
        grade = Quality.GOOD
        for mark in (before, (after or "").casefold()):
            if mark and mark not in self._marks:
                return np.nan, _NOT_KNOWN
            grade |= self._marks[mark] if mark else Quality.GOOD
        value = float(digits)
        if not abs(value) < LARGEST:
            return np.nan, _NOT_KNOWN
        if grade & Quality.MISSING_MARK:
            return np.nan, int(grade)
        return value if self._target.is_plain else self._target.number(digits), int(grade)


class _Grades(dict[str, int]):
    """What a cell of a quality column says: a word, a mark, or a number as OPC has them."""

    def __init__(self, marks: dict[str, Quality]) -> None:
        super().__init__()
        self._marks = marks

    def __missing__(self, text: str) -> int:
        said, code = text.strip().casefold(), _NOT_KNOWN
        if not said:
            code = int(Quality.GOOD)
        elif said in self._marks:
            code = int(self._marks[said])
        elif said.isdecimal():
            rank = int(said) & 0xFF
            low = Quality.DECLARED_SUSPECT if rank >= _OPC_UNCERTAIN else Quality.DECLARED_BAD
            code = int(Quality.GOOD if rank >= _OPC_GOOD else low)
        self[text] = code
        return code


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A column with readings, and where the quality of each stands, if it does."""

    at: int
    tag: str
    channel_id: int
    cells: _Cells
    quality_at: int | None


class WideRows:
    """Reads rows of the wide layout.

    Raises: InputError for a tag that nobody explained, twice the same, or with a wrong meaning.
    """

    def __init__(
        self,
        header: str,
        name: str,
        *,
        targets: Targets,
        tags: Tags,
        zone: ZoneInfo,
        order: Order,
        until: datetime | None = None,
    ) -> None:
        self._mark = separator(header)
        found = [cell.strip() for cell in cells([header], self._mark)[0] or []]
        while found and not found[-1]:
            found.pop()
        self._width, self._name, self._zone, self._order = len(found), name, zone, order
        self._until = until
        self._grades = _Grades(tags.qualities())
        self._columns = list(self._understood(found, targets, tags))
        if not self._columns:
            raise InputError(
                f"{name}, row 1: found no tag with readings; expected one at least, such as "
                f"{EXAMPLE} in the document of tags"
            )

    def _understood(self, found: list[str], targets: Targets, tags: Tags) -> Iterator[_Column]:
        twice = sorted({tag for tag in found if found.count(tag) > 1})
        if twice:
            raise InputError(
                f"{self._name}, row 1: found the tag {twice[0]!r} twice, expected each once; "
                "take one of the columns out"
            )
        unknown = [tag for tag in found[2:] if tag not in tags.texts]
        if unknown:
            raise InputError(
                f"{self._name}, row 1: found the tags {', '.join(unknown)} that nobody explained; "
                f"expected a line for each in the document given with --tags, such as {EXAMPLE}, "
                f"or {unknown[0]}: ignore"
            )
        meanings = {tag: tags.meaning(tag) for tag in found[2:]}
        quality_at = {
            said.tag: found.index(tag)
            for tag, said in meanings.items()
            if isinstance(said, QualityOf)
        }
        channels: dict[int, str] = {}
        for tag, said in meanings.items():
            if isinstance(said, Signal):
                target = self._target(tag, said, targets)
                other = channels.setdefault(target.channel_id, tag)
                if other != tag:
                    raise InputError(
                        f"{self._name}, row 1: the tags {other} and {tag} are both said to be "
                        f"{said.point}:{said.parameter}; expected one: ignore the other"
                    )
                yield _Column(
                    at=found.index(tag),
                    tag=tag,
                    channel_id=target.channel_id,
                    cells=_Cells(target, tags.qualities()),
                    quality_at=quality_at.get(tag),
                )

    def _target(self, tag: str, said: Signal, targets: Targets) -> Target:
        try:
            return targets.find(said.point, said.parameter, said.unit)
        except Unusable as problem:
            raise InputError(
                f"the tag {tag} is said to be {said.point}:{said.parameter} {said.unit}; expected "
                f"as its {problem.column} {problem.expected}: {problem.repair}, in the document "
                "given with --tags"
            ) from None

    def part(self, block: Block) -> Part:
        """The lines of one block as columns."""
        self._grades.clear()
        for column in self._columns:
            column.cells.clear()  # what it remembers stays small, whatever the file
        found = cells(block.lines, self._mark)
        if block.first == 1:
            found[0] = []
        bad: dict[int, list[Bad]] = {}
        lines, rows, instants = [], [], []
        known: dict[tuple[str, str], str] = {}
        for line, row in enumerate(found):
            if row is not None and not any(cell.strip() for cell in row):
                continue
            try:
                shaped = self._shaped(row)
                moment = (shaped[0].strip(), shaped[1].strip())
                if moment not in known:
                    known[moment] = _instant(moment, self._order)
            except Unusable as problem:
                said = block.lines[line][:80] if problem.column == ALL else " ".join(row or [])[:40]
                bad[line] = [Bad(found=said, problem=problem)]
                continue
            lines.append(line)
            rows.append(shaped)
            instants.append(known[moment])
        timed = self._timed(instants, np.array(lines, np.intp), rows, bad)
        count = len(lines) + sum(line not in set(lines) for line in bad)
        return Part(block=block, rows=count, timed=timed, bad=bad)

    def _shaped(self, row: list[str] | None) -> list[str]:
        """A row of the header's width; blank cells after it are a writer's last comma."""
        if row is None:
            raise CLOSED
        if len(row) < self._width or any(cell.strip() for cell in row[self._width :]):
            raise Unusable(
                ALL,
                expected=f"{self._width} cells, one for each column, not {len(row)}",
                repair="export it again, or quote what holds separators",
            )
        return row

    def _timed(
        self,
        instants: list[str],
        line: NDArray[np.intp],
        rows: Sequence[list[str]],
        bad: dict[int, list[Bad]],
    ) -> Timed:
        columns = list(zip(*rows, strict=False))
        of = [np.empty(0, np.intp)]
        channels = [np.empty(0, np.int32)]
        values = [np.empty(0, np.float64)]
        qualities = [np.empty(0, np.int64)]
        for column in self._columns if rows else ():
            value, quality = self._read(column, columns, line, bad)
            there = np.flatnonzero(quality >= 0)
            of.append(there)
            channels.append(np.full(len(there), column.channel_id, np.int32))
            values.append(value[there])
            qualities.append(quality[there])
        order = np.argsort(np.concatenate(of), kind="stable")
        return Timed(
            at=instants,
            line=line,
            times=read_times(pd.Series(instants, dtype="str"), self._zone, until=self._until),
            key=np.zeros(len(instants), np.int64),
            of=np.concatenate(of)[order],
            channel_id=np.concatenate(channels)[order],
            value=np.concatenate(values)[order],
            quality=np.concatenate(qualities)[order],
        )

    def _read(
        self,
        column: _Column,
        columns: list[tuple[str, ...]],
        line: NDArray[np.intp],
        bad: dict[int, list[Bad]],
    ) -> tuple[Values, NDArray[np.int64]]:
        """Values and quality of one column; the quality is negative where there is no reading."""
        texts = columns[column.at]
        said = [column.cells[text] for text in texts]
        value = np.array([one for one, _ in said], np.float64)
        quality = np.array([code for _, code in said], np.int64)
        self._note(column.tag, texts, line[quality == _NOT_KNOWN], line=line, bad=bad)
        if column.quality_at is not None:
            grades = columns[column.quality_at]
            grade = np.array([self._grades[text] for text in grades], np.int64)
            grade[quality < 0] = 0
            self._note(column.tag, grades, line[grade == _NOT_KNOWN], line=line, bad=bad)
            quality = np.where((quality < 0) | (grade < 0), np.minimum(quality, grade),
                               quality | grade)  # fmt: skip
            value[(grade >= 0) & (grade & int(Quality.MISSING_MARK) > 0)] = np.nan
        return value, quality

    def _note(
        self,
        tag: str,
        texts: tuple[str, ...],
        where: NDArray[np.intp],
        *,
        line: NDArray[np.intp],
        bad: dict[int, list[Bad]],
    ) -> None:
        problem = Unusable(
            tag,
            expected="a number, nothing where none came, or a mark that is known",
            repair="correct it, or give the mark a line under marks: in the document of tags",
        )
        for at in np.searchsorted(line, where):
            bad.setdefault(int(line[at]), []).append(Bad(found=texts[at].strip(), problem=problem))


def _instant(moment: tuple[str, str], order: Order) -> str:
    try:
        return instant(*moment, order)
    except InputError as error:
        said, _, expected = str(error).partition(": expected ")
        column = "$TIME" if said.startswith("time") else "$DATE"
        raise Unusable(column, expected=expected, repair="rewrite it") from None
