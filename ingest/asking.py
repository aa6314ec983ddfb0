"""The requests that bring one instrument's entries, and what is remembered of its refusals.

A refused address is found by halving and then left alone for a while; a block that was refused is
asked in its parts from then on; a busy instrument is asked again after a pause; one that sleeps is
woken by a request that may get no answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from compliance.model.register_map import Entry, RegisterMap
from compliance.model.wire import Wire
from ingest.errors import BadReply, LinkError, Refused, is_away
from ingest.plan import Block, plan_map, split

ILLEGAL_ADDRESS = 2
ILLEGAL_VALUE = 3
ACKNOWLEDGED = 5
BUSY = 6
PAUSES = {ACKNOWLEDGED: (0.5,), BUSY: (0.1, 0.2)}
"""How long to wait before each further try, in seconds, by exception."""
HOLE_SECONDS = 300.0
"""How long a refused address or block is left alone."""

Answer = tuple[int, ...] | LinkError
Answers = dict[str, Answer]
"""By the name of each entry its words, or why there are none."""

Came = list[tuple[Block, Answer]]
"""What each request brought."""


class Reader(Protocol):
    """What a round needs of a link."""

    async def read(self, unit: int, block: Block, wire: Wire) -> tuple[int, ...]: ...


class Asking:
    """How one unit is asked. All times are seconds of a clock that nobody sets."""

    def __init__(self, unit: int, of: RegisterMap) -> None:
        self._unit, self._map = unit, of
        self._holes: dict[str, tuple[LinkError, float]] = {}
        self._parted: dict[tuple[object, ...], float] = {}
        self._heard: float | None = None

    async def answers(self, link: Reader, entries: Sequence[Entry], *, now: float) -> Answers:
        """The words of each entry, or why there are none."""
        asked = {entry.name: entry for entry in entries}
        closed = self.holes(now)
        wanted = [entry for name, entry in asked.items() if name not in closed]
        came = await self.came(link, plan_map(wanted, self._map), now=now)
        return {**{n: closed[n] for n in asked if n in closed}, **by_entry(came)}

    def holes(self, now: float) -> dict[str, LinkError]:
        """The entries that are not to be asked for now, and why."""
        if not self._holes:
            return {}
        self._holes = {n: hole for n, hole in self._holes.items() if now < hole[1]}
        return {name: error for name, (error, _) in self._holes.items()}

    async def came(self, link: Reader, blocks: Sequence[Block], *, now: float) -> Came:
        """What each of some requests brought, or each part of one that had to be parted."""
        came: Came = []
        pending = list(blocks)
        may_sleep = self._may_sleep(now)
        while pending:
            block = pending.pop(0)
            parts = self._parts(block, now) if self._parted else (block,)
            if len(parts) > 1:
                pending[:0] = parts
                continue
            found = await self._read(link, block, now=now, wake=may_sleep)
            may_sleep = False
            if not isinstance(found, LinkError):
                came.append((block, found))
                self._heard = now
            elif self._is_to_part(block, found):
                self._parted[_key(block)] = now + HOLE_SECONDS
                pending.insert(0, block)
            else:
                lost = [block, *pending] if is_away(found) else [block]
                came.extend((each, found) for each in lost)
                self._note_hole(block, found, now)
                pending = [] if is_away(found) else pending
        return came

    def _may_sleep(self, now: float) -> bool:
        """Whether the instrument may have fallen asleep since it was last heard."""
        after = self._map.wire.wake_up_s
        return after is not None and (self._heard is None or now - self._heard >= after)

    def _parts(self, block: Block, now: float) -> tuple[Block, ...]:
        """The blocks to ask for instead of one that was refused of late."""
        if self._parted.get(_key(block), 0.0) <= now or len(block.entries) < 2:
            return (block,)
        return split(block, multiple_of=self._map.wire.multiple_of)

    def _is_to_part(self, block: Block, error: LinkError) -> bool:
        refused = isinstance(error, Refused) and error.code in (ILLEGAL_ADDRESS, ILLEGAL_VALUE)
        return refused and len(block.entries) > 1

    def _note_hole(self, block: Block, error: LinkError, now: float) -> None:
        """Remember an address that the instrument has not, and name it."""
        if not isinstance(error, Refused) or error.code != ILLEGAL_ADDRESS:
            return
        name = block.entries[0].name
        error.args = (f"{error} for {name} at {block.table.value} address {block.address}",)
        self._holes[name] = (error, now + HOLE_SECONDS)

    async def _read(
        self, link: Reader, block: Block, *, now: float, wake: bool
    ) -> tuple[int, ...] | LinkError:
        """One block, asked again where that may help; or why it did not come."""
        tries: dict[int, int] = {}
        while True:
            try:
                return await self._words(link, block, now)
            except Refused as error:
                tried = tries[error.code] = tries.get(error.code, 0) + 1
                pauses = PAUSES.get(error.code, ())
                if tried > len(pauses):
                    return error
                await asyncio.sleep(pauses[tried - 1])
            except LinkError as error:
                if not (wake and error.waited):
                    return error
                wake = False

    async def _words(self, link: Reader, block: Block, now: float) -> tuple[int, ...]:
        """A block in one request, or register by register where the instrument wants that.

        Raises: LinkError.
        """
        wire = self._map.wire
        single = wire.split_values and block.count > 1 and len(block.entries) == 1
        if not single:
            return await link.read(self._unit, block, wire)
        if self._parted.get(_key(block), 0.0) <= now:
            try:
                return await link.read(self._unit, block, wire)
            except Refused as error:
                if error.code != ILLEGAL_VALUE:
                    raise
                self._parted[_key(block)] = now + HOLE_SECONDS
        return await self._one_by_one(link, block)

    async def _one_by_one(self, link: Reader, block: Block) -> tuple[int, ...]:
        """A value register by register, there and back: what did not move meanwhile is not torn.

        Raises: LinkError.
        """
        wire = self._map.wire
        each = [
            replace(block, address=address, count=1)
            for address in range(block.address, block.address + block.count)
        ]
        words = [await link.read(self._unit, one, wire) for one in each]
        again = [await link.read(self._unit, one, wire) for one in reversed(each[:-1])]
        if words[:-1] != again[::-1]:
            raise BadReply(
                f"unit {self._unit}: {block.entries[0].name} changed while it was read register by "
                "register, so its words may be of two instants"
            )
        return tuple(word for one in words for word in one)


def by_entry(came: Came) -> Answers:
    """What requests brought of each entry that they asked for."""
    return {
        entry.name: said if isinstance(said, LinkError) else block.words(entry, said)
        for block, said in came
        for entry in block.entries
    }


def _key(block: Block) -> tuple[object, ...]:
    return block.table, block.address, block.count
