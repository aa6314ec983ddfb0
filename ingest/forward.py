"""From the spool to where readings are kept: stored there, then acknowledged here. A thread."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from typing import Protocol

import psycopg
import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from compliance.errors import StorageError
from compliance.records import arrivals
from compliance.records.arrivals import Arrived
from compliance.records.batch import Frame
from compliance.records.engine import verify
from ingest.outlet import Lane
from ingest.segments import Taken
from ingest.spool import Spool

LONGEST_PAUSE_SECONDS = 5.0
IDLE_SECONDS = 0.25
BACKLOG_SHARE = 0.5
"""Of the time, at most, that a backlog may take while what is new is stored beside it."""
log = structlog.get_logger("ingest")


class Carrier(Protocol):
    """Where frames go. Both raise StorageError, SQLAlchemyError, psycopg.Error or OSError while it
    is away."""

    def store(self, frames: Sequence[Frame]) -> Arrived:
        """Store frames, each once."""

    def set_aside(self, content: bytes, *, reason: str) -> None:
        """Keep damaged bytes with the reason."""


class ToDatabase:
    """Carries a worker's frames into a database, one transaction a call."""

    def __init__(self, engine: Engine, *, worker: str) -> None:
        self._engine, self._worker = engine, worker
        self._verified = False

    def store(self, frames: Sequence[Frame]) -> Arrived:
        """Store frames, each once. Raises: StorageError for a server that may not be trusted."""
        if not self._verified:  # it may have been away when the worker started
            verify(self._engine)
            self._verified = True
        with self._engine.begin() as db:
            return arrivals.store(db, frames, worker=self._worker)

    def set_aside(self, content: bytes, *, reason: str) -> None:
        """Keep damaged bytes with the reason."""
        with self._engine.begin() as db:
            arrivals.set_aside(
                db, worker=self._worker, sequence=None, reason=reason, content=content
            )


class Forwarder:
    """Carries one spool's frames to where they are kept, again and again until they are there.

    stored: readings that were new there; quarantined: pieces that it would never take.
    """

    def __init__(self, spool: Spool, carrier: Carrier) -> None:
        self.stored = 0
        self.quarantined = 0
        self.state = ""  # what does not work at the moment
        self._outlet, self._synced = spool.outlet, spool.synced
        self._carrier = carrier
        self._failures = 0
        self._rest_until = 0.0  # of the backlog, in seconds of the steady clock

    def run(self, stop: threading.Event) -> None:
        """Forward until asked to stop; a database that is away is waited for."""
        while not stop.is_set():
            self._synced.clear()
            try:
                self.drain(stop)
            except (StorageError, SQLAlchemyError, psycopg.Error, OSError) as error:
                self._again(stop, "database", str(error).partition("\n")[0])
            except Exception as error:
                log.exception("forwarder")
                self._again(stop, "forwarder", f"{type(error).__name__}: {error}")
            else:
                self._synced.wait(IDLE_SECONDS)

    def drain(self, stop: threading.Event | None = None) -> None:
        """Forward whatever the spool has, what is new before the backlog.

        Raises: what the carrier raises while the database is away, OSError when a cursor cannot be
        written.
        """
        while stop is None or not stop.is_set():
            if self._step(Lane.LIVE):
                continue
            rest = self._rest_until - time.monotonic() if self._outlet.is_split else 0.0
            if rest > 0 and stop is not None:
                self._synced.clear()
                self._synced.wait(rest)
            elif not self._step(Lane.BACKLOG) and not self._outlet.is_split:
                return

    def _step(self, lane: Lane) -> bool:
        """Carry the next few frames of a lane over; whether there were any."""
        began = time.monotonic()
        taken = self._outlet.take(lane)
        if not taken:
            return False
        self._carry(taken)
        self._outlet.ack(lane, taken[-1])
        if self._failures:
            log.warning("forwarder", state="works again")
        self._failures, self.state = 0, ""
        if lane is Lane.BACKLOG:
            now = time.monotonic()
            self._rest_until = now + (now - began) * (1 / BACKLOG_SHARE - 1)
        return True

    def _carry(self, taken: Sequence[Taken]) -> None:
        frames = [one.frame for one in taken if one.frame is not None]
        if frames:
            arrived = self._carrier.store(frames)
            self.stored += arrived.stored
            self._note_quarantined(arrived.quarantined, "refused by the database")
        for one in taken:
            if one.frame is None:
                self._carrier.set_aside(one.damaged, reason=one.reason)
                self._note_quarantined(1, one.reason)

    def _note_quarantined(self, count: int, reason: str) -> None:
        self.quarantined += count
        if count:
            log.error("quarantined", pieces=count, reason=reason)

    def _again(self, stop: threading.Event, what: str, state: str) -> None:
        """From the first frame not acknowledged, after a pause; logged when it turns."""
        self._outlet.rewind()
        if self._failures == 0:
            log.warning(what, state=state)
        self._failures += 1
        self.state = f"{what}: {state}"
        stop.wait(self._pause())

    def _pause(self) -> float:
        longest = min(LONGEST_PAUSE_SECONDS, 0.2 * 2.0 ** min(self._failures, 10))
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter
