"""How a process stops: on SIGTERM and Ctrl-C, in order, and with the one that started it."""

from __future__ import annotations

import ctypes
import signal
from threading import Event

PR_SET_PDEATHSIG = 1


def on_signals() -> Event:
    """An event that SIGTERM or SIGINT sets."""
    stop = Event()
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
