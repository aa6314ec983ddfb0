"""What `pretreat ingest` runs: pollers on one event loop, spool and forwarder on two threads."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import structlog
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from compliance.errors import ComplianceError, SettingsError
from compliance.model.register_map import RegisterMap
from compliance.records import health, maps, sites
from compliance.records.engine import opened
from compliance.records.sites import GatewayPlan
from compliance.settings import Settings
from ingest import library
from ingest.forward import Forwarder
from ingest.poll import Watch
from ingest.spool import FRAME_READINGS, Spool, SpoolFailed
from ingest.unit import Unit

if sys.platform == "linux":
    import uvloop

COMMIT_SECONDS = 0.25
BEAT_SECONDS = 3.0
LAST_WORDS_SECONDS = 1.0
"""How long the forwarder may still work when the worker is told to stop."""
log = structlog.get_logger("ingest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A running spool with its forwarder."""

    spool: Spool
    forwarder: Forwarder


def run(settings: Settings, *, worker: str) -> dict[str, int]:
    """Poll every gateway of this installation until SIGTERM or SIGINT; what it then has done.

    Raises: SettingsError without a gateway or with a worker name that is no file name,
    StorageError without a database or when the spool is taken. A register map or channel that is
    unusable is a fault; the other instruments are polled.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}", worker):
        raise SettingsError(
            f"the worker's name is {worker!r}; expected letters, digits, '.', '_' and '-'"
        )
    with opened(settings) as engine:
        watched = _watched(engine, settings, worker=worker)
        with _line(engine, settings, worker=worker) as line:
            loop = uvloop.new_event_loop if sys.platform == "linux" else None
            with asyncio.Runner(loop_factory=loop) as runner:
                runner.run(_serve(engine, watched, line, process=f"ingest {worker}"))
    return {
        "accepted": line.spool.accepted,
        "stored": line.forwarder.stored,
        "quarantined": line.forwarder.quarantined,
    }


Watched = tuple[tuple[GatewayPlan, tuple[Unit, ...]], ...]


def _watched(engine: Engine, settings: Settings, *, worker: str) -> Watched:
    """What to poll, with the register maps it needs, which are published."""
    with engine.begin() as db:
        plans = sites.polled(db)
        if not plans:
            raise SettingsError("no gateway is configured here; add a site with instruments first")
        names = {i.instrument.map_name for plan in plans for i in plan.instruments}
        used = _maps(db, sorted(names), settings.home, worker=worker)
        for name, found in used.items():
            maps.publish(
                db,
                name=name,
                sha256=library.sha256(found),
                content=library.content(found),
                published_by=worker,
            )
        return tuple((plan, _units(db, plan, used, worker=worker)) for plan in plans)


def _maps(
    db: Connection, names: Sequence[str], home: Path, *, worker: str
) -> dict[str, RegisterMap]:
    """The maps that can be used; one that cannot is a fault, and its instruments are not read."""
    found: dict[str, RegisterMap] = {}
    for name in names:
        try:
            found[name] = library.load(name, home)
        except ComplianceError as error:
            _skip(db, worker, str(error))
    return found


def _units(
    db: Connection, plan: GatewayPlan, used: dict[str, RegisterMap], *, worker: str
) -> tuple[Unit, ...]:
    """The units of a gateway; one whose channels do not fit its map never stops the others."""
    units: list[Unit] = []
    for planned in plan.instruments:
        if planned.instrument.map_name not in used:
            continue
        try:
            units.append(Unit(planned, used[planned.instrument.map_name]))
        except ComplianceError as error:
            _skip(db, worker, f"gateway {plan.gateway.name}: {error}; this instrument is not read")
    return tuple(units)


def _skip(db: Connection, worker: str, why: str) -> None:
    log.warning("not read", why=why)
    health.fault(db, f"ingest {worker}", why)


@contextmanager
def _line(engine: Engine, settings: Settings, *, worker: str) -> Iterator[Line]:
    """The spool with a thread that commits and a thread that forwards; all is synced at the end."""
    folder = settings.home / "spool" / worker
    stop, done = threading.Event(), threading.Event()
    with Spool(folder, worker=worker, now=lambda: datetime.now(UTC)) as spool:
        line = Line(spool=spool, forwarder=Forwarder(spool, engine))
        committing = _thread(lambda: _commit(spool, stop), "commit")
        forwarding = _thread(lambda: line.forwarder.run(done), "forward")
        try:
            yield line
        finally:
            stop.set()
            committing.join()
            _try_commit(spool)
            _wait_until_forwarded(spool)
            done.set()
            spool.synced.set()
            forwarding.join(LAST_WORDS_SECONDS / 2)


def _wait_until_forwarded(spool: Spool) -> None:
    """Give the last readings a moment to reach the database; else they wait in the spool."""
    deadline = time.monotonic() + LAST_WORDS_SECONDS
    while spool.backlog_bytes() and time.monotonic() < deadline:
        time.sleep(0.02)


def _thread(work: Callable[[], None], name: str) -> threading.Thread:
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


def _commit(spool: Spool, stop: threading.Event) -> None:
    """One sync for what a quarter of a second brought, sooner when it is much."""
    well = True
    step = COMMIT_SECONDS / 10
    while not stop.is_set():
        for _ in range(10):
            if stop.wait(step) or (well and spool.waiting >= FRAME_READINGS):
                break
        now_well = _try_commit(spool, quiet=not well)
        if now_well and not well:
            log.warning("spool", state="works again")
        well = now_well


def _try_commit(spool: Spool, *, quiet: bool = False) -> bool:
    try:
        spool.commit()
    except SpoolFailed as error:
        if not quiet:
            log.error("spool", state=str(error))
        return False
    return True


async def _serve(engine: Engine, watched: Watched, line: Line, *, process: str) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    watches = [Watch(plan.gateway, units, line.spool.put) for plan, units in watched]
    tasks = [asyncio.create_task(_always(w, engine, process)) for w in watches]
    tasks.append(asyncio.create_task(_beat(engine, watches, line, process=process)))
    log.info("polling", gateways=len(watches))
    await stop.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _always(watch: Watch, engine: Engine, process: str) -> None:
    """The outermost loop of one gateway: a fault of ours is written down, and it goes on."""
    while True:
        try:
            await watch.run()
        except Exception as error:
            log.exception("gateway task", gateway=watch.gateway.name)
            what = f"gateway {watch.gateway.name}: {type(error).__name__}: {error}"
            await asyncio.to_thread(_write_fault, engine, process, what)
        await asyncio.sleep(1)


def _write_fault(engine: Engine, process: str, what: str) -> None:
    try:
        with engine.begin() as db:
            health.fault(db, process, what)
    except SQLAlchemyError as error:
        log.error("fault not written", what=what, reason=str(error).partition("\n")[0])


async def _beat(engine: Engine, watches: Sequence[Watch], line: Line, *, process: str) -> None:
    while True:
        detail = {
            "gateways": len(watches),
            "accepted": line.spool.accepted,
            "stored": line.forwarder.stored,
            "quarantined": line.forwarder.quarantined,
            "backlog_bytes": line.spool.backlog_bytes(),
            "states": {w.gateway.name: dict(w.faults) for w in watches if w.faults},
        }
        await asyncio.to_thread(_write_beat, engine, process, detail)
        await asyncio.sleep(BEAT_SECONDS)


def _write_beat(engine: Engine, process: str, detail: dict[str, object]) -> None:
    """Say that we live; a database that is away is the forwarder's news."""
    try:
        with engine.begin() as db:
            health.beat(db, process, detail)
    except SQLAlchemyError:
        return
