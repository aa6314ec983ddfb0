"""The link: what it hands on is the answer to the question, or an error that says why not."""

from __future__ import annotations

import asyncio
import inspect
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable

import pytest

from compliance.model.endpoints import Endpoint
from compliance.model.readings import Quality
from compliance.model.register_map import Table
from compliance.model.wire import Wire
from ingest import errors
from ingest.client import Link
from ingest.plan import Block

if sys.platform == "linux":
    import uvloop


def block(count: int, table: Table = Table.HOLDING, address: int = 0, **more: bool) -> Block:
    return Block(table=table, address=address, count=count, entries=(), **more)


def ask(gateway, asked: Block, *, unit: int = 2, **wire: bool) -> tuple[int, ...]:
    async def once() -> tuple[int, ...]:
        async with gateway, Link(gateway.endpoint, 0.3) as link:
            return await link.read(unit, asked, Wire(**wire))

    return asyncio.run(once())


def test_a_sound_answer_comes_through(scripted) -> None:
    assert ask(scripted(lambda a: [7, 8]), block(2)) == (7, 8)
    assert ask(scripted(lambda a: [1, 0, 1]), block(3, Table.COIL)) == (1, 0, 1)


WRONG: dict[str, Callable] = {
    "ING-14 answer carries another unit's number": lambda a, r: r(a, [0x0190], unit=3),
    "ING-26 four bytes for one register": lambda a, r: r(a, [0, 0x01B3]),
    "T10 T11 fewer registers than asked for": lambda a, r: r(a, []),
    "T26 always the same block, whatever is asked": lambda a, r: r(a, list(range(60))),
    "another function code": lambda a, r: r(a, [7], function=4),
    "a byte count that does not fit": lambda a, r: r(a, [7], bytes=8),
    "an exception of another function": lambda a, r: r(a, 2, function=4),
    "an unknown function": lambda a, r: r(a, [7], function=99),
    "another protocol": lambda a, r: struct.pack(">HHHB", a.transaction, 77, 3, a.unit) + b"\3\2",
    "a header without content": lambda a, r: struct.pack(">HHHB", a.transaction, 0, 1, a.unit),
    "a header that promises 60 kB": lambda a, r: struct.pack(">HHHB", a.transaction, 0, 60000, 2),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_answer_that_does_not_fit_the_question_is_refused_at_once(case, scripted, reply) -> None:
    with pytest.raises(errors.BadReply) as refused:
        ask(scripted(lambda a: WRONG[case](a, reply)), block(1))
    assert refused.value.quality is Quality.BAD_REPLY
    assert not refused.value.waited


def test_t10_a_short_answer_is_refused_whole(scripted) -> None:
    with pytest.raises(errors.BadReply, match=r"byte count 2 does not fit 4 register"):
        ask(scripted(lambda a: [7]), block(4))


@pytest.mark.parametrize("unit", [0, 255])
def test_ing_14_a_directly_connected_instrument_may_answer_as_unit_0_or_255(
    unit: int, scripted, reply
) -> None:
    def gateway():
        return scripted(lambda a: reply(a, [7], unit=unit))

    assert ask(gateway(), block(1), accept_unit_mismatch=True) == (7,)
    with pytest.raises(errors.BadReply, match=f"comes from unit {unit}"):
        ask(gateway(), block(1))


def test_ing_14_not_even_that_option_accepts_a_third_unit(scripted, reply) -> None:
    with pytest.raises(errors.BadReply, match="comes from unit 3"):
        ask(scripted(lambda a: reply(a, [7], unit=3)), block(1), accept_unit_mismatch=True)


def test_ing_26_a_wide_register_answers_with_two_words(scripted) -> None:
    assert ask(scripted(lambda a: [0, 0x01B3]), block(1, Table.INPUT, 0xAA, wide=True)) == (0, 435)


@pytest.mark.parametrize("code", range(1, 12))
def test_an_exception_keeps_its_code(code: int, scripted) -> None:
    with pytest.raises(errors.Refused, match=f"with exception {code} ") as refused:
        ask(scripted(lambda a: code), block(1))
    assert refused.value.code == code
    assert errors.is_away(refused.value) == (code in (10, 11))


def test_silence_is_no_answer_and_a_closed_socket_no_connection(scripted) -> None:
    with pytest.raises(errors.NoAnswer):
        ask(scripted(lambda a: None), block(1))
    with pytest.raises(errors.NotConnected):
        ask(scripted(lambda a: "close"), block(1))


def test_a_gateway_that_is_not_there_is_not_connected() -> None:
    with pytest.raises(errors.NotConnected, match="no gateway answers at 127.0.0.1:9"):
        asyncio.run(Link(Endpoint(host="127.0.0.1", port=9), 0.3).connect())


def test_t8_a_late_answer_is_never_given_to_the_next_question(scripted, reply) -> None:
    held: list[bytes] = []

    def script(asked):
        if asked.address == 0:
            held.append(reply(asked, [111]))
            return None
        return held.pop() + reply(asked, [222])

    async def twice() -> tuple[tuple[int, ...], int]:
        async with scripted(script) as gateway, Link(gateway.endpoint, 0.3) as link:
            with pytest.raises(errors.NoAnswer):
                await link.read(1, block(1, address=0))
            return await link.read(1, block(1, address=100)), link.late

    assert asyncio.run(twice()) == ((222,), 1)


def test_t8_a_gateway_that_is_one_answer_behind_for_ever_gives_nothing(scripted, reply) -> None:
    held: list = []

    def one_behind(asked):
        held.append(asked)
        return reply(held[-2], [held[-2].address]) if len(held) > 1 else None

    async def ask_on() -> list[type]:
        found = []
        async with scripted(one_behind) as gateway, Link(gateway.endpoint, 0.1) as link:
            for address in range(4):
                if not link.connected:
                    await link.connect()
                with pytest.raises(errors.LinkError) as refused:
                    await link.read(1, block(1, address=address))
                found.append(type(refused.value))
        return found

    assert set(asyncio.run(ask_on())) <= {errors.NoAnswer, errors.BadReply}


def test_two_long_answers_in_one_segment_are_told_apart(scripted, reply) -> None:
    held: list[bytes] = []

    def script(asked):
        held.append(reply(asked, [asked.address] * 125))
        return None if len(held) == 1 else b"".join(held)

    async def twice() -> tuple[int, ...]:
        async with scripted(script) as gateway, Link(gateway.endpoint, 0.2) as link:
            with pytest.raises(errors.NoAnswer):
                await link.read(1, block(125, address=0))
            return await link.read(1, block(125, address=1))

    assert asyncio.run(twice()) == (1,) * 125


def test_t9_another_transaction_id_is_named_and_can_be_ignored(scripted, reply) -> None:
    def gateway():
        return scripted(lambda a: reply(a, [7], transaction=a.transaction + 1))

    with pytest.raises(errors.BadReply, match="set ignore_transaction_id"):
        ask(gateway(), block(1))
    assert ask(gateway(), block(1), ignore_transaction_id=True) == (7,)


def test_t9_where_transactions_say_nothing_a_silence_drops_the_socket(scripted, reply) -> None:
    def script(asked):
        return None if asked.address == 0 else reply(asked, [7], transaction=0)

    async def after_a_silence() -> bool:
        wire = Wire(ignore_transaction_id=True)
        async with scripted(script) as gateway, Link(gateway.endpoint, 0.1) as link:
            assert await link.read(1, block(1, address=1), wire) == (7,)
            with pytest.raises(errors.NoAnswer):
                await link.read(1, block(1, address=0), wire)
            return link.connected

    assert asyncio.run(after_a_silence()) is False


def test_ing_15_a_half_open_peer_is_dropped_after_two_silences(scripted) -> None:
    async def silences() -> list[bool]:
        async with scripted(lambda a: None) as gateway, Link(gateway.endpoint, 0.1) as link:
            open_after = []
            for _ in range(2):
                with pytest.raises(errors.NoAnswer):
                    await link.read(1, block(1))
                open_after.append(link.connected)
            with pytest.raises(errors.NotConnected):
                await link.read(1, block(1))
            return open_after

    assert asyncio.run(silences()) == [True, False]


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="Linux has it")
def test_ing_15_the_kernel_drops_a_socket_whose_peer_is_gone(scripted) -> None:
    async def options() -> tuple[int, int]:
        async with scripted(lambda a: None) as gateway, Link(gateway.endpoint, 3.0) as link:
            opened = link._client.ctx.transport.get_extra_info("socket")
            return (
                opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE),
                opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT),
            )

    assert asyncio.run(options()) == (1, 6000)


def test_t10_half_an_answer_is_a_bad_one_and_closes_the_socket(scripted, reply) -> None:
    async def half() -> bool:
        gateway = scripted(lambda a: reply(a, [1, 2])[:-2])
        async with gateway, Link(gateway.endpoint, 0.1) as link:
            with pytest.raises(errors.BadReply, match="broke off after 11 bytes"):
                await link.read(1, block(2))
            return link.connected

    assert asyncio.run(half()) is False


def test_only_read_functions_leave_the_link(scripted) -> None:
    async def everything(gateway) -> None:
        async with gateway, Link(gateway.endpoint, 0.3) as link:
            for table in Table:
                await link.read(1, block(1, table))

    gateway = scripted(lambda a: [1])
    asyncio.run(everything(gateway))
    assert sorted(a.function for a in gateway.asked) == [1, 2, 3, 4]
    public = {name for name, _ in inspect.getmembers(Link) if not name.startswith("_")}
    assert public == {"connect", "close", "read", "connected", "late", "foreign"}


@pytest.mark.skipif(sys.platform != "linux", reason="a worker runs on uvloop there")
def test_an_answer_that_came_in_time_counts_though_the_loop_was_busy_till_after() -> None:
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        line, _ = listening.accept()
        with line:
            asked = line.recv(12)
            line.sendall(asked[:4] + bytes([0, 5, asked[6], 3, 2, 2, 200]))
            line.recv(1)

    serving = threading.Thread(target=serve)
    serving.start()

    async def busy() -> tuple[int, ...]:
        place = Endpoint(host="127.0.0.1", port=listening.getsockname()[1])
        async with Link(place, 0.1) as link:
            reading = asyncio.create_task(link.read(1, block(1)))
            await asyncio.sleep(0)
            time.sleep(0.3)  # somebody else's work  # noqa: ASYNC251
            return await reading

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(busy()) == (712,)
    serving.join()
    listening.close()


@pytest.mark.skipif(sys.platform != "linux", reason="a worker runs on uvloop there")
def test_a_peer_that_accepts_and_closes_is_a_lost_connection() -> None:
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for _ in range(20):
            listening.accept()[0].close()

    async def ask_on() -> set[type]:
        link = Link(Endpoint(host="127.0.0.1", port=listening.getsockname()[1]), 0.3)
        found = set()
        for _ in range(20):
            await link.connect()
            await asyncio.sleep(0.001)  # the peer is first
            with pytest.raises(errors.LinkError) as lost:
                await link.read(1, block(1))
            found.add(type(lost.value))
            assert not link.connected
        return found

    serving = threading.Thread(target=serve)
    serving.start()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(ask_on()) == {errors.NotConnected}
    serving.join()
    listening.close()
