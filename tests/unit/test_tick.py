"""Answers of a moment decoded together: what each of them gives by itself, with every flag."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pytest

from compliance.model.parameters import PHYSICAL_RANGE, Parameter
from compliance.model.periods import from_us, to_us
from compliance.model.readings import Quality, Reading
from compliance.model.register_map import RegisterMap, RegisterType
from compliance.model.sites import Channel
from compliance.model.units import Unit as Measure
from compliance.model.units import dimension
from compliance.records.batch import from_readings, joined
from compliance.records.sites import InstrumentPlan
from ingest import library
from ingest.alike import Plans
from ingest.decode import as_float
from ingest.encode import encode
from ingest.errors import LinkError, NoAnswer, Refused
from ingest.linked import decode_linked
from ingest.plan import Block
from ingest.tick import Blank, blanks, readings
from ingest.unit import Ask, Said, Unit
from tests.support.polling import (
    PH,
    Registers,
    channel,
    entry,
    instrument,
    mapped,
    one_by_one,
    unit,
)

SLOT = to_us(datetime(2026, 4, 1, 12, tzinfo=UTC))
KINDS = {"temperature": Parameter.TEMPERATURE, "flow": Parameter.FLOW, "volume": Parameter.VOLUME}


def channels_of(of: RegisterMap) -> tuple[Channel, ...]:
    """Every number that a channel can have, in the unit that another city would want."""
    told = {"flow": Measure.GPM, "volume": Measure.GAL, "temperature": Measure.DEG_F}
    found = []
    for name, one in of.entries.items():
        if one.type is RegisterType.STRING or one.unit is None or one.words > 4:
            continue
        kind = dimension(one.unit)
        found.append(
            replace(
                channel(len(found) + 1, name),
                unit=told.get(kind, one.unit),
                parameter=KINDS.get(kind, Parameter.PH),
                span_low=0.0 if one.share else None,
                span_high=500.0 if one.share else None,
            )
        )
    return tuple(found)


class Memory:
    """A link to an instrument with 65536 registers of any kind."""

    def __init__(self, held: np.ndarray, refused: frozenset[int] = frozenset()) -> None:
        self.held, self.refused = held, refused

    async def read(self, unit: int, block: Block, wire: object) -> tuple[int, ...]:
        count = block.answer_words
        if self.refused & set(range(block.address, block.address + block.count)):
            raise Refused("unit 1", 2)
        base = block.address * (2 if block.wide else 1) % (65536 - count)
        return tuple(int(word) for word in self.held[base : base + count])


def asked(one: Unit, link: object, *, now: float = 0.0) -> tuple[Ask, Said]:
    (ask,) = one.asks.values()
    return ask, asyncio.run(one.round(link, ask, slot_us=SLOT, offset_ms=7, now=now))


def alone(one: Unit, held: np.ndarray, why: dict[str, Quality]) -> list[Reading]:
    """The readings by decimal arithmetic, one value at a time."""
    (ask,) = one.asks.values()
    found = []
    for at, each in zip(ask.channels, ask.alike.wanted, strict=True):
        words = {}
        for part in each.entries:
            start = part.address * (2 if part.wide else 1) % (65536 - part.words)
            words[part.name] = why.get(
                part.name, tuple(int(word) for word in held[start : start + part.words])
            )
        own = words[each.entry.name]
        value, quality = as_float(decode_linked(each, words))
        lowest, highest = PHYSICAL_RANGE.get(at.parameter, (-np.inf, np.inf))
        if isinstance(own, Quality):
            value, quality, own = None, own, ()
        elif one.map.needs_write:
            quality |= Quality.STALE
        if value is None:
            quality = quality or Quality.NOT_FINITE
        elif not lowest <= value <= highest:
            quality |= Quality.OUT_OF_RANGE
        found.append(
            Reading(
                channel_id=at.id,
                read_at=from_us(SLOT),
                value=value,
                unit=at.unit,
                quality=quality,
                words=own,
                offset_ms=7,
            )
        )
    return found


def held_by(of: RegisterMap, seed: int) -> np.ndarray:
    """Registers of any content, in which every other entry holds a number of few digits."""
    random = np.random.default_rng(seed)
    held = random.integers(0, 65536, 65536, dtype=np.uint16)
    for one in list(of.entries.values())[seed % 2 :: 2]:
        if one.type is not RegisterType.STRING and one.clock is None:
            start = one.address * (2 if one.wide else 1) % (65536 - one.words)
            number = Decimal(int(random.integers(0, 9)))
            held[start : start + one.words] = encode(number, one, one.order)
    return held


MAPS = [name for name in library.names() if channels_of(library.load(name))]


@pytest.mark.parametrize("name", MAPS)
def test_every_map_gives_what_value_by_value_gives(name: str) -> None:
    of = replace(library.load(name), base_open=False)
    untimed = {n: replace(e, time_register=None) for n, e in of.entries.items()}
    of = replace(of, entries=untimed)
    planned = InstrumentPlan(
        instrument=replace(instrument(1), order="CDAB"), channels=channels_of(of)
    )
    plans = Plans()
    rows, right = [], []
    for seed in range(6):
        one = Unit(planned, of, plans)
        held = held_by(of, seed)
        ask, said = asked(one, Memory(held))
        assert not said.errors
        rows.append(said.row)
        right += alone(one, held, {})
    found = one_by_one([one], readings(ask.alike, rows))
    assert found == right
    refused = next(iter(ask.alike.wanted)).entry
    place = frozenset(range(refused.address, refused.address + max(1, refused.words)))
    ask, said = asked(one, Memory(held, place))
    lost = {e.name: Quality.EXCEPTION for e in ask.alike.entries if _lies_on(e, place)}
    assert one_by_one([one], readings(ask.alike, [said.row])) == alone(one, held, lost)


def _lies_on(one: object, place: frozenset[int]) -> bool:
    return bool(place & set(range(one.address, one.end)))


SCALED = mapped(
    entry("level", 0, unit="ft", exponent_register="power"),
    entry("power", 1, type="int16", kind="config", unit=None),
    entry("total", 2, type="uint32", order="ABCD", unit="gal", multiplier_register="times"),
    entry("times", 4, kind="config", unit=None),
)


def scaled(first: int) -> Unit:
    level = replace(channel(first, "level"), unit=Measure.FT, parameter=Parameter.LEVEL)
    total = replace(channel(first + 1, "total"), unit=Measure.GAL, parameter=Parameter.VOLUME)
    planned = InstrumentPlan(instrument=instrument(1), channels=(level, total))
    return Unit(planned, SCALED, PLANS)


PLANS = Plans()


def test_instruments_that_scale_their_values_differently_are_decoded_together() -> None:
    units = [scaled(1), scaled(11), scaled(21)]
    links = [
        Registers({0: 123, 1: 0xFFFF, 2: 0, 3: 7, 4: 10}),
        Registers({0: 123, 1: 0xFFFE, 2: 1, 3: 7, 4: 1}),
        Registers({0: 123, 1: 0, 2: 0, 3: 7, 4: 0}),  # a multiplier of zero is none
    ]
    asks = [asked(one, link) for one, link in zip(units, links, strict=True)]
    assert len({ask.alike for ask, _ in asks}) == 1
    found = one_by_one(units, readings(asks[0][0].alike, [said.row for _, said in asks]))
    assert [r.value for r in found] == [12.3, 70.0, 1.23, 65543.0, 123.0, None]
    assert found[-1].quality is Quality.NOT_FINITE
    assert [r.channel_id for r in found] == [1, 2, 11, 12, 21, 22]


def test_a_scale_that_was_not_read_leaves_no_value_and_its_reason() -> None:
    one = scaled(1)

    def refused(block: Block) -> LinkError | None:
        return (
            Refused("unit 1", 2) if 1 in range(block.address, block.address + block.count) else None
        )

    ask, said = asked(one, Registers({0: 123, 2: 0, 3: 7, 4: 10}, refused=refused))
    level, total = one_by_one([one], readings(ask.alike, [said.row]))
    assert (level.value, level.quality, level.words) == (None, Quality.EXCEPTION, (123,))
    assert (total.value, total.quality) == (70.0, Quality.GOOD)


def test_an_unread_value_has_neither_words_nor_a_stale_mark() -> None:
    one = unit(1, mapped(PH, needs_write=True))
    ask, said = asked(one, Registers({}, moods=[NoAnswer("silence")]))
    (found,) = one_by_one([one], readings(ask.alike, [said.row]))
    assert (found.value, found.quality, found.words) == (None, Quality.NO_ANSWER, ())


def test_slots_that_were_not_read_are_readings_with_the_reason() -> None:
    ids = np.array([5, 6], np.int32)
    rows = [Blank(ids, SLOT, 3, Quality.NOT_READ), Blank(ids[:1], SLOT + 1, 0, Quality.NO_ANSWER)]
    made = blanks(rows)
    assert made.channel_id.tolist() == [5, 6, 5]
    assert made.at_us.tolist() == [SLOT, SLOT, SLOT + 1]
    assert made.quality.tolist() == [16384, 16384, 1]
    assert made.offset_ms.tolist() == [3, 3, 0]
    assert not made.has_value.any()


def test_what_is_asked_alike_is_worked_out_once_and_forgotten_with_its_last_user() -> None:
    plans, of = Plans(), mapped(PH)
    planned = InstrumentPlan(instrument=instrument(1), channels=(channel(1, "ph"),))
    other = InstrumentPlan(
        instrument=instrument(2), channels=(channel(2, "ph"), channel(3, "ph", interval_ms=5000))
    )
    one, two = Unit(planned, of, plans), Unit(other, of, plans)
    assert one.asks[1000].alike is two.asks[1000].alike
    assert two.asks[5000].alike is not two.asks[1000].alike
    del one, two
    assert len(plans._known) == 0


def test_batches_joined_are_their_readings_one_after_another() -> None:
    def some(*seconds: int) -> list[Reading]:
        return [
            Reading(channel_id=1, read_at=from_us(SLOT + s), value=float(s), unit=Measure.SU)
            for s in seconds
        ]

    both = joined([from_readings(some(1, 2)), from_readings(some(3))])
    assert both.value.tolist() == [1.0, 2.0, 3.0]
    assert both.part(slice(1, 3)).value.tolist() == [2.0, 3.0]
    assert len(joined([])) == 0
