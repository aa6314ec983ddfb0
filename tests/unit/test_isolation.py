"""Fifty gateways on one loop, twenty of them dead, slow or lying: the other thirty keep rhythm."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack

from compliance.model.endpoints import Endpoint
from compliance.model.readings import Quality, Reading
from tests.support.faulty import Asked, Late, Scripted, answer
from tests.support.polling import PH, mapped, told, unit, watch

INTERVAL_MS = 500
SECONDS = 5.0
LIES: tuple[Callable[[Asked], object], ...] = (
    lambda a: answer(a, [9], unit=77),
    lambda a: answer(a, [9], function=4),
    lambda a: answer(a, [9], transaction=a.transaction + 1),
    lambda a: answer(a, [9])[:8],
    lambda a: answer(a, [9] * 100),
)


def hole() -> socket.socket:
    """A port whose connections never stand: its queue is full."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=0)
    listening.setblocking(False)
    return listening


async def fifty(found: dict[int, list[Reading]]) -> None:
    async with AsyncExitStack() as stack:

        async def served(script: Callable[[Asked], object]) -> Endpoint:
            server = await stack.enter_async_context(Scripted(script))
            return server.endpoint

        places = [await served(lambda a: [712]) for _ in range(30)]
        places += [Endpoint(host="127.0.0.1", port=9)] * 3  # refuse
        for _ in range(4):
            listening = stack.enter_context(hole())
            full = [socket.socket() for _ in range(2)]
            for each in full:
                stack.enter_context(each)
                each.setblocking(False)
                each.connect_ex(listening.getsockname())
            places.append(Endpoint(host="127.0.0.1", port=listening.getsockname()[1]))
        places += [await served(lambda a: None) for _ in range(3)]  # half-open
        places += [await served(lambda a: Late(0.25, [713])) for _ in range(5)]
        places += [await served(lie) for lie in LIES]
        of = mapped(PH)
        tasks = []
        for number, place in enumerate(places):
            one = unit(1, of, interval_ms=INTERVAL_MS, first=number)
            watching = watch(place, [one], found[number].extend)
            tasks.append(asyncio.create_task(watching.run()))
        await asyncio.sleep(SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def once_connected(readings: list[Reading]) -> list[Reading]:
    """Readings from the first value on: on a busy machine a line may take a slot to open."""
    first = next(n for n, one in enumerate(readings) if one.value is not None)
    assert {one.quality for one in readings[:first]} <= {Quality.NOT_CONNECTED}
    return readings[first:]


def test_t2_thirty_gateways_keep_their_rhythm_beside_twenty_that_do_not() -> None:
    found: dict[int, list[Reading]] = {number: [] for number in range(50)}
    asyncio.run(fifty(found))
    lateness = sorted(r.offset_ms for number in range(30) for r in found[number])
    sys.stdout.write(
        f"\nlateness of {len(lateness)} readings: p50 {lateness[len(lateness) // 2]} ms, "
        f"p99 {lateness[-len(lateness) // 100]} ms\n"
    )
    for number in range(30):
        at = [r.read_at.timestamp() * 1000 for r in found[number]]
        assert len(at) >= SECONDS * 1000 / INTERVAL_MS - 2
        assert {b - a for a, b in zip(at, at[1:], strict=False)} == {INTERVAL_MS}
        assert set(told(once_connected(found[number]))) == {7.12}
    for number in range(30, 40):
        assert {r.value for r in found[number]} == {None}
        assert found[number]
    for number in range(40, 45):
        assert set(told(found[number])) <= {7.13, Quality.NO_ANSWER, Quality.NOT_READ}
    for number in range(45, 50):
        assert set(told(found[number])) <= {Quality.BAD_REPLY, Quality.NOT_READ}
