"""All instruments of one map at one tick in one call: words to values with their full quality.

Bit for bit what ``decode_linked`` gives for each of them, which settles what floats cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compliance.errors import InputError
from compliance.model.readings import Quality
from compliance.model.register_map import Entry, RegisterMap, RegisterType
from ingest.columns import Floats, Group, Places, group, key
from ingest.decode import Decoded, as_float, status_quality
from ingest.linked import Wanted, Words, decode_linked, scaling
from ingest.plan import Block, apart, plan_map
from ingest.rows import decoded

Qualities = NDArray[np.int16]

_Made = tuple[Group | int, Quality]
"""A group and what doubt there is about it, or a place and why there is no value."""

_Alike = tuple[tuple[RegisterType, int, bool], Quality]

_CHUNK = 16_384  # values that are worked on together, so that they stay near the processor
_MOST_COMPILED = 1000
_EVERY_WORD = 65536
_MISSING = np.int16(Quality.MISSING_MARK)
_UNCERTAIN = np.int16(Quality.STATUS_UNCERTAIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodePlan:
    """What a map's instruments are asked and how their words are decoded, built once.

    blocks: the requests; a row of words holds their answers one after another. block_of: the block
    of each value. statuses: for each status register its row, its block, and the quality of every
    word; status_of: which of them qualifies each value, −1 for none. fixed: groups whose scale and
    unit stand in the map; varying: the places of those whose registers tell them; clocks: those of
    times, which have no value and may be no date.
    """

    wanted: tuple[Wanted, ...]
    blocks: tuple[Block, ...]
    starts: dict[str, int]
    owner: dict[str, int]
    block_of: Places
    statuses: tuple[tuple[int, int, Qualities], ...]
    status_of: Places
    fixed: tuple[Group, ...]
    varying: tuple[int, ...]
    clocks: tuple[int, ...]
    compiled: dict[tuple[tuple[int, ...], bytes], list[_Made]] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """How many words a row has."""
        return sum(block.answer_words for block in self.blocks)


def decode_plan(
    of: RegisterMap,
    wanted: Sequence[Wanted],
    *,
    beside: Sequence[Entry] = (),
    is_apart: bool = False,
) -> DecodePlan:
    """The plan for instruments of one map that want the same of it.

    beside: entries that are read along and have no value. is_apart: each entry is a block by
    itself, for words of which some did not come.
    """
    entries = {entry.name: entry for each in wanted for entry in each.entries}
    entries |= {entry.name: entry for entry in beside}
    blocks = apart(entries.values()) if is_apart else plan_map(entries.values(), of)
    starts: dict[str, int] = {}
    owner: dict[str, int] = {}
    row = 0
    for index, block in enumerate(blocks):
        for entry in block.entries:
            starts[entry.name] = row + block.start(entry)
            owner[entry.name] = index
        row += block.answer_words
    statuses, status_of = _statuses(wanted, starts, owner)
    return DecodePlan(
        wanted=tuple(wanted),
        blocks=blocks,
        starts=starts,
        owner=owner,
        block_of=np.array([owner[each.entry.name] for each in wanted], np.intp),
        statuses=statuses,
        status_of=status_of,
        fixed=_groups(wanted, starts),
        varying=tuple(n for n, each in enumerate(wanted) if each.scaling and _is_number(each)),
        clocks=tuple(n for n, each in enumerate(wanted) if each.entry.clock is not None),
    )


def _is_number(of: Wanted) -> bool:
    return of.entry.type is not RegisterType.STRING and of.entry.clock is None


def _groups(wanted: Sequence[Wanted], starts: dict[str, int]) -> tuple[Group, ...]:
    members: dict[object, list[tuple[int, Wanted, int]]] = {}
    for place, each in enumerate(wanted):
        if _is_number(each) and not each.scaling:
            members.setdefault(key(each), []).append((place, each, starts[each.entry.name]))
    return tuple(group(each) for each in members.values())


def _statuses(
    wanted: Sequence[Wanted], starts: dict[str, int], owner: dict[str, int]
) -> tuple[tuple[tuple[int, int, Qualities], ...], Places]:
    first = {each.status.name: each.entry for each in wanted if each.status is not None}
    names = list(first)
    tables = tuple((starts[n], owner[n], _quality_of_every_word(first[n])) for n in names)
    status_of = [-1 if each.status is None else names.index(each.status.name) for each in wanted]
    return tables, np.array(status_of, np.intp)


def _quality_of_every_word(entry: Entry) -> Qualities:
    if not entry.status_by_bit:
        table = np.full(_EVERY_WORD, int(entry.status_other), np.int16)
        for code, quality in entry.status_codes.items():
            if 0 <= code < _EVERY_WORD:
                table[code] = int(quality)
        return table
    words, table = np.arange(_EVERY_WORD), np.zeros(_EVERY_WORD, np.int16)
    for bit in range(16):
        table[words >> bit & 1 == 1] |= np.int16(status_quality(entry, 1 << bit))
    return table


def decode_many(
    plan: DecodePlan, words: NDArray[np.uint16], unread: Qualities | None = None
) -> tuple[Floats, Qualities]:
    """Values and bits of ``Quality``, both of shape (instruments, wanted entries).

    words: (instruments, ``plan.width``), the answers of ``plan.blocks`` in their order. unread:
    (instruments, blocks), why a block was not answered, 0 where it was. A value is NaN where there
    is none, and never infinite.
    Raises: InputError for arrays of another shape or type.
    """
    _check(plan, words, unread)
    count, size = len(words), len(plan.wanted)
    values, quality = np.full((size, count), np.nan), np.zeros((size, count), np.int16)
    chunk = max(64, _CHUNK // max(1, size))
    with np.errstate(all="ignore"):
        for start in range(0, count, chunk):
            part = slice(start, start + chunk)
            rows = np.ascontiguousarray(words[part].T)
            why = None if unread is None else np.ascontiguousarray(unread[part].T)
            _Part(plan, rows, why, values[:, part], quality[:, part]).decode()
    return values.T, quality.T


def _check(plan: DecodePlan, words: NDArray[np.uint16], unread: Qualities | None) -> None:
    if words.dtype != np.uint16 or words.ndim != 2 or words.shape[1] != plan.width:
        raise InputError(
            f"words are {words.dtype} of shape {words.shape}; expected uint16 with "
            f"{plan.width} words for each instrument"
        )
    wanted = (len(words), len(plan.blocks))
    if unread is not None and (unread.dtype != np.int16 or unread.shape != wanted):
        raise InputError(
            f"unread is {unread.dtype} of shape {unread.shape}; expected int16 of shape {wanted}"
        )


@dataclass(frozen=True, slots=True)
class _Part:
    """Some instruments: their words and results, one row a register or entry, one column each."""

    plan: DecodePlan
    words: NDArray[np.uint16]
    unread: Qualities | None
    values: Floats
    quality: Qualities

    def decode(self) -> None:
        said = self._said()
        for each in self.plan.fixed:
            self._group(each, None)
        if self.plan.varying:
            self._varying()
        for place in self.plan.clocks:
            for column in range(self.words.shape[1]):
                self._by_decimals(place, column)
        self._qualify(said)

    def _said(self) -> list[Qualities]:
        """What each status register says of its values."""
        found = []
        for row, block, table in self.plan.statuses:
            said = table[self.words[row]]
            if self.unread is not None:
                said[self.unread[block] != 0] = _UNCERTAIN
            found.append(said)
        return found

    def _qualify(self, said: list[Qualities]) -> None:
        for index, quality in enumerate(said):
            if quality.any():
                places = np.flatnonzero(self.plan.status_of == index)
                self.quality[places] |= quality
                absent = quality & _MISSING != 0
                if absent.any():
                    self.values[np.ix_(places, absent)] = np.nan
        if self.unread is not None and self.unread.any():
            why = self.unread[self.plan.block_of]
            self.values[why != 0] = np.nan
            np.copyto(self.quality, why, where=why != 0)

    def _group(self, of: Group, some: Places | None) -> None:
        """Values of a group, of all instruments or of some."""
        words = self.words if some is None else self.words[:, some]
        values, quality, unsure = decoded(of, words)
        at = of.at if some is None else np.ix_(of.at, some)
        self.values[at], self.quality[at] = values, quality
        if unsure is not None:
            for row, column in zip(*np.nonzero(unsure), strict=True):
                place = int(of.at[row])
                self._by_decimals(place, int(column if some is None else some[column]))

    def _by_decimals(self, place: int, column: int) -> None:
        """One value by decimal arithmetic."""
        wanted = self.plan.wanted[place]
        told = {entry.name: self._words(entry, column) for entry in wanted.entries}
        value, quality = as_float(decode_linked(wanted, told))
        self.values[place, column] = np.nan if value is None else value
        self.quality[place, column] = int(quality)

    def _words(self, entry: Entry, column: int) -> Words:
        why = 0 if self.unread is None else self.unread[self.plan.owner[entry.name], column]
        if why:
            return Quality(int(why))
        start = self.plan.starts[entry.name]
        return tuple(self.words[start : start + entry.words, column].tolist())

    def _varying(self) -> None:
        """Values whose scale or unit the instruments tell: once for each thing they say."""
        keys = [self._keys(self.plan.wanted[place]) for place in self.plan.varying]
        if all((each == each[:, :1]).all() for each in keys):  # nearly always: they say the same
            said = b"".join(each[:, 0].tobytes() for each in keys)
            for of, doubt in self._compiled(self.plan.varying, said, 0):
                self._apply(of, doubt, None)
            return
        for place, each in zip(self.plan.varying, keys, strict=True):
            ways, which = np.unique(each, axis=1, return_inverse=True)
            for number in range(ways.shape[1]):
                some = np.flatnonzero(which == number)
                said = ways[:, number].tobytes()
                for of, doubt in self._compiled((place,), said, int(some[0])):
                    self._apply(of, doubt, some)

    def _apply(self, of: Group | int, doubt: Quality, some: Places | None) -> None:
        """One group, or the reason why a place has no value."""
        columns = slice(None) if some is None else some
        if isinstance(of, int):
            self.quality[of, columns] = int(doubt)
            return
        self._group(of, some)
        if doubt:
            for place in of.at:
                self.quality[place, columns] |= np.int16(doubt)

    def _keys(self, wanted: Wanted) -> NDArray[Any]:
        """What the registers say that a value's scale and unit depend on."""
        found: list[NDArray[Any]] = []
        for entry in wanted.scaling:
            start = self.plan.starts[entry.name]
            found.extend(self.words[start : start + entry.words].astype(np.int32))
            if self.unread is not None:
                found.append(self.unread[self.plan.owner[entry.name]].astype(np.int32))
        return np.array(found)

    def _compiled(self, places: tuple[int, ...], said: bytes, column: int) -> list[_Made]:
        cache = self.plan.compiled
        found = cache.get((places, said))
        if found is None:
            if len(cache) >= _MOST_COMPILED:
                cache.clear()
            found = cache[places, said] = self._compile(places, column)
        return found

    def _compile(self, places: tuple[int, ...], column: int) -> list[_Made]:
        """Groups for what one instrument says of the scale and unit of some values."""
        made: list[_Made] = []
        members: dict[_Alike, list[tuple[int, Wanted, int]]] = {}
        for place in places:
            wanted = self.plan.wanted[place]
            told = {entry.name: self._words(entry, column) for entry in wanted.scaling}
            scaled = scaling(wanted, told)
            if isinstance(scaled, Decoded):
                made.append((place, scaled.quality))
                continue
            entry, doubt = scaled
            member = (place, replace(wanted, entry=entry), self.plan.starts[entry.name])
            members.setdefault((key(wanted), doubt), []).append(member)
        made.extend((group(each), doubt) for (_, doubt), each in members.items())
        return made
