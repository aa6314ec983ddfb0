"""One gateway over time: who is away costs the others nothing, and nothing stops the polling."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from compliance.model.endpoints import Endpoint
from compliance.model.readings import Quality, Reading
from ingest.own_clock import Moment, OwnClock
from ingest.poll import Watch, timeout_seconds
from ingest.schedule import Round
from tests.support.faulty import ASCII, CLOSE, RTU, TCP, Late, Scripted, ScriptedLine
from tests.support.polling import PH, entry, gateway_at, gathered, mapped, told, unit, watch

HOUR = 3_600_000


class SetClock(OwnClock):
    """This machine's clocks, as if somebody had set one of them by so many ms."""

    set_by = 0

    def now(self) -> Moment:
        moment = super().now()
        return Moment(moment.wall + self.set_by, moment.steady)


def by_channel(readings: Sequence[Reading]) -> dict[int, list[float | Quality]]:
    channels = sorted({r.channel_id for r in readings})
    return {c: told([r for r in readings if r.channel_id == c]) for c in channels}


def run(
    server, work: Callable, *numbers: int, of=None, **more: object
) -> tuple[list[Reading], Watch]:
    """What units with these numbers, each a channel of that number, bring while work is done."""
    found: list[Reading] = []

    async def poll() -> Watch:
        async with server:
            units = [unit(n, of or mapped(PH), first=n) for n in numbers]
            watching = watch(server.endpoint, units, found.extend, **more)
            try:
                await work(watching)
            finally:
                watching.close()
            return watching

    watching = asyncio.run(poll())
    return found, watching


def slots(*numbers: int) -> Callable:
    async def work(watching: Watch) -> None:
        for number in numbers:
            await watching.round(Round(interval=1000, slot=1000 * number, skipped=()))

    return work


def test_t1_one_unit_off_leaves_the_others_good_in_the_same_cycle() -> None:
    server = Scripted(lambda a: None if a.unit == 2 else [712])
    found, _ = run(server, slots(1), 1, 2, 3)
    assert by_channel(found) == {1: [7.12], 2: [Quality.NO_ANSWER], 3: [7.12]}


@pytest.mark.parametrize("code", [6, 10, 11])
def test_t1_one_unit_that_is_busy_or_away_leaves_the_others_good(code: int) -> None:
    server = Scripted(lambda a: code if a.unit == 2 else [712])
    found, _ = run(server, slots(1), 1, 2, 3)
    assert by_channel(found) == {1: [7.12], 2: [Quality.EXCEPTION], 3: [7.12]}


def test_t4_a_timeout_of_one_unit_leaves_the_queue_of_the_others() -> None:
    server = Scripted(lambda a: None if a.unit == 2 else [700 + a.unit])
    found, _ = run(server, slots(1, 2, 3), 2, 3, 4)
    assert by_channel(found) == {2: [Quality.NO_ANSWER] * 3, 3: [7.03] * 3, 4: [7.04] * 3}


def test_t2_a_unit_that_returns_is_read_within_one_back_off() -> None:
    server = Scripted(lambda a: None if a.unit == 2 else [712])

    async def work(watching: Watch) -> None:
        await slots(1, 2, 3)(watching)
        server.script = lambda a: [712]
        await asyncio.sleep(1.05)  # the first wait is one interval
        await slots(4)(watching)

    found, watching = run(server, work, 1, 2)
    assert by_channel(found)[2] == [Quality.NO_ANSWER] * 3 + [7.12]
    assert watching.faults == {}


def test_several_dead_units_are_asked_one_in_a_round_and_ever_more_rarely() -> None:
    server = Scripted(lambda a: None if a.unit > 3 else [712])

    async def work(watching: Watch) -> None:
        for number in range(1, 15):
            before = Counter(a.unit for a in server.asked)
            await slots(number)(watching)
            asked = Counter(a.unit for a in server.asked) - before
            if number > 1:
                assert sum(n for u, n in asked.items() if u > 3) <= 1
            await asyncio.sleep(0.02)

    found, _ = run(server, work, *range(1, 7))
    assert {tuple(by_channel(found)[c]) for c in (1, 2, 3)} == {(7.12,) * 14}
    assert {tuple(by_channel(found)[c]) for c in (4, 5, 6)} == {(Quality.NO_ANSWER,) * 14}
    assert sum(a.unit > 3 for a in server.asked) < 10


def test_dead_units_cost_the_others_of_their_line_no_slots() -> None:
    server = Scripted(lambda a: None if a.unit > 2 else [712])

    async def work(watching: Watch) -> None:
        task = asyncio.create_task(watching.run())
        await asyncio.sleep(6)
        task.cancel()

    found, _ = run(server, work, 1, 2, 3, 4, of=mapped(PH))
    for number in (1, 2):
        assert by_channel(found)[number] == [7.12] * len(by_channel(found)[number])
        assert len(by_channel(found)[number]) >= 5


def test_t7_a_gateway_that_restarts_is_read_again_without_a_restart_of_ours() -> None:
    server = Scripted(lambda a: [712])

    async def work(watching: Watch) -> None:
        await slots(1)(watching)
        server.script = lambda a: CLOSE
        await slots(2)(watching)
        server.script = lambda a: [713]
        await slots(3)(watching)

    found, watching = run(server, work, 1)
    assert told(found) == [7.12, Quality.NOT_CONNECTED, 7.13]
    assert watching.faults == {}


def test_t7_a_connection_lost_under_a_request_is_opened_again_for_it() -> None:
    server = Scripted(lambda a: [712])

    def reset_once(asked):
        server.script = lambda a: [713]
        return CLOSE

    async def work(watching: Watch) -> None:
        await slots(1)(watching)
        server.script = reset_once
        await slots(2)(watching)

    found, _ = run(server, work, 1)
    assert told(found) == [7.12, 7.13]


def test_ing_15_a_single_silence_of_the_only_unit_is_enough_to_connect_anew() -> None:
    server = Scripted(lambda a: [712])

    async def work(watching: Watch) -> None:
        await slots(1)(watching)
        server.script = lambda a: None if server.connections == 1 else [713]
        await slots(2, 3)(watching)

    found, _ = run(server, work, 1)
    assert told(found) == [7.12, Quality.NO_ANSWER, 7.13]


def test_a_first_connect_that_fails_is_repeated_at_once() -> None:
    refused = Scripted(lambda a: [712])

    async def work() -> list[Reading]:
        async with refused:
            place = refused.endpoint
        found: list[Reading] = []
        watching = watch(place, [unit(n, mapped(PH), first=n) for n in (1, 2)], found.extend)
        back = Scripted(lambda a: [712])
        back.port = place.port
        await slots(1)(watching)
        async with back:
            await asyncio.sleep(0.3)
            await slots(2)(watching)
        watching.close()
        return found

    assert told(asyncio.run(work())) == [Quality.NOT_CONNECTED] * 2 + [7.12] * 2


@pytest.mark.parametrize(
    "server",
    [
        lambda script: Scripted(script, RTU),
        lambda script: Scripted(script, ASCII),
        lambda script: ScriptedLine(script, RTU),
        lambda script: ScriptedLine(script, ASCII),
    ],
    ids=["rtu over tcp", "ascii over tcp", "serial rtu", "serial ascii"],
)
def test_a_silent_unit_on_a_line_without_transactions_never_gives_its_answer_to_another(
    server,
) -> None:
    line = server(lambda a: Late(0.5, [999]) if a.unit == 2 else [712])
    found, _ = run(line, slots(1, 2, 3), 1, 2, 3)
    values = by_channel(found)
    assert values[1] == values[3] == [7.12] * 3
    assert set(values[2]) == {Quality.NO_ANSWER}


def test_an_instrument_that_sleeps_is_woken_also_over_a_tunnel() -> None:
    asked: list[int] = []

    def sleepy(request):
        asked.append(request.address)
        return None if len(asked) == 1 else [712]

    of = mapped(PH, link={"wake_up_s": 10})
    found, _ = run(Scripted(sleepy, RTU), slots(1, 2), 1, of=of)
    assert told(found) == [7.12, 7.12]


def test_t3_a_fault_of_ours_in_a_round_leaves_no_slot_without_a_reason() -> None:
    found: list[Reading] = []
    failures = [RuntimeError("a fault of ours")]
    one = unit(1, mapped(PH), interval_ms=200)
    asked = one.round

    async def failing(*args: object, **more: object):
        if found and failures:
            raise failures.pop()
        return await asked(*args, **more)

    one.round = failing

    async def poll() -> None:
        async with Scripted(lambda a: [712]) as server:
            watching = watch(server.endpoint, [one], found.extend)
            with pytest.raises(RuntimeError):
                await watching.run()
            await asyncio.sleep(0.5)
            task = asyncio.create_task(watching.run())
            while len(found) < 6:
                await asyncio.sleep(0.05)
            task.cancel()

    asyncio.run(poll())
    seconds = [r.read_at.timestamp() for r in found]
    missing = round((seconds[-1] - seconds[0]) / 0.2) + 1 - len(seconds)
    assert missing == 1  # the one that was being asked
    assert any(r.quality is Quality.NOT_READ for r in found)


def test_t25_a_hundred_hung_gateways_let_go_at_once() -> None:
    async def hang() -> list[object]:
        async with Scripted(lambda a: None) as server:
            watches = [
                watch(
                    server.endpoint, [unit(1, mapped(PH), interval_ms=100)], lambda readings: None
                )
                for _ in range(100)
            ]
            tasks = [asyncio.create_task(each.run()) for each in watches]
            await asyncio.sleep(0.3)
            for task in tasks:
                task.cancel()
            done, waiting = await asyncio.wait(tasks, timeout=2)
            assert not waiting
            return [task.cancelled() for task in done]

    assert asyncio.run(hang()) == [True] * 100


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_clock_set_by_an_hour_is_a_notice_and_the_slots_go_on(step: int) -> None:
    clock, notices, found = SetClock(), [], []

    async def until(count: int) -> None:
        while len(found) < count:
            await asyncio.sleep(0.02)

    async def poll() -> dict[str, str]:
        async with Scripted(lambda a: [712]) as server:
            one = unit(1, mapped(PH), interval_ms=200)
            watching = watch(
                server.endpoint, [one], found.extend, clock=clock, notice=notices.append
            )
            task = asyncio.create_task(watching.run())
            await until(4)
            clock.set_by = step
            await until(8)
            task.cancel()
            return watching.faults

    faults = asyncio.run(poll())
    way = "forward" if step > 0 else "back"
    assert faults["clock"] == f"this machine's clock was set {way} by 3600 s"
    assert len(notices) == 1
    assert len({r.read_at for r in found}) == len(found)
    assert set(told(found)) == {7.12}
    assert all(r.offset_ms < 1_000 for r in found)


def test_a_gateway_may_ask_for_a_pause_whatever_its_units_say() -> None:
    server = Scripted(lambda a: [712])

    async def poll() -> None:
        async with server:
            gateway = gateway_at(server.endpoint, options="pause=60")
            units = [unit(n, mapped(PH), first=n) for n in (1, 2, 3)]
            watching = Watch(gateway, units, gathered(units, lambda readings: None))
            await slots(1)(watching)
            watching.close()

    asyncio.run(poll())
    apart = [b.at - a.at for a, b in zip(server.asked, server.asked[1:], strict=False)]
    assert len(apart) == 2
    assert min(apart) >= 0.059


def test_t21_the_pause_of_one_units_map_holds_for_the_whole_gateway() -> None:
    server = Scripted(lambda a: [712])

    async def poll() -> None:
        async with server:
            units = [
                unit(1, mapped(PH, link={"pause_ms": 60}), first=1),
                unit(2, mapped(PH), first=2),
                unit(3, mapped(PH), first=3),
            ]
            watching = watch(server.endpoint, units, lambda readings: None)
            await slots(1)(watching)
            watching.close()

    asyncio.run(poll())
    apart = [b.at - a.at for a, b in zip(server.asked, server.asked[1:], strict=False)]
    assert min(apart) >= 0.059


def test_stale_values_are_a_state_with_its_reason() -> None:
    of = mapped(PH, needs_write=True)
    _, watching = run(Scripted(lambda a: [712], TCP), slots(1), 1, of=of)
    assert watching.faults == {
        "unit 1": "its values are old: it measures only when told to, and this program never writes"
    }


def test_t9_the_state_of_a_gateway_out_of_step_names_the_mismatch(reply) -> None:
    server = Scripted(lambda a: reply(a, [712], transaction=a.transaction + 1))
    found, watching = run(server, slots(1), 1)
    assert told(found) == [Quality.BAD_REPLY]
    assert "set ignore_transaction_id" in watching.faults["unit 1"]


@pytest.mark.parametrize(("interval_ms", "seconds"), [(100, 0.3), (1000, 0.4), (60_000, 3.0)])
def test_an_answer_may_take_a_part_of_the_interval(interval_ms: int, seconds: float) -> None:
    assert timeout_seconds([interval_ms, 600_000]) == seconds


def test_t2_an_endpoint_that_refuses_is_only_its_own_gap() -> None:
    async def both() -> dict[int, list[float | Quality]]:
        found: list[Reading] = []
        async with Scripted(lambda a: [712]) as server:
            nobody = watch(Endpoint(host="127.0.0.1", port=9), [unit(1, mapped(PH))], found.extend)
            there = watch(server.endpoint, [unit(1, mapped(PH), first=2)], found.extend)
            for number in (1, 2):
                await asyncio.gather(slots(number)(nobody), slots(number)(there))
            nobody.close()
            there.close()
        return by_channel(found)

    assert asyncio.run(both()) == {1: [Quality.NOT_CONNECTED] * 2, 2: [7.12] * 2}


def test_the_entries_of_one_unit_share_as_few_requests_as_can_be() -> None:
    server = Scripted(lambda a: [712] * a.count)
    run(server, slots(1), 1, of=mapped(*(entry(f"e{n}", n) for n in range(60))))
    assert [(a.address, a.count) for a in server.asked] == [(0, 60)]
