"""`pretreat bench poll`, much smaller: all of it is in the database, and what it says has form."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from app.commands import bench
from compliance.model.bench import Row
from ingest import bench_poll
from ingest.bench_plant import Shape
from ingest.bench_poll import Size

FEW = {"sound": 2}
BESIDE = {"sound": 2, "slow": 1, "lying": 3, "silent": 1, "closed": 1}


def test_what_is_polled_is_in_the_database_and_told_beside_a_peer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = Size(
        few=Shape(moods=FEW, warm=0, seconds=2),
        many=(Shape(moods=FEW, units=3, warm=0, seconds=2),),
        beside=Shape(moods=BESIDE, warm=0, seconds=2),
        peer_gateways=2,
        peer_seconds=0.5,
        with_thingsboard=False,
    )
    monkeypatch.setitem(bench_poll.SIZES, "small", size)
    done = CliRunner().invoke(bench.command, ["poll", "--size", "small"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["bench"], told["size"]) == ("poll", "small")
    rows = told["rows"]
    assert {tuple(sorted(row)) for row in rows} == {
        ("against", "against_figure", "figure", "ratio", "unit", "what")
    }
    stored = [row for row in rows if row["unit"] == "rows"]
    assert [row["figure"] for row in stored] == [2 * 3 * 20 * 2, 2 * 20 * 2]
    assert {row["ratio"] for row in stored} == {1}
    assert [row["unit"] for row in rows] == ["rows", "ms", "rows", "%", "ms", "readings/CPU s"]
    assert rows[-1]["against"].startswith("pymodbus, value by value")
    assert rows[-1]["against_figure"] > 0


def test_a_ratio_tells_how_many_times_as_fast_we_are() -> None:
    row = {"what": "w", "unit": "u", "against": "a", "against_figure": 200.0}
    assert Row(**row, figure=400.0).ratio == 2
    assert Row(**row, figure=50.0, is_less_better=True).ratio == 4
    assert Row(**row, figure=0.0, is_less_better=True).ratio > 1000
