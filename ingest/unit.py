"""One unit behind a gateway: its round of requests, and the readings that come of it.

A request that fails gives readings without a value and with the reason; an old value is never
repeated. What a round brings depends only on the link, so that tests run it on a scripted server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Protocol

from compliance.errors import InputError
from compliance.model.readings import Quality, Reading
from compliance.model.register_map import Entry, Order, RegisterMap
from compliance.model.sites import Channel
from compliance.records.batch import pack_words
from compliance.records.sites import InstrumentPlan
from ingest.decode import as_float
from ingest.errors import LinkError, NoAnswer, NotConnected, Refused
from ingest.linked import Wanted, Words, decode_linked, wanted
from ingest.plan import Block, plan_map, split

BUSY = (5, 6)
BUSY_PAUSE_SECONDS = 0.2
ILLEGAL_ADDRESS = 2
UNIT_DOWN = (10, 11)
HOLE_SECONDS = 300.0
"""How long an address that the instrument does not have is left alone."""

Answer = tuple[int, ...] | LinkError
Answers = dict[str, Answer]


class Reader(Protocol):
    """What a round needs of a link."""

    async def read(self, unit: int, block: Block) -> tuple[int, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A channel with how it is read."""

    channel: Channel
    wanted: Wanted

    @property
    def entry(self) -> Entry:
        """The entry that holds its value."""
        return self.wanted.entry

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries that it is decoded by."""
        return self.wanted.entries

    def gap(self, slot: datetime, quality: Quality, *, offset_ms: int = 0) -> Reading:
        """The reading that says why there is none."""
        return Reading(
            channel_id=self.channel.id,
            read_at=slot,
            value=None,
            unit=self.channel.unit,
            quality=quality,
            offset_ms=offset_ms,
        )


class Unit:
    """What one instrument is asked, and what is known of its moods.

    Raises: InputError when a channel does not fit the instrument's register map.
    """

    def __init__(self, planned: InstrumentPlan, register_map: RegisterMap) -> None:
        instrument = planned.instrument
        self.id = instrument.unit_id
        self.map = register_map
        self.order = None if instrument.order is None else Order(instrument.order)
        self.signals = tuple(
            _signal(c, register_map, self.id, self.order) for c in planned.channels
        )
        self._holes: dict[str, tuple[LinkError, float]] = {}

    async def answers(self, link: Reader, signals: Sequence[Signal], *, now: float) -> Answers:
        """The words of every entry that the signals need, or why there are none.

        After exception 2 a block is halved until the bad address is named; the rest is read. now:
        seconds of any steady clock, for addresses that are left alone for a while.
        """
        wanted = {entry.name: entry for signal in signals for entry in signal.entries}
        answers: Answers = {
            name: error
            for name, (error, until) in self._holes.items()
            if name in wanted and now < until
        }
        asked = [entry for name, entry in wanted.items() if name not in answers]
        pending = list(plan_map(asked, self.map))
        while pending:
            block = pending.pop(0)
            try:
                words = await self._read(link, block)
            except LinkError as error:
                if _is_hole(error) and len(block.entries) > 1:
                    pending[:0] = split(block, multiple_of=self.map.wire.multiple_of)
                    continue
                lost = [block, *pending] if _is_down(error) else [block]
                answers |= {e.name: error for b in lost for e in b.entries}
                if _is_hole(error):
                    self._note_hole(block, error, now)
                if _is_down(error):
                    break
            else:
                answers |= {e.name: block.words(e, words) for e in block.entries}
        return answers

    def _note_hole(self, block: Block, error: LinkError, now: float) -> None:
        name = block.entries[0].name
        error.args = (f"{error} for {name} at {block.table.value} address {block.address}",)
        self._holes[name] = (error, now + HOLE_SECONDS)

    async def _read(self, link: Reader, block: Block) -> tuple[int, ...]:
        """One request; a busy instrument is asked once more after a pause."""
        try:
            return await link.read(self.id, block)
        except Refused as error:
            if error.code not in BUSY:
                raise
        await asyncio.sleep(BUSY_PAUSE_SECONDS)
        return await link.read(self.id, block)

    def readings(
        self,
        signals: Sequence[Signal],
        answers: Mapping[str, Answer],
        *,
        slot: datetime,
        offset_ms: int,
    ) -> list[Reading]:
        """One reading for each signal at a slot."""
        return [self._reading(s, answers, slot, offset_ms=offset_ms) for s in signals]

    def _reading(
        self, signal: Signal, answers: Mapping[str, Answer], slot: datetime, *, offset_ms: int
    ) -> Reading:
        words = answers[signal.entry.name]
        if isinstance(words, LinkError):
            return signal.gap(slot, words.quality, offset_ms=offset_ms)
        told = {entry.name: _words(answers[entry.name]) for entry in signal.entries}
        value, quality = as_float(decode_linked(signal.wanted, told))
        if self.map.needs_write:
            quality |= Quality.STALE
        if value is None:
            quality = quality or Quality.NOT_FINITE
        return Reading(
            channel_id=signal.channel.id,
            read_at=slot,
            value=value,
            unit=signal.channel.unit,
            quality=quality,
            words=words,
            offset_ms=offset_ms,
        )


def _signal(
    channel: Channel, register_map: RegisterMap, unit_id: int, order: Order | None
) -> Signal:
    try:
        found = wanted(
            register_map,
            channel.entry,
            order=order,
            resolution=Decimal(channel.resolution),
            span=_span(channel),
            unit=channel.unit,
        )
        pack_words((0,) * found.entry.words)
    except InputError as error:
        raise InputError(f"channel {channel.id} (unit {unit_id}): {error}") from None
    return Signal(channel=channel, wanted=found)


def _span(channel: Channel) -> tuple[Decimal, Decimal] | None:
    if channel.span_low is None or channel.span_high is None:
        return None
    return Decimal(str(channel.span_low)), Decimal(str(channel.span_high))


def _words(answer: Answer) -> Words:
    """An entry's registers, or why they were not read."""
    return answer.quality if isinstance(answer, LinkError) else answer


def _is_hole(error: LinkError) -> bool:
    return isinstance(error, Refused) and error.code == ILLEGAL_ADDRESS


def _is_down(error: LinkError) -> bool:
    """Whether asking this unit for more in this round is in vain."""
    if isinstance(error, Refused):
        return error.code in UNIT_DOWN
    return isinstance(error, NoAnswer | NotConnected)
