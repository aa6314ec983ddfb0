"""`pretreat demo`: everything from nothing. It prepares a database, then only starts processes."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import shutil
import sys
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Annotated

import typer
from sqlalchemy import Engine

from app import auth, receiver, stopping
from app.commands.seed_site import site_document
from app.demo import plan, processes
from compliance import settings
from compliance.errors import InputError, SettingsError
from compliance.jobs import site
from compliance.model.sites import Role
from compliance.records import counts, days, embedded, outbox, people, schema, sites
from compliance.records.engine import make_engine, verify
from compliance.settings import Settings
from ingest import scenario as scenarios

command = typer.Typer(add_completion=False)

DATABASE = "pretreat_demo"
FIRST_SIMULATED_PORT = 15021
FIRST_RECEIVER_PORT = 15091


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where the demo plays: its database, its ports, its folder, its secrets."""

    engine: Engine
    world: scenarios.Scenario
    started_at: datetime
    began: float
    folder: Path
    port: int
    simulated: int
    receiver: int
    secret: str
    password: str

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@command.callback(invoke_without_command=True)
def demo(
    port: Annotated[int, typer.Option(help="Where the web answers.", min=1, max=65535)] = 8000,
    receive: Annotated[int, typer.Option(hidden=True)] = 0,
) -> None:
    """Two sample cities, simulated manholes, ingest, evaluation, web; until Ctrl-C.

    DEMO_SECONDS=60 ends it by itself and prints a summary. Example: pretreat demo --port 8001
    """
    if receive:
        receiver.run(receive, os.environ["PRETREAT_DEMO_SECRET"])
        return
    seconds = _seconds()
    began, started_at = time.monotonic(), datetime.now(UTC)
    stop = stopping.on_signals()
    if not processes.port_is_free(port):
        raise InputError(f"port {port} is in use; choose another: PORT={port + 1} make demo")
    with _stage(settings.load(), port=port, began=began, started_at=started_at) as stage:
        _say(f"starting: database {DATABASE}, {len(stage.world.manholes)} control manholes")
        children: list[processes.Child] = []
        try:
            if _start(stage, children, stop):
                _greet(stage)
            first = _watch(stage, children, stop, seconds=seconds)
        finally:
            failed = processes.stop(children)
        _summary(stage, first, failed=failed)


def _seconds() -> float | None:
    text = os.environ.get("DEMO_SECONDS")
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise SettingsError(f"DEMO_SECONDS is {text!r}; expected a number of seconds") from None


@contextmanager
def _stage(
    configured: Settings, *, port: int, began: float, started_at: datetime
) -> Iterator[Stage]:
    """A fresh database with the demo's cities and people, and free ports."""
    world = scenarios.load(scenarios.find("demo"))
    simulated = processes.claim_ports(FIRST_SIMULATED_PORT, count=len(world.manholes))
    receiving = processes.claim_ports(FIRST_RECEIVER_PORT, count=1)
    with embedded.running(configured.home) as server:
        folder = _fresh_folder(configured.home)
        server.ensure_database(DATABASE, fresh=True)
        engine = make_engine(server.url(DATABASE))
        verify(engine)
        schema.upgrade(engine)
        stage = Stage(
            engine=engine,
            world=world.moved(simulated.first),
            started_at=started_at,
            began=began,
            folder=folder,
            port=port,
            simulated=simulated.first,
            receiver=receiving.first,
            secret="whsec_" + b64encode(secrets.token_bytes(24)).decode(),
            password="-".join(secrets.token_hex(2) for _ in range(3)),
        )
        _cast(stage)
        try:
            yield stage
        finally:
            engine.dispose()
            simulated.release()
            receiving.release()


def _fresh_folder(home: Path) -> Path:
    """The demo's own folder, emptied: an old spool belongs to a database that is gone."""
    folder = home / "demo"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "logs").mkdir(parents=True)
    return folder


def _cast(stage: Stage) -> None:
    """Cities, instruments, people, and the receiver of webhooks."""
    demo_plan = plan.load()
    site.store(stage.engine, site_document(stage.world, demo_plan, stage.started_at))
    password = auth.hashed(stage.password)
    with stage.engine.begin() as db:
        cities = {city.slug: city.id for city in sites.cities(db)}
        users = {user.name: user.id for user in days.users(db)}
        for person in demo_plan.people:
            people.add(
                db,
                login=person["login"],
                name=person["name"],
                password=password,
                role=Role(person["role"]),
                office=person["office"],
                city_id=cities.get(person.get("city", "")),
                industrial_user_id=users.get(person.get("user", "")),
            )
        outbox.add_endpoint(db, url=f"http://127.0.0.1:{stage.receiver}/hooks", secret=stage.secret)


def _start(stage: Stage, children: list[processes.Child], stop: Event) -> bool:
    """Start every process; history is filled in while the manholes are already read.

    False when it is time to stop before all of them answer.
    """
    url = stage.engine.url.render_as_string(hide_password=False)
    environment = {
        "DATABASE_URL": url,
        "PRETREAT_HOME": str(stage.folder),
        "PRETREAT_BASE_URL": stage.address,
        "PRETREAT_WEBHOOK_ALLOW": "127.0.0.0/8",
        "PRETREAT_FIELD_ALLOW": "127.0.0.0/8",
        "PRETREAT_DEMO_SECRET": stage.secret,
    }
    start = stage.started_at.isoformat(timespec="seconds")
    ports = ["--port-base", str(stage.simulated)]
    for name, words in (
        ("ingest", ["ingest", "--worker", "demo"]),
        ("simulate", ["modbus", "simulate", "demo", "--start", start, *ports]),
        ("work", ["work"]),
        ("serve", ["serve", "--port", str(stage.port)]),
        ("receiver", ["demo", "--receive", str(stage.receiver)]),
    ):
        children.append(
            processes.start(name, words, environment=environment, logs=stage.folder / "logs")
        )
    seed = ["seed", "--started-at", start]
    history = processes.start("history", seed, environment=environment, logs=stage.folder / "logs")
    children.append(history)
    if not processes.wait(history, stop):
        return False
    children.remove(history)
    if not processes.answers(stage.port, within=30):
        raise InputError(f"the web did not start; see {stage.folder / 'logs' / 'serve.log'}")
    return True


def _greet(stage: Stage) -> None:
    url = stage.engine.url.render_as_string(hide_password=False)
    _say(f"\n  Pretreat is at {stage.address}\n")
    _say(f"  {'sign in as':14}{'who':22}password for all: {stage.password}")
    for person in plan.load().people:
        _say(f"  {person['login']:14}{person['name']:22}{person['office']}")
    _say(
        f"\n  Webhooks received: http://127.0.0.1:{stage.receiver}/"
        f"\n  Modbus: 127.0.0.1:{stage.simulated} to {stage.simulated + 5}"
        f"\n  Logs: {stage.folder / 'logs'}"
        f"\n  Commands against it: export PRETREAT_HOME={shlex.quote(str(stage.folder))} "
        f"DATABASE_URL={shlex.quote(url)}\n  Ctrl-C ends everything.\n"
    )


def _watch(
    stage: Stage, children: list[processes.Child], stop: Event, *, seconds: float | None
) -> dict[str, float | None]:
    """Wait for the end, and note when the first reading and the first detection came."""
    until = None if seconds is None else time.monotonic() + seconds
    first: dict[str, float | None] = {"reading": None, "violation": None}
    told: set[str] = set()
    while not stop.is_set() and (until is None or time.monotonic() < until):
        _note_firsts(stage, first)
        for child in children:
            if child.failed and child.name not in told:
                told.add(child.name)
                _say(f"  {child.name} ended: {child.last_words()} (log: {child.log})")
        stop.wait(0.5)
    _note_firsts(stage, first)
    return first


def _note_firsts(stage: Stage, first: dict[str, float | None]) -> None:
    if None not in first.values():
        return
    with stage.engine.connect() as db:
        if first["reading"] is None:
            read_at = counts.first_reading_after(db, stage.started_at)
            first["reading"] = _since_start(stage, read_at)
        if first["violation"] is None:
            detected_at = counts.first_detection_after(db, stage.started_at)
            first["violation"] = _since_start(stage, detected_at)
            if detected_at:
                _say(f"  first live detection after {first['violation']} s: {stage.address}/")


def _since_start(stage: Stage, at: datetime | None) -> float | None:
    return round((at - stage.started_at).total_seconds(), 1) if at else None


def _summary(stage: Stage, first: dict[str, float | None], *, failed: int) -> None:
    with stage.engine.connect() as db:
        found = counts.counts(db, live_since=stage.started_at)
    print(
        json.dumps(
            {
                "seconds_to_first_reading": first["reading"],
                "seconds_to_first_violation": first["violation"],
                "readings": found.readings,
                "violations": found.violations,
                "violations_live": found.violations_live,
                "webhooks_delivered": found.webhooks_delivered,
                "bills": found.bills,
                "errors": found.errors + failed,
            }
        ),
        flush=True,
    )


def _say(line: str) -> None:
    print(line, flush=True, file=sys.stdout)
