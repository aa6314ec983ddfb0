"""Entries to read requests, pure: as few as can be, never cutting a value, never over a gap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from compliance.model.register_map import MOST_REGISTERS, Entry, RegisterMap, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One read request: neighbouring entries of one table, in the order of their addresses.

    count: the registers to ask for; wide: each of them answers with two words, not one.
    """

    table: Table
    address: int
    count: int
    entries: tuple[Entry, ...]
    wide: bool = False

    @property
    def answer_words(self) -> int:
        """How many words the answer must carry."""
        return self.count * 2 if self.wide else self.count

    def words(self, entry: Entry, answer: tuple[int, ...]) -> tuple[int, ...]:
        """An entry's words out of the block's answer."""
        start = self.start(entry)
        return answer[start : start + entry.words]

    def start(self, entry: Entry) -> int:
        """Where an entry's words begin in the block's answer."""
        return (entry.address - self.address) * (2 if self.wide else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What a request may be: registers at most, a multiple of so many, one entry or many."""

    most: int = MOST_REGISTERS
    multiple_of: int = 1
    one_entry: bool = False

    def count(self, registers: int) -> int:
        """The registers to ask for, so that so many are among them."""
        return -(-registers // self.multiple_of) * self.multiple_of


def plan_map(entries: Iterable[Entry], of: RegisterMap) -> tuple[Block, ...]:
    """The requests that read every entry once, as the instrument of a map wants them."""
    size = Size(
        most=min(of.max_registers or MOST_REGISTERS, MOST_REGISTERS),
        multiple_of=of.wire.multiple_of,
        one_entry=of.wire.one_request_per_entry,
    )
    return _plan(entries, size)


def plan(
    entries: Iterable[Entry], *, max_registers: int | None = MOST_REGISTERS
) -> tuple[Block, ...]:
    """The requests that read every entry once.

    Neighbours share a request while no address between them is unasked: a reserved register in a
    gap would have the whole request refused. max_registers: the instrument's own cap; a value
    longer than it makes a request of its own.
    """
    return _plan(entries, Size(most=min(max_registers or MOST_REGISTERS, MOST_REGISTERS)))


def apart(entries: Iterable[Entry]) -> tuple[Block, ...]:
    """Each entry by itself, with no register more than it has."""
    return _plan(entries, Size(one_entry=True))


def _plan(entries: Iterable[Entry], size: Size) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for entry in sorted(entries, key=lambda entry: (entry.table, entry.address)):
        last = blocks[-1] if blocks else None
        if last is not None and _joins(last, entry, size):
            blocks[-1] = _block((*last.entries, entry), size)
        else:
            blocks.append(_block((entry,), size))
    return tuple(blocks)


def _joins(block: Block, entry: Entry, size: Size) -> bool:
    """Whether an entry follows a block's entries, or lies on the same registers as the last."""
    end = max(each.end for each in block.entries)
    if size.one_entry or entry.table is not block.table or entry.address > end:
        return False
    return size.count(max(end, entry.end) - block.address) <= size.most


def _block(entries: tuple[Entry, ...], size: Size) -> Block:
    first = entries[0]
    return Block(
        table=first.table,
        address=first.address,
        count=size.count(max(entry.end for entry in entries) - first.address),
        entries=entries,
        wide=first.wide,
    )


def split(block: Block, *, multiple_of: int = 1) -> tuple[Block, ...]:
    """Two halves of a block that was refused; a block of one entry is its own, and names it.

    multiple_of: what the counts of the halves must be, as the map's link says.
    """
    size = Size(multiple_of=multiple_of)
    middle = len(block.entries) // 2
    if middle == 0:
        return (block,)
    return _block(block.entries[:middle], size), _block(block.entries[middle:], size)
