"""How a process stops: on SIGTERM and Ctrl-C, in order, and with the one that started it."""

from __future__ import annotations

import ctypes
import os
import select
import signal
from threading import Event

PR_SET_PDEATHSIG = 1


class Stop(Event):
    """An event that a signal handler may set: it takes no lock, so it cannot wait for itself."""

    def __init__(self) -> None:
        super().__init__()
        self._ends = os.pipe()
        os.set_blocking(self._ends[1], False)

    def set(self) -> None:
        """Say that it is time to stop."""
        try:
            os.write(self._ends[1], b"!")
        except BlockingIOError:
            return  # said often enough

    def is_set(self) -> bool:
        """Whether it was said."""
        return self.wait(0)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is said, at most ``timeout`` seconds; whether it was."""
        return bool(select.select([self._ends[0]], [], [], timeout)[0])


def on_signals() -> Event:
    """An event that SIGTERM or SIGINT sets."""
    stop = Stop()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


def with_parent() -> None:
    """Ask the kernel to end this process when its parent dies: a killed parent leaves no orphans.

    Only Linux knows this; elsewhere nothing happens.
    """
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    except (OSError, AttributeError):
        return
