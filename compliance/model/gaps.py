"""Gaps: why readings are missing."""

from __future__ import annotations

from dataclasses import dataclass

WORKER_DOWN = "worker was down"
HANDED_OVER = "the gateway went to another worker"
SET_UP = "the gateway was set up anew"
SUSPENDED = "the worker was held up, or its clock was set"
SPOOL_FULL = "spool full: readings refused"
THINNED = "spool nearly full: diagnostic channels thinned to one reading a minute"
SPARED = "spool nearly full: only compliance channels kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Why readings of some channels are missing in ``[since, until)``, microseconds since 1970.

    It says nothing of readings that are there: where another worker read a slot, it was read.
    """

    channels: tuple[int, ...]
    since_us: int
    until_us: int
    cause: str
