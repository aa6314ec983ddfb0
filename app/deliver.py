"""Outbox to signed webhooks: retried by the Standard Webhooks table, each receiver on its own."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from threading import Event, Lock

import psycopg
import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from standardwebhooks import Webhook

from app import wire
from app.guard import pinned
from compliance.errors import Refused
from compliance.records import outbox
from compliance.records.engine import raw_connection
from compliance.settings import Network, Settings

log = structlog.get_logger(__name__)

WAITS = tuple(
    timedelta(seconds=s) for s in (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
)
"""Between one attempt and the next; after the last of them the delivery is dead."""
JITTER = 0.1
SECONDS = 15.0
"""For all of an attempt: looking the name up, dialling, sending, and whatever comes back."""
LONGEST_RETRY_AFTER = timedelta(hours=24)
GONE = 410
PATIENCE = timedelta(days=5)
"""Nothing but failure for so long disables an endpoint."""
WORKERS = 32
FOR_FAILING = 24
"""Of the workers, so many at most wait for receivers that failed last time."""


def run(settings: Settings, engine: Engine, stop: Event) -> None:
    """Deliver what is due until ``stop`` is set; looks at least once a second."""
    sender = Sender(engine, settings.webhook_networks)
    pause = 1.0
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="deliver") as pool:
        while not stop.is_set():
            try:
                with raw_connection(engine) as listening:
                    listening.execute(f"LISTEN {outbox.CHANNEL}")
                    while not stop.is_set():
                        sender.round(pool)
                        _await_notice(listening)
            except (SQLAlchemyError, psycopg.Error) as error:
                log.warning("deliveries wait for the database", reason=str(error).split("\n")[0])
                stop.wait(pause)


def _await_notice(listening: psycopg.Connection[tuple[object, ...]]) -> None:
    for _ in listening.notifies(timeout=1.0, stop_after=1):
        return


class Sender:
    """Claims deliveries and sends them, at most one at a time for each endpoint."""

    def __init__(self, engine: Engine, allowed: tuple[Network, ...]) -> None:
        self._engine = engine
        self._allowed = allowed
        self._busy: dict[int, bool] = {}  # by endpoint, whether it is one that fails
        self._lock = Lock()

    def round(self, pool: ThreadPoolExecutor) -> int:
        """Hand what is due to the workers that are free; returns how many.

        Receivers that answered last time come first, and those that did not never take every
        worker: however many of them drip, the others go on.
        """
        handed = 0
        for failing in (False, True):
            with self._lock:
                busy = dict(self._busy)
            free = WORKERS - len(busy)
            if failing:
                free = min(free, FOR_FAILING - sum(busy.values()))
            if free <= 0:
                continue
            with self._engine.begin() as db:
                claimed = outbox.due(
                    db, now=datetime.now(UTC), busy=tuple(busy), limit=free, failing=failing
                )
            with self._lock:
                self._busy.update((one.endpoint_id, failing) for one in claimed)
            for one in claimed:
                pool.submit(self._deliver, one)
            handed += len(claimed)
        return handed

    def _deliver(self, one: outbox.Due) -> None:
        """Send, and go on with the endpoint's next delivery while there is one."""
        try:
            current: outbox.Due | None = one
            while current is not None:
                current = self._send_and_claim(current)
        except (SQLAlchemyError, psycopg.Error) as error:
            log.warning("an attempt could not be recorded", reason=str(error).split("\n")[0])
        finally:
            with self._lock:
                self._busy.pop(one.endpoint_id, None)

    def _send_and_claim(self, one: outbox.Due) -> outbox.Due | None:
        attempt, retry_after = send(one, self._allowed)
        gone = attempt.status == GONE
        again = None if gone else next_attempt(one.attempts, attempt, retry_after)
        with self._engine.begin() as db:
            outbox.record_attempt(db, one, attempt, next_at=again, gone=gone)
            if attempt.status is None or attempt.status >= 300:
                outbox.give_up(db, one.endpoint_id, failing_before=attempt.at - PATIENCE)
                return None
            now = datetime.now(UTC)
            claimed = outbox.due(db, now=now, limit=1, only=one.endpoint_id)
        return claimed[0] if claimed else None


def send(
    one: outbox.Due, allowed: tuple[Network, ...] = (), *, seconds: float = SECONDS
) -> tuple[outbox.Attempt, timedelta | None]:
    """One attempt: signed at this moment over the exact bytes; and the wait the receiver asks.

    seconds: for all of it.
    """
    at = datetime.now(UTC)
    headers = signed(one, at)
    began = time.monotonic()
    status: int | None = None
    answered: Mapping[str, str] = {}
    try:
        said = _post(one, headers, allowed, deadline=wire.Deadline(seconds))
        status, answered = said.status, said.headers
        answer = said.body.decode("utf-8", "replace")
    except (*wire.FAILURES, Refused) as error:
        answer = f"{type(error).__name__}: {error}"
    attempt = outbox.Attempt(
        at=at,
        status=status,
        milliseconds=round(1000 * (time.monotonic() - began)),
        headers=headers,
        answer=answer.replace("\x00", "\ufffd"),
    )
    return attempt, _retry_after(status, answered, at)


def signed(one: outbox.Due, at: datetime) -> dict[str, str]:
    """The headers of an attempt at an instant; the id stays the same from attempt to attempt."""
    return {
        "content-type": "application/json; charset=utf-8",
        "user-agent": "pretreat-webhooks",
        "webhook-id": one.message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(one.secret).sign(one.message_id, at, one.body),
    }


def _post(
    one: outbox.Due,
    headers: Mapping[str, str],
    allowed: tuple[Network, ...],
    *,
    deadline: wire.Deadline,
) -> wire.Answer:
    where = pinned(one.url, allowed, seconds=deadline.left())
    return wire.post(one.url, one.body.encode(), headers, where=where, deadline=deadline)


def next_attempt(
    made: int, attempt: outbox.Attempt, retry_after: timedelta | None
) -> datetime | None:
    """When to try again after an attempt that followed ``made`` others; None: no more."""
    delivered = attempt.status is not None and 200 <= attempt.status < 300
    if delivered or made >= len(WAITS):
        return None
    wait = WAITS[made] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - spreads load
    return attempt.at + max(wait, retry_after or wait)


def _retry_after(status: int | None, headers: Mapping[str, str], at: datetime) -> timedelta | None:
    said = headers.get("retry-after", "")
    if status not in (429, 503) or not said:
        return None
    try:
        wait = timedelta(seconds=int(said)) if said.isdigit() else parsedate_to_datetime(said) - at
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(wait, timedelta(0)), LONGEST_RETRY_AFTER)
