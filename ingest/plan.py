"""Entries to read requests, pure: as few as can be, never cutting a value, never over a gap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from compliance.model.register_map import Entry, Table

MOST_REGISTERS = 125
"""What one Modbus read can carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One read request: neighbouring entries of one table, in the order of their addresses."""

    table: Table
    address: int
    count: int
    entries: tuple[Entry, ...]

    def words(self, entry: Entry, answer: tuple[int, ...]) -> tuple[int, ...]:
        """An entry's registers out of the block's answer."""
        start = entry.address - self.address
        return answer[start : start + entry.words]


def plan(
    entries: Iterable[Entry], *, max_registers: int | None = MOST_REGISTERS
) -> tuple[Block, ...]:
    """The requests that read every entry once.

    Neighbours share a request while no address between them is unasked: a reserved register in a
    gap would have the whole request refused. max_registers: the instrument's own cap; a value
    longer than it makes a request of its own.
    """
    cap = min(max_registers or MOST_REGISTERS, MOST_REGISTERS)
    blocks: list[Block] = []
    for entry in sorted(entries, key=lambda entry: (entry.table, entry.address)):
        last = blocks[-1] if blocks else None
        if last is not None and _joins(last, entry, cap):
            blocks[-1] = _block((*last.entries, entry))
        else:
            blocks.append(_block((entry,)))
    return tuple(blocks)


def _joins(block: Block, entry: Entry, cap: int) -> bool:
    adjoins = entry.table is block.table and entry.address == block.address + block.count
    return adjoins and block.count + entry.words <= cap


def _block(entries: tuple[Entry, ...]) -> Block:
    first, last = entries[0], entries[-1]
    return Block(
        table=first.table,
        address=first.address,
        count=last.end - first.address,
        entries=entries,
    )


def split(block: Block) -> tuple[Block, ...]:
    """Two halves of a block that was refused; a block of one entry is its own, and names it."""
    middle = len(block.entries) // 2
    if middle == 0:
        return (block,)
    return _block(block.entries[:middle]), _block(block.entries[middle:])
