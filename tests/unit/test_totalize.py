"""``pretreat modbus totalize``: what it prints, what it says, and what it refuses."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.commands import main

START = datetime(2026, 3, 2, 6, tzinfo=UTC)

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def totalize(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs ``pretreat modbus totalize …`` on rows; returns exit code, output and what it said."""

    def run(rows: str | bytes, *arguments: str, modulus: str = "1000000") -> tuple[int, str, str]:
        file = tmp_path / "total.csv"
        file.write_bytes(rows if isinstance(rows, bytes) else rows.encode())
        words = ["pretreat", "modbus", "totalize", "--modulus", modulus, *arguments]
        monkeypatch.setattr(sys, "argv", [*words, str(file)])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    return run


def rows(*values: object, start: datetime = START) -> str:
    lines = [f"{(start + timedelta(minutes=n)).isoformat()},{v}" for n, v in enumerate(values)]
    return "\n".join(["at,value", *lines])


def test_the_command_gives_total_and_events_as_json(totalize: Run) -> None:
    code, out, err = totalize(rows(4294966100, 1850), modulus="4294967296")
    assert (code, err) == (0, "")
    event = {"at": "2026-03-02T06:01:00+00:00", "kind": "rollover"}
    assert json.loads(out) == {"total": "3046", "events": [event]}
    assert json.loads(totalize(rows("12.50"), "--json")[1]) == {"total": "0", "events": []}
    plain = totalize(gzip.compress(rows("0.10", "2.60").encode()), "--max-rate", "1")[1]
    assert json.loads(plain) == {"total": "2.5", "events": []}


def test_the_command_reads_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = io.TextIOWrapper(io.BytesIO(rows(3, 5).encode()))
    monkeypatch.setattr(sys, "stdin", text)
    monkeypatch.setattr(sys, "argv", ["pretreat", "modbus", "totalize", "--modulus", "100", "-"])
    with pytest.raises(SystemExit):
        main()
    assert json.loads(capsys.readouterr().out)["total"] == "2"


def test_the_capacity_makes_a_spike_suspect(totalize: Run) -> None:
    out = json.loads(totalize(rows(100, 160, 9999, 280), "--max-rate", "1.0")[1])
    assert out["total"] == "180"
    assert [event["kind"] for event in out["events"]] == ["suspect"]


def test_disorder_repeats_and_missing_values_are_handled_and_said(totalize: Run) -> None:
    lines = rows(100, "", 120, 130, "NaN").splitlines()
    mixed = "\n".join([lines[0], lines[3], lines[1], lines[2], lines[3], lines[4], lines[5]])
    code, out, err = totalize(mixed)
    assert (code, json.loads(out)) == (0, {"total": "30", "events": []})
    assert "2 of 6 rows have no reading" in err
    assert "not in time order" in err
    assert "1 rows repeat" in err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("at,value\nyesterday,5", "row 2, column at: found 'yesterday', expected a date"),
        ('at,value\n2026-03-02T06:00Z,"1,300"', "row 2, column value: found '1,300'"),
        ("at,value\n2026-03-02T06:00Z,1,300", "row 2: found 3 cells, expected 2"),
        ("at,value\n2026-03-02T06:00Z,1000000", "a count from 0 up to the modulus 1000000"),
        ("at,value\n2026-03-02T06:00Z,-1", "row 2, column value: found '-1'"),
        ("at,value\n2026-03-02T06:00Z,inf", "a plain number"),
        ("at,value\n2026-03-02T06:00Z,1\n2026-03-02T06:00Z,2", "row 3, column at: found the inst"),
        ("at,value\n2026-03-08 02:30,1", "the clock goes forward"),
        ("at,value\n2026-11-01 01:30,1", "which of the two passes"),
        ("time,value\n1,1", "row 1: found time, value; expected the columns at, value"),
        ("", "row 1: found nothing"),
        ("at,value\n", "no reading"),
        ("at,value,quality\n2026-03-02T06:00Z,1,fine", "column quality: found 'fine'"),
        (b"\x1f\x8bno", "cannot be read"),
        (b"at,value\n\xff\xff\xff", "is not text"),
    ],
)
def test_a_bad_row_is_one_sentence_and_exit_2(totalize: Run, text, says) -> None:
    code, out, err = totalize(text)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("modulus", ["1e6", "0", "-5", "0x100", "ten", "NaN", "0.000"])
def test_a_modulus_is_a_plain_decimal_above_zero(totalize: Run, modulus) -> None:
    code, _, err = totalize(rows(1), modulus=modulus)
    assert code == 2
    assert "--modulus is" in err


def test_the_repeated_hour_goes_by_the_order_of_the_rows(totalize: Run) -> None:
    hours = ["00:30", "01:30", "01:30", "02:30"]
    text = "\n".join(["at,value", *(f"2026-11-01 {h},{n * 3600}" for n, h in enumerate(hours))])
    code, out, err = totalize(text, "--max-rate", "0.9")
    assert (code, json.loads(out)) == (0, {"total": "10800", "events": []})
    assert "the order of the rows decided" in err


def test_a_reading_that_quality_calls_bad_is_no_reading(totalize: Run) -> None:
    text = rows("1,good", "999,bad", "3,").replace("at,value", "at,value,quality")
    assert json.loads(totalize(text)[1]) == {"total": "2", "events": []}
