"""What tests of the poller share: small register maps, units, watches, and rounds of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from compliance.model.endpoints import Endpoint, Transport
from compliance.model.parameters import Parameter
from compliance.model.periods import from_us
from compliance.model.readings import Quality, Reading
from compliance.model.register_map import RegisterMap, register_map
from compliance.model.sites import Channel, Gateway, Instrument
from compliance.model.units import Unit as Measure
from compliance.records.batch import ReadingBatch, unpack_words
from compliance.records.sites import InstrumentPlan
from ingest.errors import LinkError
from ingest.gather import Gather
from ingest.plan import Block
from ingest.poll import Watch
from ingest.schedule import Round
from ingest.unit import Unit


def entry(name: str, address: int, **more: object) -> dict[str, object]:
    return {
        "name": name,
        "table": "holding",
        "address": address,
        "printed": f"{40001 + address}",
        "type": "uint16",
        "unit": "s.u.",
        "evidence": "manual",
        **more,
    }


def mapped(*entries: dict[str, object], **top: object) -> RegisterMap:
    document = {
        "name": "test",
        "vendor": "v",
        "model": "m",
        "role": "r",
        "document": "d",
        "sources": ["s"],
        "quirks": [],
        "entries": list(entries),
        **top,
    }
    return register_map(document, file="test.yaml")


PH = entry("ph", 0, scale="0.01", missing=[0xFFFF])


def instrument(number: int, *, map_name: str = "test") -> Instrument:
    return Instrument(
        id=number,
        gateway_id=1,
        unit_id=number,
        map_name=map_name,
        order=None,
        confirmed_by=None,
        confirmed_at=None,
    )


def channel(number: int, name: str, *, interval_ms: int = 1000) -> Channel:
    return Channel(
        id=number,
        point_id=1,
        instrument_id=1,
        entry=name,
        parameter=Parameter.PH,
        unit=Measure.SU,
        resolution="0.01",
        interval_ms=interval_ms,
        span_low=None,
        span_high=None,
        modulus=None,
    )


def unit(number: int, found: RegisterMap, *, interval_ms: int = 1000, first: int = 1) -> Unit:
    names = [name for name, each in found.entries.items() if each.unit is not None]
    channels = tuple(
        channel(first + i, name, interval_ms=interval_ms) for i, name in enumerate(names)
    )
    return Unit(InstrumentPlan(instrument=instrument(number), channels=channels), found)


def gateway_at(place: Endpoint, *, name: str = "g", options: str = "") -> Gateway:
    transport = place.transport.value
    if place.transport is not Transport.TCP:
        mode = f"&mode={place.protocol.value}" if place.transport is Transport.SERIAL else ""
        options = f"baud={place.baud}{mode}&{options}"
    return Gateway(
        id=1, name=name, host=place.host, port=place.port, transport=f"{transport}?{options}"
    )


def gathered(units: Sequence[Unit], sink: Callable, **more: object) -> Gather:
    """What the units answer, handed on one reading at a time."""
    return Gather(lambda made: sink(one_by_one(units, made)), **more)


def one_by_one(units: Sequence[Unit], made: ReadingBatch) -> list[Reading]:
    """A batch as single readings with the registers as they came."""
    known = {
        each.id: (each.unit, wanted.entry.words)
        for one in units
        for ask in one.asks.values()
        for each, wanted in zip(ask.channels, ask.alike.wanted, strict=True)
    }
    found = []
    for at in range(len(made)):
        of, words = known[int(made.channel_id[at])]
        found.append(
            Reading(
                channel_id=int(made.channel_id[at]),
                read_at=from_us(made.at_us[at]),
                value=float(made.value[at]) if made.has_value[at] else None,
                unit=of,
                quality=Quality(int(made.quality[at])),
                words=unpack_words(int(made.words[at]), words) if made.has_words[at] else (),
                offset_ms=int(made.offset_ms[at]),
                device_offset_ms=(
                    int(made.device_offset_ms[at]) if made.has_device_offset[at] else None
                ),
            )
        )
    return found


def watch(place: Endpoint, units: Sequence[Unit], sink: Callable, **more: object) -> Watch:
    return Watch(gateway_at(place), units, gathered(units, sink), **more)


def rounds(gateway, units: Sequence[Unit], count: int) -> list[Reading]:
    """The readings of slots 1 s, 2 s … polled as fast as they go."""
    found: list[Reading] = []

    async def poll() -> None:
        async with gateway:
            watching = watch(gateway.endpoint, units, found.extend)
            for slot in range(1, count + 1):
                await watching.round(Round(interval=1000, slot=1000 * slot, skipped=()))
            watching.close()

    asyncio.run(poll())
    return found


def told(readings: Sequence[Reading]) -> list[float | Quality]:
    return [r.quality if r.value is None else r.value for r in readings]


def one_after_another(answers: Sequence[object]) -> Callable[[object], object]:
    left = list(answers)
    return lambda asked: left.pop(0)


class Registers:
    """A link to an instrument that holds some registers. moods: errors that come first, in turn.

    most: registers it answers in one request; more bring exception 3, absent ones exception 2.
    """

    def __init__(
        self,
        held: dict[int, int],
        *,
        moods: Sequence[LinkError] = (),
        refused: Callable[[Block], LinkError | None] = lambda block: None,
    ) -> None:
        self.held, self.moods, self.refused = held, list(moods), refused
        self.asked: list[tuple[int, int]] = []

    async def read(self, unit: int, block: Block, wire: object) -> tuple[int, ...]:
        self.asked.append((block.address, block.count))
        if self.moods:
            raise self.moods.pop(0)
        error = self.refused(block)
        if error is not None:
            raise error
        return tuple(self.held[a] for a in range(block.address, block.address + block.count))
