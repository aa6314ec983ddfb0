"""The same link over every dialect and line: TCP, RTU and ASCII over TCP, and a serial device."""

from __future__ import annotations

import asyncio
import itertools
import random

import pytest

from compliance.model.endpoints import Endpoint, Transport
from compliance.model.register_map import Table
from compliance.model.wire import Wire
from ingest import errors
from ingest.client import Link
from ingest.plan import Block
from tests.support.faulty import (
    ASCII,
    RTU,
    TCP,
    Asked,
    Late,
    Pieces,
    Scripted,
    ScriptedLine,
    answer,
)

SERVERS = {
    "tcp": lambda script: Scripted(script, TCP),
    "rtu over tcp": lambda script: Scripted(script, RTU),
    "ascii over tcp": lambda script: Scripted(script, ASCII),
    "serial rtu": lambda script: ScriptedLine(script, RTU),
    "serial ascii": lambda script: ScriptedLine(script, ASCII),
}
EVERY = pytest.mark.parametrize("line", SERVERS)
UNTAGGED = pytest.mark.parametrize("line", [line for line in SERVERS if line != "tcp"])


def block(count: int = 1, address: int = 0, table: Table = Table.HOLDING) -> Block:
    return Block(table=table, address=address, count=count, entries=())


def told(
    server, *asked: tuple[int, Block], timeout: float = 0.15, pause: float = 0.0
) -> list[object]:
    """What a link makes of some questions in turn: words, or the kind of error."""

    async def ask() -> list[object]:
        found: list[object] = []
        async with server, Link(server.endpoint, timeout, pause=pause) as link:
            for unit, wanted in asked:
                try:
                    if not link.connected:
                        await link.connect()
                    found.append(await link.read(unit, wanted))
                except errors.LinkError as error:
                    found.append(type(error))
        return found

    return asyncio.run(ask())


@EVERY
def test_every_table_is_read_and_only_functions_1_to_4_leave(line: str) -> None:
    server = SERVERS[line](lambda a: [1] if a.function < 3 else [a.function])
    found = told(server, *((5, block(table=table)) for table in Table))
    assert found == [
        (1,) if table in (Table.COIL, Table.DISCRETE) else (table.function,) for table in Table
    ]
    assert sorted(a.function for a in server.asked) == [1, 2, 3, 4]
    assert {a.unit for a in server.asked} == {5}


@EVERY
@pytest.mark.parametrize("method", ["write_register", "write_registers", "write_coil"])
def test_a_write_cannot_leave_even_from_within(line: str, method: str) -> None:
    server = SERVERS[line](lambda a: [1])

    async def write() -> None:
        async with server, Link(server.endpoint, 0.1) as link:
            value = [1] if method == "write_registers" else 1
            with pytest.raises(ValueError, match="may not leave"):
                await getattr(link._client, method)(3, value)

    asyncio.run(write())
    assert server.asked == []


@EVERY
def test_125_registers_come_whole_also_byte_by_byte(line: str) -> None:
    words = list(range(125))
    assert told(SERVERS[line](lambda a: words), (1, block(125))) == [tuple(words)]
    server = SERVERS[line](lambda a: Pieces([1, 2, 3]))
    assert told(server, (1, block(3))) == [(1, 2, 3)]


@EVERY
def test_an_exception_keeps_its_code(line: str) -> None:
    assert told(SERVERS[line](lambda a: 6), (1, block())) == [errors.Refused]


@EVERY
@pytest.mark.parametrize(
    "wrong", [{"unit": 3}, {"function": 4}, {"function": 99}, {"bytes": 4}, {"bytes": 1}]
)
def test_t11_an_answer_that_does_not_fit_is_refused_and_the_next_one_right(
    line: str, wrong: dict[str, int]
) -> None:
    server = SERVERS[line](lambda a: answer(a, [9], **wrong) if a.address == 0 else [7])
    assert told(server, (2, block()), (2, block(address=1))) == [errors.BadReply, (7,)]


@EVERY
@pytest.mark.parametrize("cut", [1, 4, 6])
def test_t10_t11_a_truncated_answer_is_refused_and_the_next_one_right(line: str, cut: int) -> None:
    server = SERVERS[line](lambda a: answer(a, [9, 9])[:cut] if a.address == 0 else [7, 8])
    first, second = told(server, (2, block(2)), (2, block(2, address=1)))
    assert first in (errors.BadReply, errors.NoAnswer)
    assert second == (7, 8)


@EVERY
@pytest.mark.parametrize("late", [0.18, 0.25])
def test_t8_a_late_answer_is_never_given_to_the_next_question(line: str, late: float) -> None:
    server = SERVERS[line](lambda a: Late(late, [111]) if a.address == 0 else [222])
    assert told(server, (1, block()), (1, block(address=100))) == [errors.NoAnswer, (222,)]


@EVERY
def test_t8_a_late_answer_of_another_unit_is_never_given_to_this_one(line: str) -> None:
    server = SERVERS[line](lambda a: Late(0.18, [111]) if a.unit == 1 else [222])
    assert told(server, (1, block()), (2, block())) == [errors.NoAnswer, (222,)]


@EVERY
def test_a_doubled_answer_is_not_the_answer_to_the_next_question(line: str) -> None:
    def doubled(asked: Asked) -> object:
        return ([asked.address], Late(0.003, [asked.address]))

    asked = [(1, block(address=a)) for a in (5, 6, 7)]
    found = told(SERVERS[line](doubled), *asked, pause=0.05)
    assert all(
        words in ((address,), errors.BadReply, errors.NotConnected)
        for words, address in zip(found, (5, 6, 7), strict=True)
    )
    assert found[0] == (5,)


@EVERY
def test_a_line_that_repeats_itself_is_left_alone_until_it_is_quiet(line: str) -> None:
    def thrice(asked: Asked) -> object:
        said = [asked.address]
        return (Late(0.03, said), Late(0.003, said), Late(0.062, said))

    found = told(SERVERS[line](thrice), *((1, block(address=a)) for a in (5, 6)), pause=0.05)
    assert found[0] == (5,)
    assert found[1] in ((6,), errors.NotConnected)


@EVERY
def test_the_same_answer_twice_in_one_segment_is_one_answer(line: str) -> None:
    server = SERVERS[line](lambda a: answer(a, [a.address]) * 2)
    assert told(server, *((1, block(address=a)) for a in (5, 6))) == [(5,), (6,)]


@UNTAGGED
def test_two_different_answers_in_one_segment_are_both_refused(line: str) -> None:
    server = SERVERS[line](lambda a: answer(a, [1]) + answer(a, [2]))
    assert told(server, (1, block())) == [errors.BadReply]


@pytest.mark.parametrize("line", ["rtu over tcp", "serial rtu"])
def test_noise_about_a_frame_does_no_harm(line: str) -> None:
    server = SERVERS[line](lambda a: b"\xff\x00" + answer(a, [a.address]) + b"\x00")
    assert told(server, *((1, block(address=a)) for a in (5, 6))) == [(5,), (6,)]


@UNTAGGED
def test_a_wrong_checksum_is_a_bad_answer(line: str) -> None:
    def spoilt(asked: Asked) -> bytes:
        frame = answer(asked, [7])
        return frame.replace(b"7", b"6") if asked.protocol is ASCII else frame[:-1] + b"\x00"

    assert told(SERVERS[line](spoilt), (1, block())) == [errors.BadReply]


@pytest.mark.parametrize("line", ["rtu over tcp", "ascii over tcp"])
def test_a_tunnel_is_dropped_after_any_silence(line: str) -> None:
    server = SERVERS[line](lambda a: None if a.address == 0 else [7])
    assert told(server, (1, block()), (1, block(address=1))) == [errors.NoAnswer, (7,)]
    assert server.connections == 2


def test_a_serial_device_that_is_pulled_is_not_connected() -> None:
    async def pull() -> None:
        async with ScriptedLine(lambda a: [7]) as line, Link(line.endpoint, 0.2) as link:
            assert await link.read(1, block()) == (7,)
            line.hang_up()
            with pytest.raises(errors.NotConnected):
                await link.read(1, block())
            with pytest.raises(errors.NotConnected, match="must exist, be ours to use, free"):
                await Link(
                    Endpoint(host="/dev/no-such-line", port=0, transport=Transport.SERIAL)
                ).connect()

    asyncio.run(pull())


def test_a_serial_device_is_ours_alone() -> None:
    async def twice() -> None:
        async with ScriptedLine(lambda a: [7]) as line, Link(line.endpoint, 0.2):
            with pytest.raises(errors.NotConnected):
                await Link(line.endpoint, 0.2).connect()

    asyncio.run(twice())


@EVERY
def test_t21_the_pause_is_kept_between_any_two_requests_of_a_line(line: str) -> None:
    server = SERVERS[line](lambda a: [7])

    async def ask() -> None:
        async with server, Link(server.endpoint, 0.5, pause=0.08) as link:
            for unit in (1, 2, 2, 3):
                await link.read(unit, block())

    asyncio.run(ask())
    apart = [b.at - a.at for a, b in itertools.pairwise(server.asked)]
    assert len(apart) == 3
    assert min(apart) >= 0.079


def test_t22_the_pause_counts_from_when_the_connection_stands() -> None:
    server = Scripted(lambda a: [7])

    async def ask() -> None:
        async with server, Link(server.endpoint, 0.5, pause=0.1) as link:
            await link.read(1, block())

    asyncio.run(ask())
    assert server.asked[0].at - server.connected_at >= 0.09


def test_t21_the_pause_holds_after_a_refusal_and_a_silence_too() -> None:
    server = Scripted(lambda a: {0: 6, 1: None}.get(a.address, [7]))

    async def ask() -> None:
        async with server, Link(server.endpoint, 0.1, pause=0.06) as link:
            for address in range(3):
                try:
                    await link.read(1, block(address=address))
                except errors.LinkError:
                    continue

    asyncio.run(ask())
    assert server.asked[1].at - server.asked[0].at >= 0.059
    assert server.asked[2].at - server.asked[1].at >= 0.159


def test_accepting_unit_0_does_not_accept_its_frames_for_others_over_rtu() -> None:
    server = Scripted(lambda a: answer(a, [7], unit=0), RTU)

    async def ask() -> tuple[int, ...]:
        async with server, Link(server.endpoint, 0.2) as link:
            with pytest.raises(errors.BadReply, match="unit 0"):
                await link.read(2, block())
            await link.connect()
            return await link.read(2, block(), Wire(accept_unit_mismatch=True))

    assert asyncio.run(ask()) == (7,)


def _mischief(asked: Asked, dice: random.Random) -> object:
    """One of the things that gateways do; the right word is the address."""
    right = answer(asked, [asked.address])
    other = {"unit": asked.unit % 5 + 1, "function": 7 - asked.function}
    wrong = dice.choice(list(other))
    return dice.choice(
        [
            right,
            right,
            (right, right),
            right * 2,
            None,
            Late(dice.uniform(0.09, 0.11), right),
            Late(0.02, right),
            Pieces(right),
            right[: dice.randrange(1, len(right))],
            answer(asked, [1, 2]),
            answer(asked, [9], **{wrong: other[wrong]}),
            answer(asked, [9], transaction=asked.transaction - 1)
            if asked.protocol is TCP
            else None,
            dice.choice([2, 4, 6, 11]),
            dice.randbytes(12),
        ]
    )


@EVERY
@pytest.mark.parametrize("seed", range(2))
def test_whatever_a_gateway_does_no_word_is_stored_under_another_register(
    line: str, seed: int
) -> None:
    dice = random.Random(seed)
    server = SERVERS[line](lambda asked: _mischief(asked, dice))
    asked = [(dice.randrange(1, 4), block(address=1000 + n)) for n in range(24)]
    found = told(server, *asked, timeout=0.08)
    got = [(words, wanted.address) for words, (_, wanted) in zip(found, asked, strict=True)]
    values = [(words[0], address) for words, address in got if isinstance(words, tuple)]
    assert values == [(address, address) for _, address in values]
    assert values
