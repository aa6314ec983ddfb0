"""A running installation to measure: a responder, a database of its own, and a worker process."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from sqlalchemy import Engine

from compliance.errors import StorageError
from compliance.model.parameters import Parameter
from compliance.model.units import Unit
from compliance.records import embedded, health, measuring, schema
from compliance.records.engine import make_engine
from compliance.records.measuring import Signal, Tally

MAP = "bench-meter"
FLOATS, WHOLE = 10, 10
POINTS = FLOATS + WHOLE
PATIENCE = 60.0
AILING = 0.01
"""So many of the sound gateways may be without a connection when it begins."""
LOOK_SECONDS = 3.0
"""Between two looks at what is stored, which cost the database something."""
WORKER = (sys.executable, "-m", "app", "ingest", "--worker", "bench")
_DATABASE = "pretreat_bench"
_SIGNALS = tuple(
    Signal(entry=f"ph{n}", parameter=Parameter.PH, unit=Unit.SU, resolution="0.01")
    for n in range(FLOATS)
) + tuple(
    Signal(entry=f"flow{n}", parameter=Parameter.FLOW, unit=Unit.GPM, resolution="0.1")
    for n in range(WHOLE)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What is polled, all of it at 1 Hz, 20 values an instrument.

    moods: how many gateways behave how (``bench_responder.MOODS``; ``closed`` are ports on which
    nobody listens), the sound ones first; units: instruments of each; seconds: measured.
    """

    moods: Mapping[str, int]
    units: int = 1
    warm: float = 12.0
    seconds: int = 10

    @property
    def sound(self) -> int:
        """Channels of the gateways that are as they should be."""
        return self.moods["sound"] * self.units * POINTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One run. tally: of the channels of sound gateways; cpu_seconds: of the worker."""

    shape: Shape
    tally: Tally
    cpu_seconds: float
    responder_seconds: float

    @property
    def due(self) -> int:
        """How many readings there should be."""
        return self.shape.sound * self.shape.seconds


@contextmanager
def responder(moods: Mapping[str, int]) -> Iterator[tuple[list[int], int]]:
    """Ports of gateways by their moods, and the id of the process that serves them."""
    served = {mood: count for mood, count in moods.items() if mood != "closed"}
    command = [sys.executable, "-m", "ingest.bench_responder", json.dumps(served)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            told = json.loads(process.stdout.readline())
            ports = [port for mood in served for port in told[mood]]
            yield ports + list(range(1, moods.get("closed", 0) + 1)), process.pid
        finally:
            process.stdin.close()


def measured(server: embedded.Server, home: Path, shape: Shape) -> Measured:
    """Poll a plant of this shape with one worker into an empty database, and count what is there.

    Raises: StorageError when the worker does not come to store everything.
    """
    home.mkdir()
    (home / "maps").mkdir()
    (home / "maps" / f"{MAP}.yaml").write_text(yaml.safe_dump(_map()))
    server.ensure_database(_DATABASE, fresh=True)
    engine = make_engine(server.url(_DATABASE))
    try:
        schema.upgrade(engine)
        with responder(shape.moods) as (ports, responder_pid):
            with engine.begin() as db:
                measuring.add_plant(db, ports, _SIGNALS, units=shape.units, map_name=MAP)
                measuring.analyze(db)
            with _worker(engine, home) as worker:
                return _watched(engine, shape, worker.pid, responder_pid)
    finally:
        engine.dispose()


@contextmanager
def _worker(engine: Engine, home: Path) -> Iterator[subprocess.Popen[bytes]]:
    url = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    environment = {**os.environ, "DATABASE_URL": url, "PRETREAT_HOME": str(home)}
    with (
        (home / "worker.log").open("wb") as log,
        subprocess.Popen(WORKER, env=environment, stdout=log, stderr=log) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()


def _watched(engine: Engine, shape: Shape, worker: int, responder_pid: int) -> Measured:
    _until(lambda: _is_steady(_beat(engine), shape), "poll every sound gateway")
    time.sleep(shape.warm)
    start = math.ceil(time.time()) + 1
    _sleep_until(start)
    before = cpu_seconds(worker), cpu_seconds(responder_pid)
    _sleep_until(start + shape.seconds)
    spent = cpu_seconds(worker) - before[0], cpu_seconds(responder_pid) - before[1]
    tally = _settled(engine, shape, start)
    return Measured(shape=shape, tally=tally, cpu_seconds=spent[0], responder_seconds=spent[1])


def _settled(engine: Engine, shape: Shape, start: int) -> Tally:
    """The readings of the measured slots once all are there, or it has taken too long."""
    deadline = time.monotonic() + PATIENCE
    while True:
        time.sleep(LOOK_SECONDS)
        found = _tally(engine, shape, start, start + shape.seconds)
        if found.rows >= shape.sound * shape.seconds or time.monotonic() > deadline:
            return found


def _is_steady(beat: Mapping[str, Any], shape: Shape) -> bool:
    """Whether a worker stores, and nearly all of the gateways that are sound are so to it."""
    sound = {f"g{number}" for number in range(1, shape.moods["sound"] + 1)}
    ailing = sound & set(beat["states"])
    return beat["stored"] >= shape.sound and len(ailing) <= AILING * len(sound)


def _beat(engine: Engine) -> Mapping[str, Any]:
    """What the worker last said of itself."""
    with engine.connect() as db:
        details = [beat.detail for beat in health.beats(db)]
    return details[0] if details else {"accepted": 0, "stored": 0, "states": {}}


def _until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise StorageError(
                f"the bench's worker did not {what} within {PATIENCE:g} s; "
                "run it on a machine that does nothing else"
            )
        time.sleep(0.5)


def _tally(engine: Engine, shape: Shape, since: int, until: int) -> Tally:
    with engine.connect() as db:
        return measuring.tally(
            db,
            channels=(1, shape.sound),
            since=datetime.fromtimestamp(since, UTC),
            until=datetime.fromtimestamp(until, UTC),
        )


def _sleep_until(wall: float) -> None:
    time.sleep(max(0.0, wall - time.time()))


def cpu_seconds(pid: int) -> float:
    """What a process has used of processors so far, its threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _map() -> dict[str, object]:
    entries = [
        _entry(f"ph{n}", 2 * n, type="float32", order="ABCD", unit="s.u.", low="0", high="14")
        for n in range(FLOATS)
    ]
    entries += [
        _entry(f"flow{n}", 2 * FLOATS + n, type="uint16", unit="gpm", scale="0.1", missing=[65535])
        for n in range(WHOLE)
    ]
    return {
        "name": MAP,
        "vendor": "none",
        "model": "gateway of the bench",
        "role": "load",
        "document": "none",
        "sources": ["none"],
        "quirks": [],
        "entries": entries,
    }


def _entry(name: str, address: int, **more: object) -> dict[str, object]:
    place = {"table": "holding", "address": address, "printed": f"4{address + 1:04d}"}
    return {"name": name, **place, "evidence": "manual", **more}


def points() -> Sequence[tuple[str, int, int]]:
    """Of each value its type (float32, uint16), address and registers, for other pollers."""
    floats = [("float32", 2 * n, 2) for n in range(FLOATS)]
    return floats + [("uint16", 2 * FLOATS + n, 1) for n in range(WHOLE)]
