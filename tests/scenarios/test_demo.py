"""The main job as its user runs it: `pretreat demo`, from nothing to a bill, then nothing."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compliance.records import embedded

pytestmark = pytest.mark.long

SUMMARY = {
    "seconds_to_first_reading",
    "seconds_to_first_violation",
    "readings",
    "violations",
    "violations_live",
    "webhooks_delivered",
    "bills",
    "errors",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def home() -> Iterator[Path]:
    # Not pytest's own folder: the database's account must be able to enter it.
    with tempfile.TemporaryDirectory(prefix="pretreat-demo-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def start(home: Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "app", "demo", "--port", str(free_port())],
        env={**os.environ, "PRETREAT_HOME": str(home), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def processes_of(home: Path) -> list[str]:
    """Command lines of processes whose environment or arguments name the home."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            told = command + (folder / "environ").read_bytes()
        except OSError:
            continue
        if str(home).encode() in told and int(folder.name) != os.getpid():
            found.append(command.replace(b"\0", b" ").decode())
    return found


def gone(home: Path) -> bool:
    """Whether every process of the demo has ended, allowing the last a moment."""
    for _ in range(50):
        if not processes_of(home):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.database
def test_the_demo_goes_from_registers_to_bills_and_leaves_nothing_behind(home: Path) -> None:
    demo = start(home, DEMO_SECONDS="12")
    said, _ = demo.communicate(timeout=120)
    assert demo.returncode == 0, said
    summary = json.loads(said.strip().splitlines()[-1])
    assert set(summary) == SUMMARY
    assert summary["errors"] == 0, said
    assert summary["violations_live"] >= 1
    assert summary["violations"] > summary["violations_live"]
    assert summary["webhooks_delivered"] >= 1
    assert summary["bills"] >= 2
    assert summary["readings"] > 500_000
    assert gone(home), processes_of(home)


@pytest.mark.database
def test_ctrl_c_ends_the_demo_and_everything_it_started(home: Path) -> None:
    demo = start(home)
    assert demo.stdout is not None
    for line in demo.stdout:
        if "Ctrl-C ends everything" in line:
            break
    os.killpg(demo.pid, signal.SIGINT)
    said, _ = demo.communicate(timeout=60)
    assert demo.returncode == 0
    assert json.loads(said.strip().splitlines()[-1])["errors"] == 0, said
    assert gone(home), processes_of(home)


@pytest.mark.database
def test_a_killed_demo_leaves_no_orphans_but_a_database_that_the_next_one_stops(home: Path) -> None:
    demo = start(home)
    assert demo.stdout is not None
    for line in demo.stdout:
        if "Ctrl-C ends everything" in line:
            break
    demo.kill()
    demo.wait()
    demo.stdout.close()
    for _ in range(100):
        left = [line for line in processes_of(home) if "postgres" not in line]
        if not left:
            break
        time.sleep(0.1)
    assert left == []
    with embedded.running(home):
        pass
    assert gone(home), processes_of(home)


def test_a_port_in_use_is_one_sentence(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "app", "demo", "--port", str(port)],
            env={**os.environ, "PRETREAT_HOME": str(home)},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 2
    assert done.stderr.strip().splitlines() == [
        f"pretreat: port {port} is in use; choose another: PORT={port + 1} make demo"
    ]
