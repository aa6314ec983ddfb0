"""Waiting until something holds, with an end."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0
"""A loaded machine may need long; only a test that fails waits for all of it."""


def until(true: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Look fifty times a second; fails the test where it does not hold in time."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
