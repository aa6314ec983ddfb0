"""What engineers reported, tried as a user would: ``pretreat modbus decode`` and ``totalize``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.commands import main

Said = Callable[..., dict[str, Any]]


@pytest.fixture
def modbus(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
    """Runs ``pretreat modbus …``, which must end with 0; returns the JSON that it prints."""

    def run(*words: object) -> dict[str, Any]:
        monkeypatch.setattr(sys, "argv", ["pretreat", "modbus", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def report(shared: Path) -> Callable[[str], dict[str, Any]]:
    cases = json.loads((shared / "cases" / "field_reports.json").read_text())
    return lambda id: next(case["input"] for case in cases if case["id"] == id)


def shown(found: dict[str, Any]) -> object:
    """The value, or why there is none."""
    return found["quality"] if found["value"] is None else found["value"]


def test_ing_01_the_documented_words_give_the_documented_flow(modbus: Said, report) -> None:
    case = report("ING-01")
    words = ["decode", "--type", case["type"], "--order"]
    assert shown(modbus(*words, case["configured_order"], *case["words"])) == "182.5"
    assert shown(modbus(*words, "ABCD", *case["words"])) == "suspect"


@pytest.mark.parametrize(
    ("kind", "order", "words", "right"),
    [
        ("float32", "ABCD", "0x3FC0 0x0000", "1.5"),
        ("float32", "BADC", "0xC03F 0x0000", "1.5"),
        ("float32", "DCBA", "0x0000 0xC03F", "1.5"),
        ("float32", "CDAB", "0x0000 0xC2F7", "-123.5"),
        ("float32", "ABCD", "0 0", "0"),
        ("float32", "ABCD", "0x0000 0x0001", "suspect"),
        ("float64", "ABCD", "0x4066 0xD000 0 0", "182.5"),
        ("float64", "CDAB", "0 0 0xD000 0x4066", "182.5"),
        ("uint32", "CDAB", "1 2", "131073"),
    ],
)
def test_ing_01_each_order_of_the_wire_is_told_apart(
    modbus: Said, kind: str, order: str, words: str, right: str
) -> None:
    assert shown(modbus("decode", "--type", kind, "--order", order, *words.split())) == right


def test_ing_04_the_sign_comes_before_the_scale(modbus: Said, report) -> None:
    case = report("ING-04")
    scaled = ["--scale", case["scale"], case["word"]]
    assert shown(modbus("decode", "--type", case["type"], *scaled)) == "-1.3"
    assert shown(modbus("decode", "--type", "uint16", *scaled)) == "6552.3"
    for kind, count in (("int16", 1), ("int32", 2), ("int64", 4)):
        said = modbus("decode", "--type", kind, "--scale", "0.01", *["0xFFFF"] * count)
        assert shown(said) == "-0.01"


def test_ing_07_a_sensor_error_is_missing_at_each_poll(modbus: Said, report) -> None:
    polls = [text.split()[0] for text in report("ING-07")["polls"]]
    words = ["decode", "--type", "uint16", "--scale", "0.01", "--missing", "0xFFFF"]
    assert [shown(modbus(*words, poll)) for poll in polls] == ["7.12", *["missing"] * 3, "7.20"]


def test_ing_08_every_mark_of_a_list_is_missing(modbus: Said, report) -> None:
    words = ["decode", "--type", "uint16", "--missing", "255", "--missing", "65535"]
    said = [shown(modbus(*words, word)) for word in report("ING-08")["words"]]
    assert said == ["21", "missing", "22", "missing"]
    for kind, mark, wire in (
        ("int16", "0x8000", ["0x8000"]),
        ("int32", "0x80000000", ["0x8000", "0"]),
        ("float32", "0x7FA00000", ["0x7FA0", "0"]),
        ("uint32", "4294967295", ["0xFFFF", "65535"]),
    ):
        assert shown(modbus("decode", "--type", kind, "--missing", mark, *wire)) == "missing"


def test_ing_22_digits_of_base_ten_thousand_are_not_text(modbus: Said, report) -> None:
    case, words = report("ING-22"), ["decode", "--type", "mod10k"]
    assert shown(modbus(*words, *case["words"])) == "120345"
    assert shown(modbus(*words, *case["words3"])) == "300410007"
    assert shown(modbus(*words, 3, 10_000)) == "bad"
    assert shown(modbus(*words, 0, 0, 0, 7)) == "7"


def test_ing_26_the_two_words_of_a_wide_register_are_one_value(modbus: Said, report) -> None:
    reply = bytes.fromhex(report("ING-26")["reply"].replace(" ", ""))
    words = [int.from_bytes(reply[at : at + 2]) for at in (3, 5)]
    assert shown(modbus("decode", "--type", "uint32", *words)) == "435"


def test_t30_not_a_number_is_bad_and_no_number_is_said(modbus: Said) -> None:
    for words in (["0x7FC0", "0"], ["0x7F80", "0"], ["0xFF80", "0"]):
        found = modbus("decode", "--type", "float32", *words)
        assert (found["value"], found["quality"]) == (None, "bad")
        assert found["reason"]


# -- totals


@pytest.fixture
def total(modbus: Said, tmp_path: Path) -> Callable[..., tuple[str, list[str]]]:
    """The total of readings a minute apart, and the kinds of what was odd."""

    def run(*values: object, modulus: int, max_rate: str = "") -> tuple[str, list[str]]:
        rows = [f"2026-03-02T06:{n:02}:00Z,{value}" for n, value in enumerate(values)]
        file = tmp_path / "total.csv"
        file.write_text("\n".join(["at,value", *rows]))
        rate = ["--max-rate", max_rate] if max_rate else []
        found = modbus("totalize", "--modulus", modulus, *rate, file)
        return found["total"], [event["kind"] for event in found["events"]]

    return run


def test_ing_17_a_rollover_of_any_modulus_is_counted_through(total, report) -> None:
    assert total(*report("ING-17")["polls"], modulus=2**32) == ("3046", ["rollover"])
    assert total(65_530, 4, modulus=2**16) == ("10", ["rollover"])
    assert total(999_990, 10, 30, modulus=10**6) == ("40", ["rollover"])
    assert total(9999.5, 0.25, modulus=10_000) == ("0.75", ["rollover"])


def test_ing_20_a_count_that_stays_low_began_again(total, report) -> None:
    case = report("ING-20")
    assert total(*case["polls"], modulus=case["modulus"]) == ("71", ["reset"])
    assert total(500_000, 500_100, 3, 5, 9, modulus=10**9) == ("109", ["reset"])


def test_ing_30_a_total_bridges_the_hours_without_data(total) -> None:
    assert total(410_200, 553_000, modulus=10**6) == ("142800", [])


def test_t19_a_blink_to_zero_books_nothing(total) -> None:
    found = total("40482.83", "0.0", "40482.83", "40483.00", modulus=10**6)
    assert found == ("0.17", ["suspect"])


def test_t20_a_step_back_of_one_resolution_is_nothing(total) -> None:
    assert total("100.3", "100.2", "100.5", modulus=10**6) == ("0.2", [])
