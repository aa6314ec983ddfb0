"""A worker's dealings with the database: what it is to poll, signs of life, faults. A thread.

None of it holds up polling: a database that is away leaves everything as it is.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import structlog
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from compliance.errors import ComplianceError, Refused, StorageError
from compliance.records import gaps, health, leases, maps, sites
from compliance.records.sites import GatewayPlan
from ingest.holding import Holding, Maps, map_names

RENEWED_SECONDS = leases.TTL.total_seconds() / 6
"""A third of the time to live would do; the other half finds what a dead worker left sooner."""
LOOKED_EVERY = 2
"""At each so manieth renewal it is looked whether the configuration has changed."""
PUBLISHED_SECONDS = 0.5
"""For so long at each renewal maps are published; the rest waits for the next."""
TOLD_AGAIN = timedelta(days=1)
AWAY = (SQLAlchemyError, StorageError, OSError)
"""What is raised while a database or a server is away."""
log = structlog.get_logger("ingest")


class Office(Protocol):
    """Where a worker learns what it polls. Every method may raise one of ``AWAY``."""

    def renew(self) -> Holding | None:
        """Say that the worker lives; what it polls, or None where nothing has changed.

        Raises: Refused where the worker's name is another's.
        """

    def hand_over(self, gateways: Collection[int]) -> None:
        """Give away gateways that are no longer polled."""

    def beat(self, detail: Mapping[str, Any]) -> None:
        """Say how the worker is."""

    def fault(self, what: str) -> None:
        """Write down what should not have happened."""

    def leave(self) -> None:
        """The worker ends."""


class DatabaseOffice:
    """The office in a database: leases, plans, heartbeats."""

    def __init__(self, engine: Engine, *, worker: str, spool: str, known: Maps) -> None:
        self._engine, self._worker, self._spool, self._maps = engine, worker, spool, known
        self._process = f"ingest {worker}"
        self._seen: tuple[frozenset[int], str] | None = None
        self._published: str | None = None
        self._to_publish: list[str] = []
        self.unusable: dict[str, str] = {}
        self._renewals = 0
        self._said = ""

    def renew(self) -> Holding | None:
        """Renew the leases, take a fair share, and read the plans where something has changed."""
        with self._engine.begin() as db:
            share = leases.renew(db, self._worker, spool=self._spool)
            mark = self._mark(db)
            same = (share.gateways, mark) == self._seen and not share.surplus
            holding = None if same else self._holding(db, share)
        if holding is not None:
            self._seen = (share.gateways, mark)
            self._say(share)
        self._publish_on()
        return holding

    def _mark(self, db: Connection) -> str:
        """The mark of the configuration, as it is or was a moment ago."""
        self._renewals += 1
        if self._seen is not None and self._renewals % LOOKED_EVERY:
            return self._seen[1]
        return f"{leases.configuration(db)} {self._maps.mark()}"

    def _holding(self, db: Connection, share: leases.Share) -> Holding:
        plans = tuple(p for p in sites.polled(db) if p.gateway.id in share.gateways)
        self._publish(db, plans)
        channels = [c.id for plan in plans for i in plan.instruments for c in i.channels]
        last = gaps.last_slots(db, channels, now=datetime.now(UTC))
        return Holding(plans=plans, claimed=share.claimed, surplus=share.surplus, last=last)

    def _publish(self, db: Connection, plans: Collection[GatewayPlan]) -> None:
        """Publish the maps in use; those to choose follow, once and after each change of a file."""
        mark = self._maps.mark()
        for name in map_names(plans):
            with suppress(ComplianceError):  # told where its gateway cannot be polled
                self._publish_one(db, name)
        if mark != self._published:
            self._to_publish, self._published = list(self._maps.names()), mark
            self.unusable = {}

    def _publish_on(self) -> None:
        """Publish more of the maps to choose, for a moment: signs of life go before them."""
        until = time.monotonic() + PUBLISHED_SECONDS
        while self._to_publish:
            self._publish_next(self._to_publish[0])
            del self._to_publish[0]
            if time.monotonic() >= until:
                break

    def _publish_next(self, name: str) -> None:
        with self._engine.begin() as db:
            try:
                self._publish_one(db, name)
            except ComplianceError as error:
                self.unusable = {**self.unusable, name: str(error)}
                what = f"register map {name} cannot be used: {error}"
                health.fault_once(db, self._process, what, within=TOLD_AGAIN)

    def _publish_one(self, db: Connection, name: str) -> None:
        found = self._maps[name]
        maps.publish(
            db,
            name=name,
            sha256=maps.sha256(found),
            content=maps.content(found),
            published_by=self._worker,
        )

    def _say(self, share: leases.Share) -> None:
        """Log what there is to poll, when it is another than before."""
        said = f"{len(share.gateways)} of {share.configured} gateways"
        if not share.configured:
            said = "no gateway is configured here yet; waiting for one"
        elif not share.gateways:
            said = "other workers poll every gateway; standing by"
        if said != self._said:
            log.info("share", state=said)
        self._said = said

    def hand_over(self, gateways: Collection[int]) -> None:
        """Give away gateways that are no longer polled."""
        with self._engine.begin() as db:
            leases.hand_over(db, self._worker, gateways)

    def beat(self, detail: Mapping[str, Any]) -> None:
        """Say how the worker is."""
        with self._engine.begin() as db:
            health.beat(db, self._process, {**detail, health.UNUSABLE_MAPS: self.unusable})

    def fault(self, what: str) -> None:
        """Write down what should not have happened."""
        with self._engine.begin() as db:
            health.fault(db, self._process, what)

    def leave(self) -> None:
        """The worker ends: its gateways are free."""
        with self._engine.begin() as db:
            leases.leave(db, self._worker)
            health.farewell(db, self._process)


class Clerk:
    """Runs an office on a thread of its own.

    told: called with each new holding, on this thread.
    """

    def __init__(self, office: Office, *, told: Callable[[Holding], None]) -> None:
        self._office, self._told = office, told
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._detail: Mapping[str, Any] = {}
        self._state = ""

    def run(self, stop: threading.Event) -> None:
        """Renew every second, and do what is asked for, until told to stop; then leave."""
        while not stop.is_set():
            self._try(self._renew)
            until = time.monotonic() + RENEWED_SECONDS
            while not stop.is_set() and (rest := until - time.monotonic()) > 0:
                with suppress(queue.Empty):
                    self._try(self._work.get(timeout=min(rest, 0.2)))
        while not self._work.empty():
            self._try(self._work.get())
        self._try(self._office.leave)

    def _renew(self) -> None:
        holding = self._office.renew()
        if holding is not None:
            self._told(holding)
        if self._detail:
            self._office.beat(self._detail)

    def _try(self, work: Callable[[], None]) -> None:
        try:
            work()
        except (*AWAY, Refused) as error:
            self._turn(str(error).partition("\n")[0])
        except Exception as error:  # the outermost loop of this thread
            log.exception("leases")
            self._turn(f"{type(error).__name__}: {error}")
        else:
            self._turn("")

    def _turn(self, state: str) -> None:
        if bool(state) != bool(self._state):
            log.warning("leases", state=state or "work again")
        self._state = state

    def report(self, detail: Mapping[str, Any]) -> None:
        """Have it told how the worker is: the first time at once, then at each renewal."""
        if not self._detail:
            self._work.put(lambda: self._office.beat(detail))
        self._detail = detail

    def fault(self, what: str) -> None:
        """Have a fault written down; without a database the log alone has it."""
        self._work.put(lambda: self._office.fault(what))

    def hand_over(self, gateways: Collection[int]) -> None:
        """Have gateways given away that are no longer polled."""
        self._work.put(lambda: self._office.hand_over(gateways))
