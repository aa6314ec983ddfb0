"""The benches on a database: small forms run, and their rows make sense. Nothing here is timed."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import pytest

from app.bench import evaluate, live, query, store
from app.bench.ground import ground
from app.commands import main
from app.commands.bench import Size, _print
from compliance.jobs.evaluate import evaluate as judge
from compliance.model.bench import Row
from compliance.settings import Settings

pytestmark = pytest.mark.long


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that the server's account may enter."""
    place = Path(tempfile.gettempdir()) / f"pretreat-tests-{os.geteuid()}-bench"
    monkeypatch.setenv("PRETREAT_HOME", str(place))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    return place


Printed = Callable[[str], list[dict[str, Any]]]


@pytest.fixture
def printed(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Printed:
    """Runs a bench as the command does: its rows, each with a peer."""

    def run(name: str) -> list[dict[str, Any]]:
        monkeypatch.setattr(sys, "argv", ["pretreat", "bench", name])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        assert not end.value.code, err
        report = json.loads(out)
        assert (report["bench"], report["size"]) == (name, "small")
        for row in report["rows"]:
            assert set(row) == {"what", "figure", "unit", "against", "against_figure", "ratio"}
            assert row["figure"] > 0 and row["against_figure"] > 0 and isfinite(row["ratio"])
        rows: list[dict[str, Any]] = report["rows"]
        return rows

    return run


def whats(rows: Sequence[dict[str, Any]]) -> str:
    return "\n".join(row["what"] for row in rows)


def test_store_tells_backlog_live_and_replay(
    printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(store.SIZES, "small", (2, 1, 2))
    rows = printed("store")
    assert [row["what"].partition(":")[0] for row in rows] == ["backlog", "live", "full replay"]
    assert {row["unit"] for row in rows} == {"readings/s"}


def test_query_tells_each_question_beside_its_limit_the_raw_rows_and_a_short_history(
    printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(query.SIZES, "small", (2, 10, 3600))
    rows = printed("query")
    against = [row["against"] for row in rows]
    assert against.count("the limit") == 4
    assert against.count("SQL over the raw rows") == 2
    assert against.count("the same while the history was short") == 4
    for question in ("last values", "24 hours", "10 days by hours", "daily loads of 2 users"):
        assert question in whats(rows)


def test_evaluate_tells_arrays_and_a_city_judged_again(
    printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(evaluate.SIZES, "small", (20_000, 2, 2))
    rows = printed("evaluate")
    assert len(rows) == 3
    assert "a city judged again" in whats(rows)


def test_live_sees_each_detection_that_it_caused(
    printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(live.SIZES, "small", (6, 6))
    rows = printed("live")
    seen = [row["figure"] < live.PATIENCE_SECONDS for row in rows]
    assert seen == [True, True], "a figure of all the patience says that nothing was detected"


def test_the_channels_of_a_bench_are_judged(home: Path) -> None:
    """They are commissioned: else a bench of judging would time nothing."""
    with ground(Settings(), users=1, per_user=2, interval_s=60) as engine:
        from_day = evaluate.stored(engine, 1)
        evaluate.mark(engine, 1)
        found = judge(engine, now=evaluate.end(1), release="bench")
    assert (from_day, found.readings) == (2 * 1440, 2 * 1440)


def test_the_table_for_people_has_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    less = Row(
        what="a question", figure=2.0, unit="ms", against="the limit", against_figure=5.0,
        is_less_better=True,
    )  # fmt: skip
    more = Row(
        what="a rate", figure=152_548.4, unit="readings/s", against="plain", against_figure=1e5
    )
    _print("query", Size.SMALL, (less, more), table=True)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ["2.50", "1.53"]
    assert "152,548" in lines[2]
