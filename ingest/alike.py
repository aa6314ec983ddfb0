"""Instruments that are asked alike: one plan for all of a map that are read for the same entries.

What is worked out once for them serves each poll of each of them, and their answers of a moment
are decoded in one call (``ingest.tick``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import inf
from weakref import WeakValueDictionary

import numpy as np

from compliance.errors import InputError
from compliance.model.parameters import PHYSICAL_RANGE
from compliance.model.readings import Flags
from compliance.model.register_map import Entry, Order, RegisterMap, RegisterType
from compliance.model.sites import Channel
from compliance.records.batch import pack_words
from ingest.columns import Floats, Places
from ingest.decode_many import DecodePlan, decode_plan
from ingest.linked import Wanted, wanted
from ingest.plan import Block

_Key = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Where the words of a row lie. starts, words: of each value its first word, and how many."""

    plan: DecodePlan
    starts: Places
    words: Places


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class Alike:
    """What some instruments of a map are asked at one interval, and how their answers are read.

    wanted: one for each channel, in the order of its values; clocks: for each the entry that tells
    when it was measured, None where there is none. beat: the entry that moves while the instrument
    measures. is_plain: nothing tells how old a value is. entries: all that is read. whole: the
    layout of answers that all came; apart: of those of which some did not. lowest, highest: what
    physics allows of each value. is_open: of which no number is known for want of an order.
    """

    map: RegisterMap
    order: Order | None
    interval_ms: int
    wanted: tuple[Wanted, ...]
    clocks: tuple[Entry | None, ...]
    beat: Entry | None
    is_plain: bool
    entries: tuple[Entry, ...]
    whole: Layout
    apart: Layout
    lowest: Floats
    highest: Floats
    is_open: Flags

    @property
    def open_entries(self) -> tuple[str, ...]:
        """The entries whose byte order nobody has confirmed."""
        asked = zip(self.wanted, self.is_open.tolist(), strict=True)
        return tuple(each.entry.name for each, is_open in asked if is_open)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The requests that read everything."""
        return self.whole.plan.blocks


class Plans:
    """What was worked out before, for as long as somebody uses it."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[_Key, Alike] = WeakValueDictionary()

    def alike(self, of: RegisterMap, channels: Sequence[Channel], order: Order | None) -> Alike:
        """The plan for channels of one instrument that are read at one interval.

        Raises: InputError for a channel that does not fit the map.
        """
        key = (id(of), order, *map(_wish, channels))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _alike(of, channels, order)
        return found


def _wish(channel: Channel) -> _Key:
    """What two channels must have in common to be read alike."""
    return (
        channel.entry,
        channel.resolution,
        channel.span_low,
        channel.span_high,
        channel.unit,
        channel.parameter,
        channel.interval_ms,
    )


def _alike(of: RegisterMap, channels: Sequence[Channel], order: Order | None) -> Alike:
    asked = tuple(_wanted(of, channel, order) for channel in channels)
    timed = [each.entry.time_register for each in asked]
    clocks = tuple(None if name is None else of.entries[name] for name in timed)
    beat = () if of.heartbeat is None else (of.heartbeat,)
    beside = (*beat, *(clock for clock in clocks if clock is not None))
    ranges = [PHYSICAL_RANGE.get(channel.parameter, (-inf, inf)) for channel in channels]
    entries = (*beside, *(entry for each in asked for entry in each.entries))
    opened = [_is_open(each, clock) for each, clock in zip(asked, clocks, strict=True)]
    # What is decoded in no matter which order is thrown away again (``ingest.tick``).
    read = tuple(
        replace(each, order=Order.ABCD) if is_open else each
        for each, is_open in zip(asked, opened, strict=True)
    )
    return Alike(
        map=of,
        order=order,
        interval_ms=channels[0].interval_ms,
        wanted=asked,
        clocks=clocks,
        beat=of.heartbeat,
        is_plain=not beside and not of.needs_write,
        entries=tuple({entry.name: entry for entry in entries}.values()),
        whole=_layout(decode_plan(of, read, beside=beside)),
        apart=_layout(decode_plan(of, read, beside=beside, is_apart=True)),
        lowest=np.array([low for low, _ in ranges], np.float64),
        highest=np.array([high for _, high in ranges], np.float64),
        is_open=np.array(opened, np.bool_),
    )


def _is_open(each: Wanted, clock: Entry | None) -> bool:
    entries = each.entries if clock is None else (*each.entries, clock)
    return each.order is None and any(e.needs_order and e.order is None for e in entries)


def _layout(plan: DecodePlan) -> Layout:
    return Layout(
        plan=plan,
        starts=np.array([plan.starts[each.entry.name] for each in plan.wanted], np.intp),
        words=np.array([each.entry.words for each in plan.wanted], np.intp),
    )


def _wanted(of: RegisterMap, channel: Channel, order: Order | None) -> Wanted:
    try:
        found = wanted(
            of,
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
        raise InputError(f"channel {channel.id}: {error}") from None
    return found


def _span(channel: Channel) -> tuple[Decimal, Decimal] | None:
    if channel.span_low is None or channel.span_high is None:
        return None
    return Decimal(str(channel.span_low)), Decimal(str(channel.span_high))
