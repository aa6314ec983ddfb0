"""Answers wait some milliseconds for others; none of them is lost on the way to the spool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from compliance.errors import StorageError
from compliance.model.readings import Quality, Reading
from compliance.records.batch import ReadingBatch
from ingest import gather as gather_module
from ingest.gather import Gather
from ingest.poll import Watch
from ingest.schedule import Round
from ingest.tick import Row
from ingest.unit import Unit
from tests.support.faulty import Scripted
from tests.support.polling import PH, gateway_at, gathered, mapped, told, unit

OF = mapped(PH)


def row(one: Unit, *words: int, slot: int = 1) -> tuple[object, Row]:
    (ask,) = one.asks.values()
    return ask.alike, Row(ask.ids, slot * 1_000_000, 0, words)


def played(work: Callable, sink: Callable, **more: object) -> Gather:
    one = unit(1, OF)

    async def play() -> Gather:
        gather = gathered([one], sink, **more)
        await work(gather, one)
        return gather

    return asyncio.run(play())


def test_what_comes_within_some_milliseconds_is_handed_over_at_once() -> None:
    found: list[list[Reading]] = []

    async def work(gather: Gather, one: Unit) -> None:
        for slot in (1, 2, 3):
            gather.row(*row(one, 700 + slot, slot=slot))
        assert found == []
        await asyncio.sleep(5 * gather_module.SECONDS)

    played(work, found.append)
    assert [told(each) for each in found] == [[7.01, 7.02, 7.03]]


def test_many_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather_module, "MOST_ROWS", 2)
    found: list[list[Reading]] = []

    async def work(gather: Gather, one: Unit) -> None:
        for slot in (1, 2, 3):
            gather.row(*row(one, 712, slot=slot))
        assert [len(each) for each in found] == [2]
        gather.flush()

    played(work, found.append)
    assert [len(each) for each in found] == [2, 1]


def test_a_gateway_that_is_let_go_hands_over_what_it_read() -> None:
    found: list[Reading] = []
    one = unit(1, OF, interval_ms=60_000)

    async def poll() -> None:
        async with Scripted(lambda a: [712]) as server:
            gather = gathered([one], found.extend)
            watching = Watch(gateway_at(server.endpoint), [one], gather)
            task = asyncio.create_task(watching.run())
            await asyncio.sleep(0)
            await watching.round(Round(interval=60_000, slot=60_000, skipped=()))
            assert found == []
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(poll())
    assert told(found) == [7.12]


def test_a_cancellation_that_a_wait_below_swallowed_ends_the_polling_all_the_same() -> None:
    one = unit(1, OF, interval_ms=100)
    asked = one.round

    async def swallowing(*args: object, **more: object):
        said = await asked(*args, **more)
        try:
            await asyncio.sleep(0.5)
        except asyncio.CancelledError:
            return said
        return said

    one.round = swallowing

    async def poll() -> bool:
        async with Scripted(lambda a: [712]) as server:
            watching = Watch(gateway_at(server.endpoint), [one], gathered([one], list))
            task = asyncio.create_task(watching.run())
            await asyncio.sleep(0.3)
            task.cancel()
            done, _ = await asyncio.wait([task], timeout=5)
            return bool(done)

    assert asyncio.run(poll())


def test_a_spool_that_refuses_is_a_state_until_it_takes_again() -> None:
    taken: list[Reading] = []
    refusals = [StorageError("full")]
    states: list[str] = []

    def sink(readings: list[Reading]) -> None:
        if refusals:
            raise refusals.pop()
        taken.extend(readings)

    async def work(gather: Gather, one: Unit) -> None:
        for slot in (1, 2):
            gather.row(*row(one, 712, slot=slot))
            gather.flush()
            states.append(gather.state)

    played(work, sink)
    assert states == ["full", ""]
    assert [r.read_at.timestamp() for r in taken] == [2.0]  # the spool tells of the other itself


def test_after_a_fault_of_the_sink_readings_are_handed_over_again() -> None:
    taken: list[Reading] = []
    faults: list[str] = []
    failures = [RuntimeError("a fault of ours")]

    def sink(readings: list[Reading]) -> None:
        if failures:
            raise failures.pop()
        taken.extend(readings)

    async def work(gather: Gather, one: Unit) -> None:
        gather.row(*row(one, 712))
        gather.flush()
        assert taken == []
        gather.flush()

    played(work, sink, fault=faults.append)
    assert told(taken) == [7.12]
    assert faults == ["spool: RuntimeError: a fault of ours"]


def test_words_that_cannot_be_decoded_cost_only_their_own_reading() -> None:
    found: list[Reading] = []
    faults: list[str] = []

    async def work(gather: Gather, one: Unit) -> None:
        for slot, word in enumerate((712, -1, 713), 1):
            gather.row(*row(one, word, slot=slot))
        gather.flush()

    played(work, found.extend, fault=faults.append)
    assert told(found) == [7.12, Quality.BAD_REPLY, 7.13]
    assert len(faults) == 1
    assert faults[0].startswith("map test: OverflowError")


def test_readings_are_handed_over_oldest_slot_first() -> None:
    batches: list[ReadingBatch] = []
    one, other = unit(1, OF), unit(2, mapped(PH), first=2)

    async def play() -> None:
        gather = Gather(batches.append)
        for slot in (1, 2):
            for each in (one, other):
                gather.row(*row(each, 700, slot=slot))
        gather.flush()

    asyncio.run(play())
    (made,) = batches
    assert made.at_us.tolist() == [1_000_000] * 2 + [2_000_000] * 2
    assert made.channel_id.tolist() == [1, 2, 1, 2]
