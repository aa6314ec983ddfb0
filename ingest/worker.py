"""What `pretreat ingest` runs: pollers on one event loop; spool, forwarder, leases on threads."""

from __future__ import annotations

import asyncio
import gc
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from compliance.errors import SettingsError
from compliance.model.reach import Reach
from compliance.records import schema
from compliance.records.engine import Unreachable, make_engine, opened, verify
from compliance.settings import Settings
from ingest import enquiry
from ingest.enquiry import DatabaseDesk
from ingest.forward import Carrier, Forwarder, ToDatabase
from ingest.holding import Holding, Kept, Maps
from ingest.office import AWAY, Clerk, DatabaseOffice, Office
from ingest.quota import Level, Quota, disk
from ingest.remote import Remote, RemoteOffice, ToServer
from ingest.shift import Shift
from ingest.spool import FRAME_READINGS, Spool, SpoolFailed

if sys.platform == "linux":
    import uvloop

COMMIT_SECONDS = 0.25
BEAT_SECONDS = 2.0
HELD_UP_SECONDS = 60.0
"""A beat that comes so late was kept from running."""
CLOCK_SET_SECONDS = 0.9
"""A wall clock that runs so far ahead of the steady one between two beats was set."""
SETTLED_SECONDS = 10.0
"""After a change of what is polled its gateways are connected by then."""
LAST_WORDS_SECONDS = 1.0
"""How long the forwarder may still work when the worker is told to stop."""
log = structlog.get_logger("ingest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A running spool with its forwarder."""

    spool: Spool
    forwarder: Forwarder


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a worker polls by: its office, what it last had, and the register maps.

    questions: those of people to instruments; a remote site takes none.
    reach: how far those go.
    """

    office: Office
    kept: Kept
    maps: Maps
    reach: Reach
    questions: enquiry.Desk | None = None


def run(settings: Settings, *, worker: str, remote: Remote | None = None) -> dict[str, int]:
    """Poll this worker's share of the gateways until SIGTERM or SIGINT; what it then has done.

    remote: the server that a remote site sends to; it then opens no database.
    Raises: SettingsError for a worker name that is no file name, StorageError when the spool is
    taken, or the database may not be trusted or has another schema.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}", worker):
        raise SettingsError(
            f"the worker's name is {worker!r}; expected letters, digits, '.', '_' and '-'"
        )
    folder = settings.home / "spool" / worker
    quota = Quota(most=settings.spool_bytes, disk=lambda: disk(folder))
    known = Maps(settings.home)
    with (
        Spool(folder, worker=worker, now=lambda: datetime.now(UTC), quota=quota) as spool,
        _placed(settings, spool, remote, known) as (carrier, office, questions),
    ):
        desk = Desk(
            office=office,
            kept=Kept(folder),
            maps=known,
            reach=Reach.of(settings.field_places),
            questions=questions,
        )
        first = _first(desk)
        with _line(spool, carrier) as line:
            loop = uvloop.new_event_loop if sys.platform == "linux" else None
            with asyncio.Runner(loop_factory=loop) as runner:
                runner.run(_serve(desk, line, first))
    return {
        "accepted": spool.accepted,
        "stored": line.forwarder.stored,
        "quarantined": line.forwarder.quarantined,
    }


@contextmanager
def _placed(
    settings: Settings, spool: Spool, remote: Remote | None, known: Maps
) -> Iterator[tuple[Carrier, Office, enquiry.Desk | None]]:
    """Where this worker's frames go, where its orders come from, and people's questions."""
    if remote is not None:
        with remote.opened() as client:
            folder = settings.home / "spool" / spool.worker
            yield ToServer(client, folder=folder), RemoteOffice(client, known=known), None
        return
    with _database(settings) as engine:
        office = DatabaseOffice(engine, worker=spool.worker, spool=spool.id, known=known)
        questions = DatabaseDesk(engine, worker=spool.worker)
        yield ToDatabase(engine, worker=spool.worker), office, questions


@contextmanager
def _database(settings: Settings) -> Iterator[Engine]:
    """An engine on a database that may be away, but not one that may not be trusted."""
    if settings.database_url is None:
        with opened(settings) as engine:
            schema.require(engine)
            yield engine
        return
    engine = make_engine(settings.database_url, base_url=settings.base_url)
    try:
        try:
            verify(engine)
            schema.require(engine)
        except (Unreachable, OperationalError) as error:
            log.warning("database", state=str(error).partition("\n")[0])
        yield engine
    finally:
        engine.dispose()


def _first(desk: Desk) -> Holding:
    """What to poll at the start: as the office says, and while that is away, as it was before.

    Raises: Refused where the worker's name is another's.
    """
    try:
        return desk.office.renew() or Holding(plans=())
    except AWAY as error:
        plans = desk.kept.read()
        state = f"polls the {len(plans)} gateways it had" if plans else "waits: it had no gateway"
        log.warning("without a database", state=state, reason=str(error).partition("\n")[0])
        return Holding(plans=plans)


@contextmanager
def _line(spool: Spool, carrier: Carrier) -> Iterator[Line]:
    """The spool with a thread that commits and a thread that forwards; all is synced at the end."""
    stop, done = threading.Event(), threading.Event()
    line = Line(spool=spool, forwarder=Forwarder(spool, carrier))
    committing = _thread(lambda: _commit(spool, stop), "commit")
    forwarding = _thread(lambda: line.forwarder.run(done), "forward")
    try:
        yield line
    finally:
        stop.set()
        committing.join()
        _try_commit(spool)
        _wait_until_forwarded(line)
        done.set()
        spool.synced.set()
        forwarding.join(LAST_WORDS_SECONDS / 2)


def _wait_until_forwarded(line: Line) -> None:
    """Give the last readings a moment to reach the database; else they wait in the spool."""
    deadline = time.monotonic() + LAST_WORDS_SECONDS
    while time.monotonic() < deadline and not line.forwarder.state:
        if not line.spool.outlet.backlog_bytes():
            return
        time.sleep(0.02)


def _thread(work: Callable[[], None], name: str) -> threading.Thread:
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


def _commit(spool: Spool, stop: threading.Event) -> None:
    """One sync for what a quarter of a second brought, sooner when it is much."""
    well, level = True, Level.ROOMY
    step = COMMIT_SECONDS / 10
    while not stop.is_set():
        for _ in range(10):
            if stop.wait(step) or (well and spool.waiting >= FRAME_READINGS):
                break
        now_well = _try_commit(spool, quiet=not well)
        if now_well and not well:
            log.warning("spool", state="works again")
        if spool.level is not level:
            log.warning("spool", state=f"over {spool.level} % full" if spool.level else "has room")
        well, level = now_well, spool.level


def _try_commit(spool: Spool, *, quiet: bool = False) -> bool:
    try:
        spool.commit()
    except SpoolFailed as error:
        if not quiet:
            log.error("spool", state=str(error))
        return False
    return True


async def _serve(desk: Desk, line: Line, first: Holding) -> None:
    stop, ending = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    holdings: asyncio.Queue[Holding] = asyncio.Queue()
    holdings.put_nowait(first)
    clerk = Clerk(desk.office, told=lambda new: _tell(loop, holdings, new))
    shift = Shift(line.spool, desk.maps, fault=clerk.fault)
    thread = _thread(lambda: clerk.run(ending), "leases")
    tasks = [
        asyncio.create_task(_follow(holdings, shift, clerk, desk.kept)),
        asyncio.create_task(_beat(shift, line, clerk)),
    ]
    if desk.questions is not None:
        asking = enquiry.attend(
            desk.questions, shift, desk.maps, reach=desk.reach, fault=clerk.fault
        )
        tasks.append(asyncio.create_task(asking))
    await stop.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await shift.end()
    ending.set()
    thread.join(LAST_WORDS_SECONDS)


def _tell(loop: asyncio.AbstractEventLoop, holdings: asyncio.Queue[Holding], new: Holding) -> None:
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(holdings.put_nowait, new)


async def _follow(holdings: asyncio.Queue[Holding], shift: Shift, clerk: Clerk, kept: Kept) -> None:
    """Poll what is held, whenever that changes; what is too much is first no longer polled."""
    loop = asyncio.get_running_loop()
    while True:
        holding = await holdings.get()
        await shift.take(holding)
        gc.unfreeze()  # what is no longer polled goes with this collection
        _set_aside()
        loop.call_later(SETTLED_SECONDS, _set_aside)
        if holding.surplus:
            clerk.hand_over(await shift.drop(holding.surplus))
        try:
            kept.write(holding.plans)
        except OSError as error:
            log.warning("configuration not kept", reason=error.strerror)


def _set_aside() -> None:
    """Leave what will stay out of later collections: they would hold up every gateway.

    With some ten thousand channels each went through a million objects for a third of a second, and
    found nothing.
    """
    gc.collect()
    gc.freeze()


async def _beat(shift: Shift, line: Line, clerk: Clerk) -> None:
    """Tell how the worker is, and notice when nothing ran for long."""
    wall, steady = time.time(), time.monotonic()
    worry = (False, Level.ROOMY)
    while True:
        clerk.report(_detail(shift, line))
        worry = _alarm(line.spool, clerk, worry)
        await asyncio.sleep(BEAT_SECONDS)
        late, ran = time.time() - wall, time.monotonic() - steady
        if late > HELD_UP_SECONDS or late - ran > CLOCK_SET_SECONDS:
            shift.held_up(since_us=int(wall * 1e6), until_us=int((wall + late) * 1e6))
        wall, steady = wall + late, steady + ran


def _alarm(spool: Spool, clerk: Clerk, before: tuple[bool, Level]) -> tuple[bool, Level]:
    """Have it written down when the spool fails, or fills up beyond another mark."""
    worry = (bool(spool.state), spool.level)
    if spool.state and not before[0]:
        clerk.fault(spool.state)
    elif spool.level > before[1]:
        clerk.fault(f"the spool of {spool.worker} is over {spool.level} % full")
    return worry


def _detail(shift: Shift, line: Line) -> dict[str, object]:
    """What a beat tells: spool_percent is that from which the present level holds."""
    return {
        "gateways": shift.gateways,
        "accepted": line.spool.accepted,
        "stored": line.forwarder.stored,
        "quarantined": line.forwarder.quarantined,
        "backlog_bytes": line.spool.outlet.backlog_bytes(),
        "spool_percent": int(line.spool.level),
        "spool": line.spool.state,
        "forwarder": line.forwarder.state,
        "states": shift.states,
        "thrown_away": shift.thrown_away,
    }
