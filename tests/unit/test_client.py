"""The link: what it hands on is the answer to the question, or an error that says why not."""

from __future__ import annotations

import asyncio
import inspect
import struct
from collections.abc import Callable

import pytest

from compliance.model.readings import Quality
from compliance.model.register_map import Table
from ingest import errors
from ingest.client import Link
from ingest.plan import Block


def block(count: int, table: Table = Table.HOLDING, address: int = 0) -> Block:
    return Block(table=table, address=address, count=count, entries=())


def ask(gateway, *, count: int = 1, unit: int = 2, table: Table = Table.HOLDING, **options):
    async def once() -> tuple[int, ...]:
        async with gateway, Link("127.0.0.1", gateway.port, 0.3, **options) as link:
            return await link.read(unit, block(count, table))

    return asyncio.run(once())


def test_a_sound_answer_comes_through(scripted) -> None:
    assert ask(scripted(lambda a: [7, 8]), count=2) == (7, 8)
    assert ask(scripted(lambda a: [1, 0, 1]), count=3, table=Table.COIL) == (1, 0, 1)


WRONG: dict[str, Callable] = {
    "ING-14 answer carries another unit's number": lambda a, r: r(a, [0x0190], unit=3),
    "ING-26 four bytes for one register": lambda a, r: r(a, [0, 0x01B3]),
    "another function code": lambda a, r: r(a, [7], function=4),
    "a byte count that does not fit": lambda a, r: r(a, [7], bytes=8),
    "an exception of another function": lambda a, r: r(a, 2, function=4),
    "no content at all": lambda a, r: r(a, []),
    "an unknown function": lambda a, r: r(a, [7], function=99),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_answer_that_does_not_fit_the_question_is_refused_at_once(case, scripted, reply) -> None:
    with pytest.raises(errors.BadReply) as refused:
        ask(scripted(lambda a: WRONG[case](a, reply)))
    assert refused.value.quality is Quality.BAD_REPLY


def test_a_short_answer_is_refused(scripted) -> None:
    with pytest.raises(errors.BadReply, match=r"byte count 2 does not fit 4 register"):
        ask(scripted(lambda a: [7]), count=4)


def test_a_directly_connected_instrument_may_answer_as_unit_zero(scripted, reply) -> None:
    gateway = scripted(lambda a: reply(a, [7], unit=0))
    assert ask(gateway, accept_unit_mismatch=True) == (7,)


@pytest.mark.parametrize(
    ("code", "words"), [(2, "illegal data address"), (6, "device busy"), (0x0B, "no answer")]
)
def test_an_exception_keeps_its_code(code: int, words: str, scripted) -> None:
    with pytest.raises(errors.Refused, match=words) as refused:
        ask(scripted(lambda a: code))
    assert refused.value.code == code


def test_silence_is_no_answer_and_a_closed_socket_no_connection(scripted) -> None:
    with pytest.raises(errors.NoAnswer):
        ask(scripted(lambda a: None))
    with pytest.raises(errors.NotConnected):
        ask(scripted(lambda a: "close"))


def test_a_gateway_that_is_not_there_is_not_connected() -> None:
    with pytest.raises(errors.NotConnected, match="no gateway answers at 127.0.0.1:9"):
        asyncio.run(Link("127.0.0.1", 9, 0.3).connect())


def test_a_late_answer_is_never_given_to_the_next_question(scripted, reply) -> None:
    held: list[bytes] = []

    def script(asked):
        if asked.address == 0:
            held.append(reply(asked, [111]))
            return None
        return held.pop() + reply(asked, [222])

    async def twice() -> tuple[tuple[int, ...], int]:
        async with scripted(script) as gateway, Link("127.0.0.1", gateway.port, 0.3) as link:
            with pytest.raises(errors.NoAnswer):
                await link.read(1, block(1, address=0))
            return await link.read(1, block(1, address=100)), link.late

    assert asyncio.run(twice()) == ((222,), 1)


def test_a_half_open_peer_is_dropped_after_two_silences(scripted) -> None:
    async def silences() -> list[bool]:
        async with scripted(lambda a: None) as gateway, Link("127.0.0.1", gateway.port, 0.1) as li:
            open_after = []
            for _ in range(2):
                with pytest.raises(errors.NoAnswer):
                    await li.read(1, block(1))
                open_after.append(li.connected)
            with pytest.raises(errors.NotConnected):
                await li.read(1, block(1))
            return open_after

    assert asyncio.run(silences()) == [True, False]


def test_half_an_answer_closes_the_socket_at_once(scripted, reply) -> None:
    async def half() -> bool:
        gateway = scripted(lambda a: reply(a, [1, 2])[:-2])
        async with gateway, Link("127.0.0.1", gateway.port, 0.1) as link:
            with pytest.raises(errors.NoAnswer):
                await link.read(1, block(2))
            return link.connected

    assert asyncio.run(half()) is False


def test_only_read_functions_leave_the_link(scripted) -> None:
    async def everything(gateway) -> None:
        async with gateway, Link("127.0.0.1", gateway.port, 0.3) as link:
            for table in Table:
                await link.read(1, block(1, table))

    gateway = scripted(lambda a: [1])
    asyncio.run(everything(gateway))
    assert sorted(a.function for a in gateway.asked) == [1, 2, 3, 4]
    public = {name for name, _ in inspect.getmembers(Link) if not name.startswith("_")}
    assert public == {"connect", "close", "read", "connected", "late", "foreign"}


def test_garbage_in_place_of_a_frame_is_no_answer(scripted) -> None:
    with pytest.raises(errors.NoAnswer):
        ask(
            scripted(lambda a: struct.pack(">HHHB", a.transaction, 77, 3, a.unit) + b"\x03\x02\x00")
        )
