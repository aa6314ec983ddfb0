"""One unit behind a gateway: its round of requests, and the readings that come of it.

A request that fails gives readings without a value and with the reason; an old value is never
repeated. What a round brings depends only on the link, so that tests run it on a scripted server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from math import inf, isfinite
from typing import Protocol

from compliance.errors import InputError
from compliance.model.parameters import PHYSICAL_RANGE, Parameter
from compliance.model.readings import Quality, Reading
from compliance.model.register_map import Entry, Order, RegisterMap, RegisterType
from compliance.model.sites import Channel
from compliance.model.units import linear, unit
from compliance.records.batch import pack_words
from compliance.records.sites import InstrumentPlan
from ingest.decode import decode_entry
from ingest.errors import LinkError, NoAnswer, NotConnected, Refused
from ingest.plan import Block, plan, split

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
    """A channel with the entries that it is read from."""

    channel: Channel
    entry: Entry
    status: Entry | None
    unit_code: Entry | None

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(e for e in (self.entry, self.status, self.unit_code) if e is not None)

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
        self.order = _order(instrument.order, self.id)
        self.signals = tuple(_signal(c, register_map, self.id) for c in planned.channels)
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
        pending = list(plan(asked, max_registers=self.map.max_registers))
        while pending:
            block = pending.pop(0)
            try:
                words = await self._read(link, block)
            except LinkError as error:
                if _is_hole(error) and len(block.entries) > 1:
                    pending[:0] = split(block)
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
        entry, doubt = _entry_in_its_unit(signal, answers)
        status, unread = _word(signal.status, answers)
        decoded = decode_entry(
            entry,
            words,
            order=self.order,
            status_word=status,
            resolution=Decimal(signal.channel.resolution),
            span=_span(signal.channel),
            unit=signal.channel.unit,
        )
        value = None if decoded.value is None else float(decoded.value)
        quality = decoded.quality | doubt | unread
        if self.map.needs_write:
            quality |= Quality.STALE
        if value is None or not isfinite(value):
            value, quality = None, quality or Quality.NOT_FINITE
        elif not _is_possible(signal.channel.parameter, value):
            quality |= Quality.OUT_OF_RANGE
        return Reading(
            channel_id=signal.channel.id,
            read_at=slot,
            value=value,
            unit=signal.channel.unit,
            quality=quality,
            words=words,
            offset_ms=offset_ms,
        )


def _order(name: str | None, unit_id: int) -> Order | None:
    if name is None:
        return None
    try:
        return Order(name)
    except ValueError:
        raise InputError(
            f"unit {unit_id}: byte order is {name!r}; expected one of {', '.join(Order)}"
        ) from None


def _is_possible(parameter: Parameter, value: float) -> bool:
    """Whether physics allows a value, whatever the instrument's own range says."""
    lowest, highest = PHYSICAL_RANGE.get(parameter, (-inf, inf))
    return lowest <= value <= highest


def _signal(channel: Channel, register_map: RegisterMap, unit_id: int) -> Signal:
    where = f"channel {channel.id} (unit {unit_id}, map {register_map.name})"
    entry = register_map.entries.get(channel.entry)
    if entry is None:
        known = ", ".join(register_map.entries)
        raise InputError(f"{where}: no entry {channel.entry!r}; expected one of {known}")
    if entry.type is RegisterType.STRING:
        raise InputError(f"{where}: {entry.name} is a text; a channel needs a number")
    pack_words((0,) * entry.words)
    if entry.share and _span(channel) is None:
        raise InputError(f"{where}: {entry.name} is a share of a span; set the channel's span")
    if entry.unit is not None:
        linear(entry.unit, channel.unit)
    return Signal(
        channel=channel,
        entry=entry,
        status=register_map.entries[entry.status] if entry.status else None,
        unit_code=_unit_code(entry, register_map),
    )


def _unit_code(entry: Entry, register_map: RegisterMap) -> Entry | None:
    """The register that names an entry's unit, where the map knows what its codes mean."""
    code = register_map.entries[entry.unit_register] if entry.unit_register else None
    return code if code is not None and code.codes else None


def _span(channel: Channel) -> tuple[Decimal, Decimal] | None:
    if channel.span_low is None or channel.span_high is None:
        return None
    return Decimal(str(channel.span_low)), Decimal(str(channel.span_high))


def _word(entry: Entry | None, answers: Mapping[str, Answer]) -> tuple[int | None, Quality]:
    """A one-register entry beside the value; unread, it leaves a doubt."""
    if entry is None:
        return None, Quality.GOOD
    words = answers[entry.name]
    if isinstance(words, LinkError):
        return None, Quality.STATUS_UNCERTAIN
    return words[0], Quality.GOOD


def _entry_in_its_unit(signal: Signal, answers: Mapping[str, Answer]) -> tuple[Entry, Quality]:
    """The entry in the unit that the instrument's unit register names."""
    code, doubt = _word(signal.unit_code, answers)
    if signal.unit_code is None or code is None:
        return signal.entry, doubt
    try:
        named = unit(signal.unit_code.codes[code])
        linear(named, signal.channel.unit)
    except (KeyError, InputError):
        return signal.entry, Quality.STATUS_UNCERTAIN
    return replace(signal.entry, unit=named), doubt


def _is_hole(error: LinkError) -> bool:
    return isinstance(error, Refused) and error.code == ILLEGAL_ADDRESS


def _is_down(error: LinkError) -> bool:
    """Whether asking this unit for more in this round is in vain."""
    if isinstance(error, Refused):
        return error.code in UNIT_DOWN
    return isinstance(error, NoAnswer | NotConnected)
