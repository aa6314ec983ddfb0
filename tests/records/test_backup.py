"""A backup restored into an empty database is what was saved, on either edition."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from os import environ
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from compliance.jobs.backup import restore
from compliance.records import readings, timescale
from compliance.records.trust import refuse_hidden_history
from tests.support.keeping import (
    DAY,
    MARCH,
    NOW,
    START,
    adopt,
    decided,
    numbers,
    old_manhole,
    pruned,
    put,
    rows,
    settle,
    window,
)  # fmt: skip
from tests.support.manhole import Manhole

TABLES = ("reading", "exceedance", "rollup_day", "audit", "destruction", "fold_hour", "city")

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    """A manhole with history, findings, a schedule and an audit log."""
    made = old_manhole(engine, end="2020-02")
    adopt(made.engine)
    return made


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs of the wheel are copied, once."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def run(home: Path) -> Run:
    """Runs a command on a database."""

    def started(engine: Engine, *words: object) -> subprocess.CompletedProcess[str]:
        url = engine.url.render_as_string(hide_password=False)
        return subprocess.run(
            [sys.executable, "-m", "app", *map(str, words)],
            env={**environ, "DATABASE_URL": url, "PRETREAT_HOME": str(home)},
            capture_output=True,
            text=True,
            check=False,
        )

    return started


def test_what_is_restored_is_what_was_saved_and_goes_on(
    mh: Manhole, empty: Engine, run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "pretreat.tar"
    saved = run(mh.engine, "backup", file, "--json")
    assert saved.returncode == 0, saved.stderr
    manifest = json.loads(saved.stdout)
    assert manifest["inventory"]["counts"]["reading"] == 2 * 29 * DAY
    assert file.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["pretreat.tar"]

    done = run(empty, "restore", file, "--json")
    assert done.returncode == 0, (done.stdout, done.stderr)
    told = json.loads(done.stdout)
    assert (told["whole"], told["difference"], told["needs_migrate"]) == (True, None, False)
    assert told["counts"] == manifest["inventory"]["counts"]
    assert told["audit"]["head"] == manifest["inventory"]["audit_head"] != ""

    there = _like(mh, empty)
    assert all(rows(there, table) == rows(mh, table) for table in TABLES)
    with mh.engine.connect() as one, empty.connect() as other:
        span = window("2020-02")
        assert timescale.edition(one) == timescale.edition(other)
        assert timescale.is_hypertable(other, "reading") == (timescale.edition(one) != "plain")
        assert readings.digest(other, mh.ph, span.start, span.end) == readings.digest(
            one, mh.ph, span.start, span.end
        )
    _goes_on(there)


def _like(mh: Manhole, engine: Engine) -> Manhole:
    return Manhole(engine=engine, ph=mh.ph, flow=mh.flow, coordinator=mh.coordinator)


def _goes_on(there: Manhole) -> None:
    """It takes readings, judges them, and still refuses to change its audit log."""
    refuse_hidden_history(there.engine)
    before = there.count("reading")
    put(there, numbers("2020-03", "2020-03"), worker="after")
    settle(there)
    assert there.count("reading") == before + 2 * MARCH
    with pytest.raises(DBAPIError, match="the audit log only grows"), there.engine.begin() as db:
        db.execute(text("DELETE FROM audit"))


def test_what_was_destroyed_is_still_closed_after_a_restore(
    mh: Manhole, empty: Engine, run: Run, tmp_path: Path
) -> None:
    assert pruned(decided(mh)) == {"ph": ["2020-02"], "flow": ["2020-02"]}
    file = tmp_path / "pretreat.tar"
    assert run(mh.engine, "backup", file).returncode == 0
    done = run(empty, "restore", file)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "as saved; head " in done.stdout
    with pytest.raises(readings.RefusedBatch, match="lies in a month whose readings were"):
        _like(mh, empty).put({5: 7.0}, worker="late", start=START)


@pytest.mark.long
def test_a_backup_is_of_one_instant_though_readings_go_on_coming(
    mh: Manhole, empty: Engine, run: Run, home: Path, tmp_path: Path
) -> None:
    stop, file = threading.Event(), tmp_path / "pretreat.tar"

    def storing() -> None:
        minute = 0
        while not stop.is_set():
            mh.put({minute: 7.0}, worker="live", start=NOW - timedelta(days=400))
            minute += 1

    writer = threading.Thread(target=storing)
    writer.start()
    try:
        saved = run(mh.engine, "backup", file, "--json")
    finally:
        stop.set()
        writer.join()
    assert saved.returncode == 0, saved.stderr
    counted = json.loads(saved.stdout)["inventory"]["counts"]["reading"]
    assert 2 * 29 * DAY < counted < mh.count("reading")
    assert restore(empty, file, home=home).difference is None
