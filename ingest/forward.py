"""From the spool to the database, oldest frame first: COMMIT, then acknowledge. A thread."""

from __future__ import annotations

import random
import threading

import psycopg
import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from compliance.records import readings
from compliance.records.batch import Frame
from ingest.spool import Spool, Taken

LONGEST_PAUSE_SECONDS = 5.0
IDLE_SECONDS = 0.25
log = structlog.get_logger("ingest")


class Forwarder:
    """Carries one spool's frames to a database, again and again until they are there.

    stored: readings that were new to the database; quarantined: frames it would never take.
    """

    def __init__(self, spool: Spool, engine: Engine) -> None:
        self.stored = 0
        self.quarantined = 0
        self._spool, self._engine = spool, engine
        self._failures = 0

    def run(self, stop: threading.Event) -> None:
        """Forward until asked to stop; a database that is away is waited for."""
        while not stop.is_set():
            self._spool.synced.clear()
            try:
                self.drain(stop)
            except (SQLAlchemyError, psycopg.Error, OSError) as error:
                self._again(stop, "database", str(error).partition("\n")[0])
            except Exception as error:
                log.exception("forwarder")
                self._again(stop, "forwarder", f"{type(error).__name__}: {error}")
            else:
                self._spool.synced.wait(IDLE_SECONDS)

    def drain(self, stop: threading.Event | None = None) -> None:
        """Forward whatever the spool has.

        Raises: SQLAlchemyError or psycopg.Error when the database is away, OSError when the cursor
        cannot be written.
        """
        while (stop is None or not stop.is_set()) and (taken := self._spool.take()):
            self._forward(taken)
            self._spool.ack(taken)
            if self._failures:
                log.warning("forwarder", state="works again")
            self._failures = 0

    def _forward(self, taken: Taken) -> None:
        if taken.frame is None:
            self._quarantine(None, reason=taken.reason, content=taken.damaged)
            return
        try:
            self.stored += self._append(taken.frame)
        except readings.RefusedBatch as error:
            frame = taken.frame
            self._quarantine(frame.sequence, reason=str(error), content=frame.content)

    def _append(self, frame: Frame) -> int:
        with self._engine.begin() as db:
            return readings.append(
                db,
                worker=self._spool.worker,
                sequence=frame.sequence,
                batch_id=frame.batch_id,
                content=frame.content,
                count=frame.count,
                channels=frame.channels,
                since=frame.since,
                until=frame.until,
            )

    def _quarantine(self, sequence: int | None, *, reason: str, content: bytes) -> None:
        """Keep what cannot be stored, and go on with the rest."""
        with self._engine.begin() as db:
            readings.quarantine(
                db, worker=self._spool.worker, sequence=sequence, reason=reason, content=content
            )
        self.quarantined += 1
        log.error("frame quarantined", sequence=sequence, reason=reason)

    def _again(self, stop: threading.Event, what: str, state: str) -> None:
        """From the first frame not acknowledged, after a pause; logged when it turns."""
        self._spool.rewind()
        if self._failures == 0:
            log.warning(what, state=state)
        self._failures += 1
        stop.wait(self._pause())

    def _pause(self) -> float:
        longest = min(LONGEST_PAUSE_SECONDS, 0.2 * 2.0 ** min(self._failures, 10))
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter
