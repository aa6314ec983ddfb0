"""Live facts: one LISTEN connection per web process feeds a queue for each open stream."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Event, Lock, Thread
from typing import Any

import psycopg
import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from app.tiles import fact
from compliance.errors import ComplianceError
from compliance.records import board, outbox, places, readings, windows
from compliance.records.engine import raw_connection
from compliance.records.scope import Scope

log = structlog.get_logger(__name__)

READINGS = "pretreat_dirty"
NEWEST = timedelta(hours=24)
EVERY = 1.0
BEAT = 5.0
ROOM = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something to tell a browser: ``None`` as name ends the stream."""

    name: str | None
    content: Any = None


@dataclass(slots=True, eq=False, kw_only=True)
class Stream:
    """One open stream: whose rows it may tell of, and what waits to be sent."""

    scope: Scope
    loop: asyncio.AbstractEventLoop
    queue: asyncio.Queue[Fact] = field(default_factory=lambda: asyncio.Queue(ROOM))

    def tell(self, fact: Fact) -> None:
        """Queue a fact from any thread; a browser too slow for it loses the oldest."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._put, fact)

    def _put(self, fact: Fact) -> None:
        if self.queue.full():
            self.queue.get_nowait()
        self.queue.put_nowait(fact)


class Hub:
    """Listens to the database and tells each stream what has changed, at most once a second."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._streams: set[Stream] = set()
        self._lock = Lock()
        self._stop = Event()
        self._thread = Thread(target=self._run, name="live", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def close(self) -> None:
        """End every stream and stop to listen. Safe to call from a signal handler, and twice."""
        self._stop.set()
        for stream in tuple(self._streams):
            stream.tell(Fact(name=None))

    @contextmanager
    def subscribed(self, scope: Scope) -> Iterator[Stream]:
        """A stream of facts that a scope may see, from now on."""
        stream = Stream(scope=scope, loop=asyncio.get_running_loop())
        with self._lock:
            self._streams.add(stream)
        try:
            yield stream
        finally:
            with self._lock:
                self._streams.discard(stream)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with raw_connection(self._engine) as raw:
                    self._listen(raw)
            except (SQLAlchemyError, psycopg.Error, ComplianceError) as error:
                if self._stop.is_set():
                    return
                log.warning("live updates wait for the database", reason=_first_line(error))
                self._stop.wait(EVERY)

    def _listen(self, raw: psycopg.Connection[Any]) -> None:
        raw.execute(f"LISTEN {READINGS}")
        raw.execute(f"LISTEN {outbox.CHANNEL}")
        heard = {READINGS, outbox.CHANNEL}  # what was said while nobody listened is lost: look
        beat_at = datetime.now(UTC)
        while not self._stop.is_set():
            for name in heard:
                self._tell(name)
            heard = {notice.channel for notice in raw.notifies(timeout=EVERY)}
            if datetime.now(UTC) - beat_at >= timedelta(seconds=BEAT):
                beat_at = datetime.now(UTC)
                self._tell("beat")

    def _tell(self, name: str) -> None:
        with self._lock:
            by_scope: dict[Scope, list[Stream]] = defaultdict(list)
            for stream in self._streams:
                by_scope[stream.scope].append(stream)
        for scope, streams in by_scope.items():
            said = self._fact(name, scope)
            for stream in streams:
                stream.tell(said)

    def _fact(self, name: str, scope: Scope) -> Fact:
        if name == READINGS:
            return Fact(name="readings", content=newest(self._engine, scope))
        if name == outbox.CHANNEL:
            with self._engine.connect() as db:
                return Fact(name="findings", content={"to_decide": board.to_decide(db, scope)})
        return Fact(name="beat", content={"at": datetime.now(UTC).isoformat()})


def newest(engine: Engine, scope: Scope) -> list[dict[str, Any]]:
    """The newest reading of every channel in a scope, as facts."""
    with engine.connect() as db:
        signals = places.signals(db, scope)
        now = datetime.now(UTC)
        ids = [one.channel_id for one in signals]
        latest = readings.latest(db, ids, since=now - NEWEST, until=now + timedelta(seconds=1))
        declared = windows.by_channel(db, ids, since=now, until=now + timedelta(seconds=1))
    now = datetime.now(UTC)
    return [
        fact(
            one,
            latest.get(one.channel_id),
            now=now,
            windows=declared.get(one.channel_id, ()),
        )
        for one in signals
    ]


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
