"""What engineers reported of other collectors, case by case as they wrote it: the wire's part."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from compliance.errors import RuleError
from compliance.model.readings import Quality, Reading, reasons
from compliance.model.wire import Protocol
from ingest import library
from ingest.client import Link
from ingest.commission import read_unit
from ingest.frames import rtu_frame
from ingest.poll import Watch
from ingest.schedule import Round
from tests.support.faulty import ASCII, RTU, TCP, Asked, Scripted, ScriptedLine, answer, crc16
from tests.support.polling import PH, entry, mapped, rounds, told, unit, watch

LINES = {
    "tcp": lambda script: Scripted(script, TCP),
    "rtu over tcp": lambda script: Scripted(script, RTU),
    "serial ascii": lambda script: ScriptedLine(script, ASCII),
}
EVERY = pytest.mark.parametrize("line", LINES)


@pytest.fixture
def report(shared: Path):
    cases = json.loads((shared / "cases" / "field_reports.json").read_text())
    return lambda id: next(case["input"] for case in cases if case["id"] == id)


async def slots(watching: Watch, *numbers: int) -> None:
    for number in numbers:
        await watching.round(Round(interval=1000, slot=10_000 * number, skipped=()))


def words_of(text: str) -> bytes:
    return bytes.fromhex(text.replace(" ", ""))


@EVERY
def test_ing_07_after_a_sensor_fault_no_good_value_is_repeated(line: str, report) -> None:
    polls = [int(poll.split()[0], 16) for poll in report("ING-07")["polls"]]
    left = list(polls)
    found = rounds(LINES[line](lambda a: [left.pop(0)]), [unit(1, mapped(PH))], len(polls))
    assert told(found) == [7.12, *[Quality.MISSING_MARK] * 3, 7.2]


@EVERY
def test_ing_08_a_mark_is_missing_before_it_is_stored(line: str, report) -> None:
    case = report("ING-08")
    left = list(case["words"])
    marks = [int(mark) for mark in re.search(r"marks \[(.*)\]", case["tag"])[1].split(",")]
    marked = entry("temperature", 0, missing=marks)
    found = rounds(LINES[line](lambda a: [left.pop(0)]), [unit(1, mapped(marked))], 4)
    assert told(found) == [21.0, Quality.MISSING_MARK, 22.0, Quality.MISSING_MARK]


@EVERY
def test_ing_09_a_busy_instrument_is_missing_with_its_cause(line: str, report) -> None:
    assert report("ING-09")["polls"][1].endswith("code 0x06")
    slot = iter([[740], 6, 6, 6, [750]])
    found = rounds(LINES[line](lambda a: next(slot)), [unit(1, mapped(PH))], 3)
    assert told(found) == [7.4, Quality.EXCEPTION, 7.5]
    assert reasons(found[1].quality) == "the instrument refused the request"


@EVERY
def test_ing_11_a_block_over_a_missing_register_loses_only_that(line: str, report) -> None:
    case = report("ING-11")
    missing = set(case["missing"])
    of = mapped(*(entry(f"t{a}", a, printed="x") for a in [*case["tags"], *missing]))

    def script(asked: Asked) -> object:
        covers = range(asked.address, asked.address + asked.count)
        return 2 if missing & set(covers) else [a - 11_000 for a in covers]

    server = LINES[line](script)
    found = rounds(server, [unit(1, of)], 1)
    assert told(found) == [174.0, 176.0, 177.0, Quality.EXCEPTION]


def test_ing_11_an_unasked_gap_is_never_read_over(report) -> None:
    case = report("ING-11")
    of = mapped(*(entry(f"t{a}", a, printed="x") for a in case["tags"]))
    server = Scripted(lambda a: [1] * a.count)
    rounds(server, [unit(1, of)], 1)
    assert [(a.address, a.count) for a in server.asked] == [(11174, 1), (11176, 2)]


@EVERY
def test_ing_14_another_units_number_is_not_stored_and_is_counted(line: str, report) -> None:
    asked, reply = (report("ING-14")[key] for key in ("ask", "reply"))
    ours, theirs = (int(re.search(r"unit (\d)", text)[1]) for text in (asked, reply))
    server = LINES[line](lambda a: answer(a, [0x0190], unit=theirs))

    async def poll() -> tuple[list[Reading], int]:
        found: list[Reading] = []
        async with server:
            watching = watch(server.endpoint, [unit(ours, mapped(PH))], found.extend)
            await watching.round(Round(interval=1000, slot=1000, skipped=()))
            watching.close()
            return found, watching._line.link.foreign

    found, foreign = asyncio.run(poll())
    assert told(found) == [Quality.BAD_REPLY]
    assert foreign == 1


def test_ing_15_a_vanished_server_is_a_marked_gap_and_soon_back(report) -> None:
    case = report("ING-15")
    assert case["poll_interval_s"] > case["timeout_s"]
    server = Scripted(lambda a: [712])
    found: list[Reading] = []

    async def poll() -> None:
        async with server:
            watching = watch(server.endpoint, [unit(1, mapped(PH))], found.extend)
            await slots(watching, 1)
            server.script = lambda a: None  # gone, and nothing is closed
            await slots(watching, 2, 3, 4, 5)
            before = server.connections  # sockets that it does not know when it is back
            server.script = lambda a: None if server.connections <= before else [713]
            await slots(watching, 6, 7)
            watching.close()

    asyncio.run(poll())
    assert told(found)[:5] == [7.12] + [Quality.NO_ANSWER] * 4
    assert 7.13 in told(found)[5:7]


def test_ing_24_the_frame_for_a_printed_40108_carries_107(report) -> None:
    printed = re.search(r"register (\d+), (\d) registers", report("ING-24")["manual"])
    of = mapped(
        *(entry(f"e{n}", 107 + n, printed=str(int(printed[1]) + n)) for n in range(3)),
    )
    server = Scripted(lambda a: [1] * a.count)
    rounds(server, [unit(1, of)], 1)
    (asked,) = server.asked
    assert (asked.function, asked.address, asked.count) == (3, 0x6B, int(printed[2]))


def test_ing_26_four_bytes_for_one_register_need_a_map_that_says_so(report) -> None:
    case = report("ING-26")
    request, reply = words_of(case["request"]), words_of(case["reply"])
    whole = reply + crc16(reply).to_bytes(2, "little")
    taken = rtu_frame(whole, units=(request[0],), function=request[1])
    assert taken.frame is not None
    assert taken.frame.pdu == reply[1:]
    place: dict[str, Any] = {"table": "input", "address": request[3], "printed": "30171"}
    plain = mapped({**entry("energy", 0), **place})
    wide = mapped(
        {**entry("energy", 0), **place, "type": "uint32", "order": "ABCD"},
        link={"wide_registers": True},
    )

    for of, right in ((plain, Quality.BAD_REPLY), (wide, 435.0)):
        server = Scripted(lambda a: whole, RTU)
        assert told(rounds(server, [unit(1, of)], 1)) == [right]
        assert bytes([1, 4, 0, server.asked[0].address, 0, server.asked[0].count]) == request


def test_ing_28_a_spike_outside_physics_is_kept_and_marked(report) -> None:
    polls = report("ING-28")["polls"]
    left = [round(value * 100) for value in polls]
    of = mapped(entry("ph", 0, scale="0.01", low="0", high="14"))
    found = rounds(Scripted(lambda a: [left.pop(0)]), [unit(1, of)], len(polls))
    assert [r.value for r in found] == polls
    assert [r.quality for r in found][2] == Quality.OUT_OF_RANGE
    assert found[2].words == (2500,)


def test_t30_answered_with_not_a_number_and_no_answer_are_two_reasons() -> None:
    of = mapped(entry("ph", 0, type="float32", order="ABCD"))
    slot = iter([[0x7FC0, 0], None])
    found = rounds(Scripted(lambda a: next(slot)), [unit(1, of)], 2)
    assert told(found) == [Quality.NOT_FINITE, Quality.NO_ANSWER]


def test_t18_marks_are_missing_and_never_zero() -> None:
    marks = {"int32": [0x8000, 0], "uint32": [0xFFFF, 0xFFFF]}
    for kind, words in marks.items():
        mark = words[0] << 16 | words[1]
        of = mapped(entry("ph", 0, type=kind, order="ABCD", missing=[mark]))
        found = rounds(Scripted(lambda a, said=words: said), [unit(1, of)], 1)
        assert told(found) == [Quality.MISSING_MARK]


def test_t17_orders_are_of_each_entry_not_of_the_instrument() -> None:
    of = mapped(
        entry("one", 0, type="float32", order="CDAB"),
        entry("two", 2, type="float32", order="ABCD"),
    )
    server = Scripted(lambda a: [0x8000, 0x4336, 0x4336, 0x8000])
    assert told(rounds(server, [unit(1, of)], 1)) == [182.5, 182.5]


def test_t16_a_value_in_the_wrong_order_is_flagged_and_not_a_calm_zero() -> None:
    of = mapped(entry("one", 0, type="float32", order="ABCD"))
    (reading,) = rounds(Scripted(lambda a: [0x8000, 0x4336]), [unit(1, of)], 1)
    assert (reading.value, reading.quality) == (None, Quality.DENORMAL)


@EVERY
def test_t26_an_instrument_that_always_says_the_same_block_gives_nothing_out_of_place(
    line: str,
) -> None:
    """Whatever is asked it answers with its four registers; a map may have them asked whole."""
    block = [712, 1, 2, 3]
    for of, right in (
        (mapped(PH, entry("other", 2)), [Quality.BAD_REPLY] * 2),
        (mapped(PH, link={"multiple_of": 4}), [7.12]),
        (mapped(PH, *(entry(f"r{n}", n) for n in (1, 2, 3))), [7.12, 1, 2, 3]),
    ):
        assert told(rounds(LINES[line](lambda a: answer(a, block)), [unit(1, of)], 1)) == right


@pytest.mark.parametrize(
    ("printed", "address", "base"),
    [("40108", 108, 1), ("40108", 106, 1), ("40107", 106, 0), ("0x006B", 108, 1)],
)
def test_t15_a_map_that_is_off_by_one_is_refused_with_both_forms(
    printed: str, address: int, base: int
) -> None:
    with pytest.raises(RuleError, match=f"{printed}.*{address}"):
        mapped(entry("flow", address, printed=printed), printed_base=base)


def test_t15_a_float_read_one_register_off_is_no_plausible_value() -> None:
    """Two floats at 0 and 2; a map of a wrong base reads the half of each."""
    held = [0x4336, 0x8000, 0x4337, 0x0000]
    of = mapped(entry("flow", 1, type="float32", order="ABCD", high="1000"))
    server = Scripted(lambda a: held[a.address : a.address + a.count])
    (found,) = rounds(server, [unit(1, of)], 1)
    assert (found.value, found.quality) == (None, Quality.DENORMAL)


@pytest.mark.parametrize("line", [RTU, ASCII])
def test_an_instrument_on_a_serial_line_is_read_whole_for_commissioning(line: Protocol) -> None:
    of = library.load("isco-2100")
    server = ScriptedLine(lambda a: 2 if a.address < 24 else [0] * a.count, line)

    async def read() -> list[str]:
        async with server, Link(server.endpoint, 0.5) as link:
            return [s.entry.name for s in await read_unit(link, 2, of) if not s.problem]

    found = asyncio.run(read())
    assert "flow" in found
    assert "model" not in found
