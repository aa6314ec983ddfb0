"""Where a fault run plays: a database server of its own, workers as processes, their spools."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import yaml
from sqlalchemy import Engine

from app.demo import processes
from app.faults import ledger as ledgers
from app.faults.ledger import Ledger
from compliance.errors import StorageError
from compliance.jobs import site
from compliance.records import embedded, schema
from compliance.records.embedded import Cluster
from compliance.records.engine import make_engine

DATABASE = "pretreat_faults"
PATIENCE = 60.0
DIAGNOSTIC_EVERY = 5
"""Every fifth channel is a conductivity, which may be thinned; the others are pH."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much load, and how often each fault comes."""

    gateways: int
    channels: int  # of each gateway
    interval_ms: int
    kills: int
    seconds: float  # a fault that lasts

    @property
    def readings_per_second(self) -> float:
        return self.gateways * self.channels * 1000 / self.interval_ms


@dataclass(slots=True, kw_only=True)
class Scene:
    """A running installation that is about to suffer."""

    home: Path
    size: Size
    engine: Engine
    cluster: Cluster
    ledger: Ledger
    workers: dict[str, processes.Child] = field(default_factory=dict)

    def start(self, name: str, **environment: str) -> None:
        """Start a worker."""
        url = self.engine.url.render_as_string(hide_password=False)
        self.workers[name] = processes.start(
            f"ingest-{name}",
            ["ingest", "--worker", name],
            environment={"DATABASE_URL": url, "PRETREAT_HOME": str(self.home), **environment},
            logs=self.home / "logs",
        )

    def kill(self, name: str) -> None:
        """kill -9."""
        process = self.workers.pop(name).process
        process.kill()
        process.wait()

    def stop(self, name: str) -> None:
        """Ask a worker to stop, and wait for it."""
        process = self.workers.pop(name).process
        process.terminate()
        process.wait(PATIENCE)

    def pid(self, name: str) -> int:
        """The process id of a worker."""
        return self.workers[name].process.pid

    def end_database(self, how: signal.Signals) -> None:
        """End the server: SIGKILL as a crash, SIGINT as an administrator does."""
        pid = int((self.cluster.data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, how)
        until(lambda: not _alive(pid))

    def start_database(self) -> None:
        """Start it again; what is left of the old one may need a moment."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.cluster.start()
                return
            except StorageError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)

    def spool_bytes(self, name: str) -> int:
        """How many bytes the segments of a worker's spool have."""
        found = 0
        for path in self.spool(name).glob("*.seg"):
            with suppress(FileNotFoundError):
                found += path.stat().st_size
        return found

    def segments(self, name: str) -> set[Path]:
        """The segments in a worker's spool."""
        return set(self.spool(name).glob("*.seg"))

    def spool(self, name: str) -> Path:
        """Where the spool of a worker lies."""
        return self.home / "spool" / name


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def until(holds: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait until something holds. Raises: StorageError when it does not in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise StorageError(f"the fault run waited {seconds:g} s in vain")
        time.sleep(0.1)


@contextmanager
def opened(home: Path, size: Size, ports: Sequence[int]) -> Iterator[Scene]:
    """An installation in an empty folder, with a site on simulated gateways; nothing runs yet."""
    (home / "logs").mkdir()
    (home / "maps").mkdir()
    (home / "maps" / "plant.yaml").write_text(yaml.safe_dump(_map(size)))
    with embedded.running(home) as server:
        server.ensure_database(DATABASE, fresh=True)
        engine = make_engine(server.url(DATABASE))
        schema.upgrade(engine)
        site.store(engine, site.SiteDocument.model_validate(_site(size, ports)))
        with ledgers.kept(home) as ledger:
            scene = Scene(
                home=home, size=size, engine=engine, cluster=Cluster.at(home), ledger=ledger
            )
            try:
                yield scene
            finally:
                processes.stop(list(scene.workers.values()))
                engine.dispose()
                with suppress(StorageError, subprocess.SubprocessError):
                    scene.cluster.start()  # so that it can be stopped in good order


def _map(size: Size) -> dict[str, object]:
    return {
        "name": "plant",
        "vendor": "none",
        "model": "simulated plant of the fault run",
        "role": "load",
        "document": "none",
        "sources": ["none"],
        "quirks": [],
        "entries": [
            {
                "name": f"r{n}",
                "table": "holding",
                "address": n,
                "printed": f"4{n + 1:04d}",
                "type": "uint16",
                "unit": "mS/cm" if _is_diagnostic(n) else "s.u.",
                "evidence": "manual",
            }
            for n in range(size.channels)
        ],
    }


def _is_diagnostic(channel: int) -> bool:
    return channel % DIAGNOSTIC_EVERY == DIAGNOSTIC_EVERY - 1


def _site(size: Size, ports: Sequence[int]) -> dict[str, object]:
    channels = [
        {
            "entry": f"r{n}",
            "parameter": "conductivity" if _is_diagnostic(n) else "ph",
            "unit": "mS/cm" if _is_diagnostic(n) else "s.u.",
            "resolution": "1",
            "interval_s": str(size.interval_ms / 1000),
        }
        for n in range(size.channels)
    ]
    points = [
        {
            "code": f"P-{n}",
            "place": "simulated",
            "gateway": {"name": f"plant-{n}", "host": "127.0.0.1", "port": port},
            "instruments": [{"unit": 1, "map": "plant", "channels": channels}],
        }
        for n, port in enumerate(ports)
    ]
    user = {
        "slug": "load",
        "name": "Load",
        "makes": "readings",
        "is_significant": True,
        "category": "A",
        "water_meter": "1 in",
        "points": points,
    }
    city = {
        "slug": "faults",
        "name": "Fault run",
        "zone": "America/Chicago",
        "rulebooks": ["federal"],
        "control_authority": "none",
        "ordinance_authority": "none",
        "billing_authority": "none",
        "users": [user],
    }
    return {"cities": [city], "polled_since": datetime(2026, 1, 1, tzinfo=UTC)}
