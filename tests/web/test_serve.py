"""`pretreat serve` as a process: it says where it listens, and stops when it is told to."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping

import httpx2
import pytest

pytestmark = pytest.mark.long

PASSWORD = "correct horse"


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from app.commands import main; main()", *arguments]


@pytest.fixture
def environment(town, tmp_path) -> Mapping[str, str]:
    url = town.engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    return {**os.environ, "DATABASE_URL": url, "PRETREAT_HOME": str(tmp_path)}


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_in_order_although_a_stream_is_open(environment, stop):
    with subprocess.Popen(
        command("serve", "--port", "0"), env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        with httpx2.Client(base_url=address, trust_env=False) as client:
            client.post("/signin", data={"login": "ana", "password": PASSWORD})
            with client.stream("GET", "/api/v1/live") as stream:
                lines = stream.iter_lines()
                next(line for line in lines if line.startswith("data:"))
                process.send_signal(stop)
                rest = list(lines)
        assert process.wait(20) == 0
    assert isinstance(rest, list)


def test_a_port_in_use_is_one_sentence_and_exit_two(environment):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            command("serve", "--port", port), env=environment, capture_output=True, text=True
        )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and f"port {port}" in done.stderr
