"""One unit behind a gateway: its round of requests, and the readings that come of it.

A request that fails gives readings without a value and with the reason; an old value is never
repeated, and one that the instrument repeats is marked stale. What a round brings depends only on
the link, so that tests run it on a scripted server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import inf

from compliance.errors import InputError
from compliance.model.parameters import PHYSICAL_RANGE, Parameter
from compliance.model.readings import Quality, Reading
from compliance.model.register_map import Entry, Order, RegisterMap, RegisterType
from compliance.model.sites import Channel
from compliance.records.batch import pack_words
from compliance.records.sites import InstrumentPlan
from ingest.asking import Answer, Answers, Asking, Reader
from ingest.clock import device_time
from ingest.decode import as_float, order_of
from ingest.errors import LinkError
from ingest.freshness import CLOCK_SECONDS, Freshness, beat_limit
from ingest.linked import Wanted, Words, decode_linked, wanted

_MOST_OFFSET_MS = 2**31 - 1
_TOLD_TO = "it measures only when told to, and this program never writes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A channel with how it is read.

    clock: the entry that tells when its value was measured, None where there is none.
    """

    channel: Channel
    wanted: Wanted
    clock: Entry | None = None

    @property
    def entry(self) -> Entry:
        """The entry that holds its value."""
        return self.wanted.entry

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries that it is decoded and dated by."""
        own = self.wanted.entries
        return own if self.clock is None else (*own, self.clock)

    def is_open(self, order: Order | None) -> bool:
        """Whether its number is not known for want of an order. order: that of the instrument."""
        return order is None and any(e.needs_order and e.order is None for e in self.entries)

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
        self.signals = tuple(
            _signal(c, register_map, self.id, self.order) for c in planned.channels
        )
        open_order = [s.entry.name for s in self.signals if s.is_open(self.order)]
        self.undecoded = (
            f"byte order of {', '.join(open_order)} not confirmed" if open_order else ""
        )
        self.stale = ""  # why its values of the last round are old; empty when they are not
        self._asking = Asking(self.id, register_map)
        self._freshness = Freshness()

    async def answers(self, link: Reader, signals: Sequence[Signal], *, now: float) -> Answers:
        """The words of every entry that the signals need, or why there are none.

        now: seconds of a clock that nobody sets.
        """
        beat = self.map.heartbeat
        entries = [entry for signal in signals for entry in signal.entries]
        return await self._asking.answers(
            link, entries if beat is None else [beat, *entries], now=now
        )

    def readings(
        self,
        signals: Sequence[Signal],
        answers: Mapping[str, Answer],
        *,
        slot: datetime,
        offset_ms: int,
        now: float,
    ) -> list[Reading]:
        """One reading for each signal at a slot.

        offset_ms: how long after the slot it was asked; now: seconds of a clock that nobody sets.
        """
        self.stale = _TOLD_TO if self.map.needs_write else ""
        frozen = self._beat_stands_still(signals, answers, now)
        return [
            self._reading(s, answers, slot, offset_ms=offset_ms, now=now, frozen=frozen)
            for s in signals
        ]

    def _beat_stands_still(
        self, signals: Sequence[Signal], answers: Mapping[str, Answer], now: float
    ) -> bool:
        beat = self.map.heartbeat
        words = None if beat is None else answers.get(beat.name)
        if beat is None or words is None or isinstance(words, LinkError):
            return False
        limit = beat_limit(min(s.channel.interval_ms for s in signals))
        if self._freshness.stood_still(beat.name, words, now=now) < limit:
            return False
        self.stale = f"its heartbeat register ({beat.name}) stands still"
        return True

    def _reading(
        self,
        signal: Signal,
        answers: Mapping[str, Answer],
        slot: datetime,
        *,
        offset_ms: int,
        now: float,
        frozen: bool,
    ) -> Reading:
        words = answers[signal.entry.name]
        if isinstance(words, LinkError):
            return signal.gap(slot, words.quality, offset_ms=offset_ms)
        told = {entry.name: _words(answers[entry.name]) for entry in signal.entries}
        value, quality = None, Quality.ORDER_OPEN
        if not signal.is_open(self.order):
            value, quality = as_float(decode_linked(signal.wanted, told))
        asked_at = slot + timedelta(milliseconds=offset_ms)
        same, device_offset = self._device_time(signal, answers, asked_at, now)
        if frozen or same or self.map.needs_write:
            quality |= Quality.STALE
        if value is None:
            quality = quality or Quality.NOT_FINITE
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
            device_offset_ms=device_offset,
        )

    def _device_time(
        self, signal: Signal, answers: Mapping[str, Answer], asked_at: datetime, now: float
    ) -> tuple[bool, int | None]:
        """Whether a value's own time is that of an earlier poll, and its distance from ours in ms.

        An instrument writes its time in a zone that it does not tell; it is taken as UTC, so that a
        steady distance of hours is its zone, and one that moves is its drift.
        """
        clock = signal.clock
        words = None if clock is None else answers[clock.name]
        if clock is None or words is None or isinstance(words, LinkError):
            return False, None
        told = device_time(clock, words, order_of(clock, self.order))
        if told is None:
            return False, None
        same = self._freshness.stood_still(clock.name, words, now=now) >= CLOCK_SECONDS
        if same and not self.stale:
            self.stale = f"its own time of {signal.entry.name} ({clock.name}) stands still"
        apart = (told.replace(tzinfo=UTC) - asked_at) // timedelta(milliseconds=1)
        return same, apart if abs(apart) <= _MOST_OFFSET_MS else None


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
        if found.entry.type is RegisterType.STRING:
            raise InputError(f"{found.entry.name} is a text; a channel needs a number")
        pack_words((0,) * found.entry.words)
    except InputError as error:
        raise InputError(f"channel {channel.id} (unit {unit_id}): {error}") from None
    timed = found.entry.time_register
    clock = None if timed is None else register_map.entries[timed]
    return Signal(channel=channel, wanted=found, clock=clock)


def _span(channel: Channel) -> tuple[Decimal, Decimal] | None:
    if channel.span_low is None or channel.span_high is None:
        return None
    return Decimal(str(channel.span_low)), Decimal(str(channel.span_high))


def _words(answer: Answer) -> Words:
    """An entry's registers, or why they were not read."""
    return answer.quality if isinstance(answer, LinkError) else answer
