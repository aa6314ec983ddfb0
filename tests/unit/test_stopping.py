"""Stopping: said by a signal at any moment, it neither waits for itself nor is forgotten."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

from app.stopping import Stop


def test_what_was_said_once_stays_said() -> None:
    stop = Stop()
    assert not stop.is_set()
    assert not stop.wait(0.01)
    stop.set()
    assert stop.is_set()
    assert stop.wait()


def test_a_storm_of_signals_ends_a_process_that_waits() -> None:
    program = textwrap.dedent(
        """
        from app import stopping
        stop = stopping.on_signals()
        print("ready", flush=True)
        while not stop.wait(0.001):
            pass
        print("stopped", flush=True)
        """
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    for _ in range(50):
        if child.poll() is None:
            os.kill(child.pid, signal.SIGTERM)
        time.sleep(0.001)
    assert child.communicate(timeout=10)[0] == "stopped\n"
