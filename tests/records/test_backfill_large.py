"""A large export: little memory, and a kill in the middle costs nothing but time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select

from compliance.records import tables as t
from tests.support.manhole import manhole

pytestmark = pytest.mark.long
START = datetime(2020, 1, 1, tzinfo=UTC)
COMMAND = """
import resource, sys
from app.commands import import_history
room = int(sys.argv.pop(1))
if room:
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + room, size + room))
import_history.command()
"""


def export(path: Path, rows: int) -> Path:
    """pH and flow at MH-1 by the second, time after time."""
    with path.open("w") as file:
        file.write("at,point,parameter,value,unit,quality\n")
        for n in range(rows // 2):
            at = f"{START + timedelta(seconds=n):%Y-%m-%dT%H:%M:%S}Z,MH-1,"
            file.write(f"{at}ph,{7 + n % 97 / 100:.2f},s.u.,good\n")
            file.write(f"{at}flow,{40 + n % 7919 / 10:.1f},gpm,\n")
    return path


def started(engine: Engine, home: Path, file: Path, *, room: int = 0) -> subprocess.Popen[str]:
    """The import as a process of its own. room: bytes of address space beyond its start."""
    url = engine.url.render_as_string(hide_password=False)
    environment = {**os.environ, "DATABASE_URL": url, "PRETREAT_HOME": str(home)}
    environment["OPENBLAS_NUM_THREADS"] = "1"
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(room), str(file), "--json"],
        env=environment,
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def counted(engine: Engine) -> int:
    with engine.connect() as db:
        return db.scalar(select(func.count()).select_from(t.reading)) or 0


def batches(engine: Engine) -> int:
    with engine.connect() as db:
        return db.scalar(select(func.count()).select_from(t.batch)) or 0


def test_two_million_rows_need_no_more_memory_than_a_few_blocks(
    engine: Engine, tmp_path: Path
) -> None:
    manhole(engine)
    path = export(tmp_path / "large.csv", 2_000_000)
    process = started(engine, tmp_path, path, room=128 * 1024**2)
    out, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert json.loads(out)["new"] == counted(engine) == 2_000_000


def test_a_killed_import_is_run_again_and_nothing_is_doubled(
    engine: Engine, tmp_path: Path
) -> None:
    manhole(engine)
    path = export(tmp_path / "large.csv", 200_000)
    process = started(engine, tmp_path, path)
    while batches(engine) < 3:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = counted(engine)
    assert 0 < before < 200_000
    again = started(engine, tmp_path, path)
    out, errors = again.communicate()
    found = json.loads(out)
    assert (again.returncode, errors) == (0, "")
    assert (found["present"], found["new"], found["conflicts"]) == (before, 200_000 - before, 0)
    with engine.connect() as db:
        sums = db.execute(
            select(t.batch.c.sequence, t.batch.c.readings).order_by(t.batch.c.sequence)
        ).all()
    assert sum(row.readings for row in sums) == counted(engine) == 200_000
