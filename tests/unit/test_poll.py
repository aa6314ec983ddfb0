"""Rounds of a gateway against scripted instruments: every slot gets a reading or its reason."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from compliance.errors import InputError, StorageError
from compliance.model.readings import Quality, Reading
from compliance.records.sites import InstrumentPlan
from ingest.poll import Watch
from ingest.schedule import Round
from ingest.unit import Unit
from tests.support.polling import (
    PH,
    entry,
    gateway_at,
    gathered,
    instrument,
    mapped,
    one_after_another,
    rounds,
    told,
    unit,
    watch,
)


def case(shared: Path, id: str) -> dict:
    cases = json.loads((shared / "cases" / "field_reports.json").read_text())
    return next(c for c in cases if c["id"] == id)


def test_ing_07_a_sensor_fault_is_missing_and_never_the_last_good_value(scripted, shared) -> None:
    polls = [int(p.split()[0], 16) for p in case(shared, "ING-07")["input"]["polls"]]
    gateway = scripted(one_after_another([[word] for word in polls]))
    assert told(rounds(gateway, [unit(2, mapped(PH))], 5)) == [
        7.12,
        *[Quality.MISSING_MARK] * 3,
        7.2,
    ]


def test_ing_09_a_busy_instrument_is_asked_again_and_never_stored_as_zero(scripted) -> None:
    gateway = scripted(one_after_another([[740], 6, 6, 6, [750], 6, 6, [760]]))
    readings = rounds(gateway, [unit(2, mapped(PH))], 4)
    assert told(readings) == [7.4, Quality.EXCEPTION, 7.5, 7.6]


def test_ing_11_one_unreadable_register_does_not_lose_the_block(scripted, shared) -> None:
    tags = case(shared, "ING-11")["input"]["tags"]
    found = mapped(*(entry(f"t{a}", a, printed="x") for a in [*tags, 11175]))

    def script(asked):
        covers = range(asked.address, asked.address + asked.count)
        return 2 if 11175 in covers else [a - 11000 for a in covers]

    gateway = scripted(script)
    readings = rounds(gateway, [unit(1, found)], 2)
    assert told(readings) == [174.0, 176.0, 177.0, Quality.EXCEPTION] * 2
    second = [a.address for a in gateway.asked][-2:]
    assert second == [11174, 11176]  # the hole is left alone in the next round


def test_ing_14_another_units_number_is_not_stored(scripted, reply) -> None:
    gateway = scripted(lambda a: reply(a, [0x0190], unit=3))
    assert told(rounds(gateway, [unit(2, mapped(PH))], 1)) == [Quality.BAD_REPLY]


def test_ing_15_a_vanished_gateway_leaves_a_marked_gap_and_is_back_at_once(scripted) -> None:
    gateway = scripted(lambda a: [712])
    device = unit(2, mapped(PH))
    found: list[Reading] = []

    async def poll() -> None:
        async def slot(number: int) -> None:
            await watching.round(Round(interval=1000, slot=1000 * number, skipped=()))

        async with gateway:
            watching = watch(gateway.endpoint, [device], found.extend)
            await slot(1)
            gateway.script = lambda a: None  # half open: nothing comes, nothing is closed
            for number in (2, 3, 4):
                await slot(number)
            gateway.script = lambda a: [713]
            for number in (5, 6):
                await slot(number)
            watching.close()

    asyncio.run(poll())
    assert told(found) == [7.12, *[Quality.NO_ANSWER] * 3, 7.13, 7.13]


def test_a_silent_unit_costs_the_others_nothing_and_its_slots_are_flagged(scripted) -> None:
    gateway = scripted(lambda a: None if a.unit == 1 else [712])
    units = [unit(1, mapped(PH), first=10), unit(2, mapped(PH), first=20)]
    readings = rounds(gateway, units, 6)
    by_unit = {c: told([r for r in readings if r.channel_id == c]) for c in (10, 20)}
    assert by_unit == {10: [Quality.NO_ANSWER] * 6, 20: [7.12] * 6}
    assert sum(a.unit == 1 for a in gateway.asked) == 2  # then it is left alone for a while
    assert [a.unit for a in gateway.asked][:4] == [1, 2, 2, 1]  # and asked last


def test_where_all_units_are_silent_one_is_asked_at_each_slot(scripted) -> None:
    gateway = scripted(lambda a: None)
    units = [unit(n, mapped(PH), first=10 * n) for n in (1, 2, 3)]
    readings = rounds(gateway, units, 4)
    assert told(readings) == [Quality.NO_ANSWER] * 12
    assert [a.unit for a in gateway.asked] == [1, 2, 3, 1, 2, 3]


def test_no_gateway_means_flagged_readings(scripted) -> None:
    gateway = scripted(lambda a: "close")
    first, *_ = told(rounds(gateway, [unit(2, mapped(PH))], 1))
    assert first is Quality.NOT_CONNECTED


def test_a_status_that_cannot_be_read_leaves_the_value_in_doubt(scripted) -> None:
    found = mapped(
        entry("ph", 0, scale="0.01", status="state"),
        {"name": "state", "table": "holding", "address": 9, "printed": "40010", "type": "uint16",
         "kind": "status", "quality": {0: "good", "other": "bad"}, "evidence": "manual"},
    )  # fmt: skip
    gateway = scripted(one_after_another([[712], [0], [712], [1], [712], 4]))
    readings = rounds(gateway, [unit(2, found)], 3)
    assert [r.quality for r in readings] == [
        Quality.GOOD,
        Quality.STATUS_BAD,
        Quality.STATUS_UNCERTAIN,
    ]
    assert {r.value for r in readings} == {7.12}


def test_missed_slots_are_flagged_not_read(scripted) -> None:
    found: list[Reading] = []

    async def poll() -> None:
        async with scripted(lambda a: [712]) as gateway:
            watching = watch(gateway.endpoint, [unit(2, mapped(PH))], found.extend)
            await watching.round(Round(interval=1000, slot=3000, skipped=(1000, 2000)))
            watching.close()

    asyncio.run(poll())
    assert told(found) == [Quality.NOT_READ, Quality.NOT_READ, 7.12]
    assert found[-1].words == (712,)


def test_a_spool_that_refuses_does_not_end_the_polling(scripted) -> None:
    taken: list[Reading] = []

    def full_once(readings: Sequence[Reading]) -> None:
        if not taken and readings[0].read_at.second == 1:
            raise StorageError("full")
        taken.extend(readings)

    async def poll() -> dict[str, str]:
        async with scripted(lambda a: [712]) as gateway:
            one = unit(2, mapped(PH))
            gather = gathered([one], full_once)
            watching = Watch(gateway_at(gateway.endpoint), [one], gather)
            await watching.round(Round(interval=1000, slot=1000, skipped=()))
            gather.flush()
            faults = watching.faults
            await watching.round(Round(interval=1000, slot=2000, skipped=()))
            watching.close()
            return faults

    assert asyncio.run(poll()) == {"spool": "full"}
    assert told(taken) == [7.12]


def test_it_keeps_the_grid_of_the_clock(scripted) -> None:
    found: list[Reading] = []

    async def poll() -> None:
        async with scripted(lambda a: [712]) as gateway:
            device = unit(2, mapped(PH), interval_ms=100)
            task = asyncio.create_task(watch(gateway.endpoint, [device], found.extend).run())
            while len(found) < 4:
                await asyncio.sleep(0.02)
            task.cancel()

    asyncio.run(poll())
    assert {r.read_at.microsecond % 100_000 for r in found} == {0}
    assert len({r.read_at for r in found}) == len(found)
    assert all(r.offset_ms >= 0 for r in found)


def test_a_channel_without_its_entry_is_refused_by_name() -> None:
    found = mapped(PH)
    planned = unit(2, found)
    (channel,) = planned.channels
    with pytest.raises(InputError, match=r"no entry 'ph'; expected one of orp"):
        Unit(InstrumentPlan(instrument=instrument(2), channels=(channel,)), mapped(entry("orp", 3)))
