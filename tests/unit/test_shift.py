"""Which gateways are polled, as what a worker holds changes, and the gaps that leaves."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from compliance.model.gaps import HANDED_OVER, SET_UP, SUSPENDED, WORKER_DOWN, Gap
from compliance.model.parameters import Parameter
from compliance.model.periods import to_us
from compliance.model.sites import Channel, Gateway, Instrument
from compliance.model.units import Unit
from compliance.records import batch
from compliance.records.sites import GatewayPlan, InstrumentPlan
from ingest import worker
from ingest.holding import Holding, Kept, Maps
from ingest.office import Clerk, Office
from ingest.outlet import Lane
from ingest.shift import Shift
from ingest.spool import Spool

MAP = """
name: meter
vendor: v
model: m
role: r
document: d
sources: [s]
quirks: []
entries:
  - {name: ph, table: holding, address: 0, printed: "40001", type: uint16, scale: "0.01",
     unit: s.u., evidence: manual}
  - {name: cond, table: holding, address: 1, printed: "40002", type: uint16,
     unit: mS/cm, evidence: manual}
"""
HOUR = 3_600_000_000


def channel(number: int, entry: str = "ph", interval_ms: int = 60_000) -> Channel:
    parameter, unit = {
        "ph": (Parameter.PH, Unit.SU),
        "cond": (Parameter.CONDUCTIVITY, Unit.MS_CM),
    }[entry]
    return Channel(
        id=number,
        point_id=1,
        instrument_id=number,
        entry=entry,
        parameter=parameter,
        unit=unit,
        resolution="0.01",
        interval_ms=interval_ms,
        span_low=None,
        span_high=None,
        modulus=None,
    )


def plan(number: int, *channels: Channel, map_name: str = "meter") -> GatewayPlan:
    instrument = Instrument(
        id=number,
        gateway_id=number,
        unit_id=1,
        map_name=map_name,
        order=None,
        confirmed_by=None,
        confirmed_at=None,
    )
    return GatewayPlan(
        gateway=Gateway(id=number, name=f"g{number}", host="127.0.0.1", port=9),
        instruments=(InstrumentPlan(instrument=instrument, channels=channels),),
    )


Work = Callable[[Shift], Awaitable[None]]


class Stage:
    """A shift on a real spool."""

    def __init__(self, home: Path) -> None:
        (home / "maps").mkdir()
        (home / "maps" / "meter.yaml").write_text(MAP)
        self.home = home
        self.faults: list[str] = []
        self.spool = Spool(home / "w", worker="w", now=lambda: datetime.now(UTC))

    def play(self, work: Work) -> list[Gap]:
        """Do something to a shift; the gaps that came of it."""

        async def whole() -> None:
            shift = Shift(self.spool, Maps(self.home), fault=self.faults.append)
            try:
                await work(shift)
                await asyncio.sleep(0.01)
            finally:
                await shift.end()

        asyncio.run(whole())
        self.spool.commit()
        frames = [one.frame for one in self.spool.outlet.take(Lane.BACKLOG)]
        return [batch.gap_of(one) for one in frames if one and one.kind is batch.Kind.GAP]


@pytest.fixture
def stage(tmp_path: Path):
    made = Stage(tmp_path)
    yield made
    made.spool.close()


def now_us() -> int:
    return to_us(datetime.now(UTC))


def test_what_came_before_the_first_slot_is_a_gap_of_the_channels_that_miss_one(stage) -> None:
    before = now_us()
    last = {1: before - HOUR, 2: before - HOUR, 3: before - 1_000_000}

    async def start(shift: Shift) -> None:
        one = plan(1, channel(1), channel(2, "cond"), channel(3), channel(4))
        await shift.take(Holding(plans=(one,), last=last))
        assert shift.gateways == 1

    (gap,) = stage.play(start)
    assert (gap.channels, gap.since_us, gap.cause) == ((1, 2), before - HOUR + 1, WORKER_DOWN)
    assert before < gap.until_us <= now_us() + 1


def test_the_cause_tells_how_a_gateway_came_to_be_polled(stage) -> None:
    last = {n: now_us() - HOUR for n in range(1, 4)}
    first, claimed, handed = (plan(n, channel(n)) for n in (1, 2, 3))

    async def change(shift: Shift) -> None:
        await shift.take(Holding(plans=(first,), last=last))
        await asyncio.sleep(0.01)
        more = (first, claimed, handed)
        await shift.take(Holding(plans=more, last=last, claimed=frozenset({2})))
        await asyncio.sleep(0.01)
        moved = replace(first, gateway=replace(first.gateway, port=10))
        await shift.take(Holding(plans=(moved, claimed, handed), last=last))

    gaps = stage.play(change)
    assert [(gap.channels, gap.cause) for gap in gaps] == [
        ((1,), WORKER_DOWN),
        ((2,), WORKER_DOWN),
        ((3,), HANDED_OVER),
        ((1,), SET_UP),
    ]


def test_what_is_no_longer_held_is_no_longer_polled(stage) -> None:
    plans = tuple(plan(n, channel(n)) for n in (1, 2, 3))

    async def shrink(shift: Shift) -> None:
        await shift.take(Holding(plans=plans))
        await shift.take(Holding(plans=plans[:2]))
        assert shift.gateways == 2
        assert await shift.drop(1) == [2]
        assert shift.gateways == 1

    stage.play(shrink)


def test_a_gateway_whose_map_is_absent_is_named_and_the_others_are_polled(stage) -> None:
    bad, good = plan(1, channel(1), map_name="nowhere"), plan(2, channel(2))

    async def start(shift: Shift) -> None:
        await shift.take(Holding(plans=(bad, good)))
        assert shift.gateways == 1
        assert "no register map 'nowhere'" in shift.states["g1"]["set-up"]

    stage.play(start)
    assert [fault[:30] for fault in stage.faults] == ["gateway g1 cannot be polled: t"]


def test_channels_that_only_explain_others_are_told_to_the_spool(stage) -> None:
    async def start(shift: Shift) -> None:
        await shift.take(Holding(plans=(plan(1, channel(1), channel(2, "cond")),)))

    stage.play(start)
    assert stage.spool.thinner.diagnostic == {2}


def test_a_worker_that_was_held_up_says_so(stage) -> None:
    async def suspend(shift: Shift) -> None:
        shift.held_up(since_us=1, until_us=2)
        await shift.take(Holding(plans=(plan(1, channel(1)), plan(2, channel(2)))))
        shift.held_up(since_us=5, until_us=9)

    assert stage.play(suspend) == [Gap(channels=(1, 2), since_us=5, until_us=9, cause=SUSPENDED)]


def test_what_was_polled_is_known_again_and_a_damaged_file_is_nothing(tmp_path: Path) -> None:
    plans = (plan(1, channel(1), channel(2, "cond")),)
    Kept(tmp_path).write(plans)
    assert Kept(tmp_path).read() == plans
    path = tmp_path / "polled"
    path.write_bytes(path.read_bytes().replace(b"127.0.0.1", b"127.0.0.2"))
    assert Kept(tmp_path).read() == ()
    path.unlink()
    assert Kept(tmp_path).read() == ()


def test_what_is_polled_is_left_out_of_the_collection_of_garbage(stage) -> None:
    clerk = Clerk(cast("Office", None), told=lambda holding: None)

    async def follow(shift: Shift) -> None:
        holdings: asyncio.Queue[Holding] = asyncio.Queue()
        holdings.put_nowait(Holding(plans=(plan(1, channel(1)),)))
        following = worker._follow(holdings, shift, clerk, Kept(stage.home))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(following, 0.5)
        assert shift.gateways == 1

    gc.unfreeze()
    try:
        stage.play(follow)
        assert gc.get_freeze_count() > 1000
    finally:
        gc.unfreeze()
