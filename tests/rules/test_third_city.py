"""A jurisdiction of another state: one file, no line of Python; it loads, judges and compares."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.commands import main

FILE = Path(__file__).parents[2] / "docs" / "examples" / "king_county.yaml"
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def pretreat(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``pretreat …``; returns its exit code and what it printed."""

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["pretreat", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out or err

    return run


def test_it_is_read_without_a_correction_or_a_warning(pretreat: Run) -> None:
    code, out = pretreat("rules", "check", str(FILE), "--json")
    assert code == 0
    assert json.loads(out)["warnings"] == []


def test_it_judges_an_export_beside_the_federal_rule(pretreat: Run, tmp_path: Path) -> None:
    readings = tmp_path / "readings.csv"
    values = ["7.0", "7.0", "4.90", "5.0", "12.0", "12.10", "7.0", "7.0"]
    rows = [
        f"2026-03-01T08:{minute:02}:00-08:00,M-1,ph,{value},SU"
        for minute, value in enumerate(values)
    ]
    readings.write_text("at,point,parameter,value,unit\n" + "\n".join(rows), encoding="utf-8")
    code, out = pretreat(
        "check", str(readings), "--ordinance", str(FILE), "--ordinance", "federal", "--json"
    )
    report = json.loads(out)
    assert code == 1
    assert report["ordinances"] == ["king_county", "federal"]
    assert {(one["rule"], one["side"], one["worst"]) for one in report["findings"]} == {
        ("king_county.ph", "below", "4.90"),
        ("king_county.ph", "above", "12.10"),
        ("federal.ph_floor", "below", "4.90"),
    }
    (aside,) = report["not_evaluated"]
    assert "king_county.ph_daily is judged as daily sustained min" in aside["reason"]


def test_it_is_compared_with_another_city(pretreat: Run) -> None:
    code, out = pretreat("rules", "diff", "prescott", str(FILE), "--json")
    assert code == 0
    told = {one["rule"]: one["change"] for one in json.loads(out)["differences"]}
    assert (told["ph"], told["temperature"], told["ph_daily"]) == ("changed", "gone", "added")
