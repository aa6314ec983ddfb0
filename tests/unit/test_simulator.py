"""The simulator over real TCP, asked by a plain socket and by the tool for commissioning."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from app import commands
from compliance.model.endpoints import Endpoint
from compliance.model.periods import to_us
from compliance.model.register_map import Order, Table
from ingest import commission, library, scenario
from ingest.client import Link
from ingest.errors import IngestError, NoAnswer
from ingest.instrument import Instrument, channel_values
from ingest.plan import Block
from ingest.simulator import serve

START = datetime(2026, 4, 15, 15, 30, tzinfo=UTC)
DEMO = scenario.load(scenario.find("demo"))
MH1, MH2, MH3, _, _, MH13 = range(6)


def free_base() -> int:
    """A port from which six are free now; other processes of tests look for theirs meanwhile."""
    for base in random.sample(range(20000, 32000, 7), 500):
        try:
            for port in range(base, base + 6):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return base
    raise AssertionError("no six free ports in a row")


def simulated(visit: Callable[[int], Awaitable[object]], *, after_s: float = 0) -> object:
    """What a visitor brings back from a simulator whose clock stands still."""

    async def run(base: int) -> object:
        ready = asyncio.Event()
        clock = lambda: START + timedelta(seconds=after_s)  # noqa: E731
        moved = DEMO.moved(base)
        server = asyncio.create_task(serve(moved, started_at=START, clock=clock, ready=ready.set))
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait((server, waiting), return_when=asyncio.FIRST_COMPLETED)
        try:
            return await visit(base) if ready.is_set() else Taken
        finally:
            server.cancel()
            waiting.cancel()

    for _ in range(20):
        found = asyncio.run(run(free_base()))
        if found is not Taken:
            return found
    raise AssertionError("its ports were taken by others, again and again")


class Taken:
    """Stands for a simulator that found one of its ports taken meanwhile."""


def ask(port: int, *frames: bytes, answers: int = 1) -> list[bytes]:
    """Send frames in one segment and take as many answers."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as wire:
        wire.sendall(b"".join(frames))
        stream = wire.makefile("rb")
        found = []
        for _ in range(answers):
            header = stream.read(6)
            found.append(header + stream.read(int.from_bytes(header[4:])))
        return found


def frame(unit: int, function: int, address: int, count: int, *, transaction: int = 7) -> bytes:
    return struct.pack(">HHHBBHH", transaction, 0, 6, unit, function, address, count)


def asked(manhole: int, *frames: bytes, answers: int = 1, after_s: float = 0) -> list[bytes]:
    async def visit(base: int) -> list[bytes]:
        return await asyncio.to_thread(ask, base + manhole, *frames, answers=answers)

    return simulated(visit, after_s=after_s)  # type: ignore[return-value]


def test_the_ph_of_the_scenario_stands_in_the_registers_of_its_map():
    (answer,) = asked(MH1, frame(2, 4, 0, 4), after_s=20)
    assert answer[:9] == bytes.fromhex("0007 0000 000b 02 04 08")
    value, status, _unit = struct.unpack(">fHH", answer[9:])
    assert (round(value, 4), status) == (5.2, 0)


def test_word_orders_are_those_of_the_scenario():
    (answer,) = asked(MH1, frame(1, 3, 3002, 2))
    low, high = struct.unpack(">HH", answer[9:])
    flow = struct.unpack(">f", struct.pack(">HH", high, low))[0]
    manhole = DEMO.started(START)[MH1]
    expected = channel_values(manhole, manhole.units[0].channels[0], np.array([to_us(START)]))[0]
    assert flow * 15850.323 == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("request_frame", "answer"),
    [
        (frame(1, 3, 3001, 1), "83 02"),
        (frame(1, 3, 3003, 2), "83 02"),
        (frame(1, 3, 3002, 0), "83 03"),
        (frame(1, 3, 3002, 126), "83 03"),
        (frame(1, 6, 3002, 1), "86 01"),
        (frame(9, 3, 3002, 1), "83 0b"),
    ],
)
def test_what_an_instrument_has_not_it_refuses(request_frame, answer):
    assert asked(MH1, request_frame)[0][7:] == bytes.fromhex(answer)


def test_two_requests_in_one_segment_get_two_answers():
    frames = [frame(1, 3, 600, 1, transaction=n) for n in (1, 2)]
    first, second = asked(MH1, *frames, answers=2)
    assert (first[1], second[1]) == (1, 2)
    assert first[2:] == second[2:]


def test_coils_are_packed_bits():
    assert asked(MH2, frame(3, 1, 0, 2))[0][7:] == bytes.fromhex("01 01 00")


def test_a_status_bit_and_a_silent_unit_come_on_cue():
    assert asked(MH2, frame(2, 3, 5, 1), after_s=130)[0][9:] == b"\0\4"
    manhole = DEMO.started(START)[MH13]
    instrument = Instrument(manhole, manhole.units[1])
    silent = [instrument.answers(to_us(START) + s * 1_000_000) for s in (59, 61, 121)]
    assert silent == [True, False, True]


def test_a_port_in_use_is_one_sentence():
    async def visit(base: int) -> None:
        with pytest.raises(IngestError, match=r"mh-1 cannot listen on .*in use.*--port-base"):
            await serve(DEMO.moved(base), started_at=START, clock=lambda: START)

    simulated(visit)


def test_a_share_of_a_span_and_a_total_of_32_bits_are_the_scenario_s():
    async def visit(base: int) -> list[commission.Shown]:
        async with Link(Endpoint(host="127.0.0.1", port=base + MH3), 5) as link:
            found = library.load("siemens-hydroranger200")
            return list(await commission.read_unit(link, 1, found, order=Order.CDAB))

    shown = {each.entry.name: each for each in simulated(visit)}  # type: ignore[attr-defined]
    manhole = DEMO.started(START)[MH3]
    flow, total = (
        channel_values(manhole, channel, np.array([to_us(START)]))[0]
        for channel in manhole.units[0].channels
    )
    assert float(shown["volume_1"].decoded[0][1].value) == pytest.approx(flow / 2, abs=0.006)
    assert float(shown["pumped_volume_1"].decoded[0][1].value) == round(total)
    assert shown["word_order"].decoded[0][1].value == 1


def test_every_order_is_shown_where_map_and_reader_leave_it_open():
    async def visit(base: int) -> list[commission.Shown]:
        async with Link(Endpoint(host="127.0.0.1", port=base + MH1), 5) as link:
            return list(await commission.read_unit(link, 2, library.load("eh-liquiline-cm44x")))

    shown = {each.entry.name: each for each in simulated(visit)}  # type: ignore[attr-defined]
    orders = dict(shown["ai1_value"].decoded)
    assert set(orders) == set(Order)
    assert 6.3 < orders[Order.ABCD].value < 8.6
    assert [order for order, _ in shown["ai4_value"].decoded] == [Order.ABCD]
    assert shown["ai4_value"].decoded[0][1].value is None  # not assigned


def test_a_silent_unit_is_no_answer_and_a_scan_passes_it_by():
    async def visit(base: int) -> object:
        async with Link(Endpoint(host="127.0.0.1", port=base + MH13), 0.3) as link:
            with pytest.raises(NoAnswer):
                await link.read(2, Block(table=Table.HOLDING, address=0, count=1, entries=()))
            return await commission.scan(link, (1, 2, 3))

    assert [unit for unit, _ in simulated(visit, after_s=70)] == [1]  # type: ignore[attr-defined]


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The exit code of `pretreat modbus …`."""
    monkeypatch.setattr("sys.argv", ["pretreat", "modbus", *words])
    with pytest.raises(SystemExit) as ended:
        commands.main()
    return int(ended.value.code or 0)


@pytest.mark.parametrize(
    ("words", "value", "quality"),
    [
        ("--type float32 --order CDAB 0x8000 0x4336", "182.5", "good"),
        ("--type int16 --scale 0.1 0xFFF3", "-1.3", "good"),
        ("--type uint16 --missing 255 --missing 0xFFFF 65535", None, "missing"),
        ("--type float32 0x7FC0 0", None, "bad"),
        ("--type float32 0x8000 0x4336", None, "suspect"),
        ("--type uint16 --scale 2 --offset -40 60", "80", "good"),
    ],
)
def test_decode_prints_one_object(monkeypatch, capsys, words, value, quality):
    assert run(monkeypatch, "decode", *words.split()) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["value"], answer["quality"]) == (value, quality)
    assert bool(answer["reason"]) == (value is None)


@pytest.mark.parametrize(
    "words",
    [
        "--type float32 1",
        "--type uint16 65536",
        "--type uint16 pH",
        "--type uint16 --scale much 1",
        "--type uint16 --missing much 1",
    ],
)
def test_decode_refuses_in_one_sentence(monkeypatch, capsys, words):
    assert run(monkeypatch, "decode", *words.split()) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_maps_say_what_is_to_be_verified(monkeypatch, capsys):
    assert run(monkeypatch, "maps", "siemens-mag6000", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["document"].startswith("Modbus RTU RS485")
    assert any("volume_flow: verify on site" in doubt for doubt in found["verify_on_site"])
    assert run(monkeypatch, "maps", "nothing") == 2
