"""A simulated instrument, pure: what its registers hold at an instant, and when it keeps silent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property

import numpy as np

from compliance.model.periods import Period, midnight, to_us
from compliance.model.readings import Quality, Times, Values
from compliance.model.register_map import Entry, Kind, RegisterType, Table
from compliance.model.units import Unit, dimension, linear
from ingest.decode import order_of, status_quality
from ingest.encode import encode, to_words
from ingest.manhole import EventKind, Signal, answers, signal
from ingest.scenario import Manhole, SignalChannel, SimulatedUnit

_SIGNAL_UNIT = {
    Signal.FLOW: Unit.GPM,
    Signal.TOTAL: Unit.GAL,
    Signal.PH: Unit.SU,
    Signal.TEMPERATURE: Unit.DEG_F,
    Signal.SAMPLE_COUNT: Unit.COUNT,
    Signal.BOTTLE: Unit.COUNT,
}


def channel_values(manhole: Manhole, channel: SignalChannel, at_us: Times) -> Values:
    """What a channel's signal is at ascending instants, in the channel's unit, unrounded.

    A total has passed its modulus as often as it must, and does so at the scenario's rollover.
    """
    values = signal(channel.signal, manhole.profile, events=manhole.events, at_us=at_us)
    if channel.signal is Signal.TOTAL:
        values = values - _turned(manhole)
    factor, offset = linear(_SIGNAL_UNIT[channel.signal], channel.unit)
    values = values * float(factor) + float(offset)
    return values if channel.modulus is None else np.asarray(values % float(channel.modulus))


def _turned(manhole: Manhole) -> float:
    """The total at the scenario's rollover, where the register shows zero."""
    cue = next((e for e in manhole.events if e.kind is EventKind.ROLLOVER), None)
    if cue is None:
        return 0.0
    at_us = np.array([cue.starts_us])
    total = signal(Signal.TOTAL, manhole.profile, events=manhole.events, at_us=at_us)
    return float(total[0])


def daily_gallons(manhole: Manhole, days: Period) -> dict[date, float]:
    """What passed the manhole in each civil day at its plant, in gallons."""
    zone = manhole.profile.zone
    every = [days.start + timedelta(days=n) for n in range(days.days + 1)]
    at_us = np.array([to_us(midnight(day, zone)) for day in every], dtype=np.int64)
    total = signal(Signal.TOTAL, manhole.profile, events=manhole.events, at_us=at_us)
    return dict(zip(every[:-1], np.diff(total).tolist(), strict=True))


def history(
    manhole: Manhole, unit: SimulatedUnit, channel: SignalChannel, *, at_us: Times
) -> tuple[Values, Times]:
    """Readings of a channel at ascending instants: values to its resolution, bits of ``Quality``.

    NaN where the unit kept silent or its status register said that there is no value.
    """
    step = float(channel.resolution)
    places = max(0, -int(channel.resolution.as_tuple().exponent))
    values = channel_values(manhole, channel, at_us)
    values = np.round(np.floor(values / step + 0.5) * step, places)
    quality = np.zeros(len(at_us), dtype=np.int64)
    entry = unit.map.entries[channel.entry]
    for event in manhole.events:
        if event.kind is EventKind.STATUS and (event.unit, event.entry) == (
            unit.unit,
            entry.status,
        ):
            quality[event.holds(at_us)] |= int(status_quality(entry, int(event.value)))
    quality[~answers(manhole.events, unit=unit.unit, at_us=at_us)] = int(Quality.NO_ANSWER)
    absent = quality & int(Quality.NO_ANSWER | Quality.MISSING_MARK) != 0
    return np.where(absent, np.nan, values), quality


@dataclass(frozen=True)
class Instrument:
    """One unit of a manhole, ready to be asked."""

    manhole: Manhole
    unit: SimulatedUnit
    written: dict[str, int] = field(default_factory=dict)  # by entry: what somebody ordered

    @cached_property
    def channels(self) -> Mapping[str, SignalChannel]:
        """Its channels by entry."""
        return {channel.entry: channel for channel in self.unit.channels}

    @cached_property
    def at(self) -> Mapping[tuple[Table, int], Entry]:
        """The entry that holds an address."""
        entries = self.unit.map.entries.values()
        return {(e.table, address): e for e in entries for address in range(e.address, e.end)}

    def answers(self, at_us: int) -> bool:
        """Whether it answers at an instant."""
        times = np.array([at_us])
        return bool(answers(self.manhole.events, unit=self.unit.unit, at_us=times)[0])

    def read(self, table: Table, address: int, count: int, *, at_us: int) -> tuple[int, ...] | None:
        """Its registers at an instant, None where one of the addresses does not exist."""
        words: list[int] = []
        made: dict[str, tuple[int, ...]] = {}
        for asked in range(address, address + count):
            entry = self.at.get((table, asked))
            if entry is None:
                return None
            if entry.name not in made:
                made[entry.name] = self.words(entry, at_us)
            words.append(made[entry.name][asked - entry.address])
        return tuple(words)

    def write(self, table: Table, address: int, value: int) -> bool:
        """Take an order; False where the address takes none."""
        entry = self.at.get((table, address))
        if entry is None or not entry.is_enabling:
            return False
        self.written[entry.name] = value
        return True

    def words(self, entry: Entry, at_us: int) -> tuple[int, ...]:
        """What an entry's registers hold at an instant."""
        if entry.name in self.written:
            return (self.written[entry.name],)
        if entry.kind == Kind.STATUS and (code := self._status(entry, at_us)) is not None:
            return encode(Decimal(code), entry, self.unit.order)
        channel = self.channels.get(self.unit.copies.get(entry.name, entry.name))
        if channel is not None:
            value = channel_values(self.manhole, channel, np.array([at_us]))[0]
            return encode(self._on_register(entry, channel, value), entry, self.unit.order)
        return self._standing(entry, at_us)

    def _on_register(self, entry: Entry, channel: SignalChannel, value: float) -> float:
        """A channel's value as its register shows it: in the entry's unit, or as a share."""
        if entry.share and channel.span is not None:
            low, high = (float(end) for end in channel.span)
            return (value - low) / (high - low) * 100
        if entry.unit is None or dimension(entry.unit) != dimension(channel.unit):
            return value
        factor, offset = linear(channel.unit, entry.unit)
        return value * float(factor) + float(offset)

    def _status(self, entry: Entry, at_us: int) -> int | None:
        """The code of a status register; None where the entry is a channel or no status word."""
        if entry.name in self.channels:
            return None
        for event in self.manhole.events:
            cue = (event.kind, event.unit, event.entry)
            if cue == (EventKind.STATUS, self.unit.unit, entry.name) and event.holds(
                np.array([at_us])
            ):
                return int(event.value)
        qualified = [e for e in self.unit.map.entries.values() if e.status == entry.name]
        idle = qualified and not any(e.name in self.channels for e in qualified)
        wanted = Quality.MISSING_MARK if idle else Quality.GOOD
        codes = entry.status_codes.items()
        return next((code for code, quality in codes if quality == wanted), 0)

    def _standing(self, entry: Entry, at_us: int) -> tuple[int, ...]:
        """What an entry holds that carries no signal: a constant, a mark, a name or nothing."""
        constant = self.unit.constants.get(entry.name)
        if constant is not None:
            return encode(constant, entry, self.unit.order)
        if entry.type is RegisterType.STRING:
            return encode("SIMULATED", entry, self.unit.order)
        if entry.kind == Kind.HEARTBEAT:
            return encode(Decimal(at_us // 1_000_000 % 65536), entry, self.unit.order)
        if entry.missing:
            raw = entry.missing[0].to_bytes(2 * entry.words)
            return to_words(raw, order_of(entry, self.unit.order))
        first = next(iter(entry.codes), 0) if entry.kind == Kind.IDENTITY else 0
        return encode(Decimal(first), entry, self.unit.order)
