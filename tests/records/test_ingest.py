"""From the spool and from history to a real database: all of it, once."""

from __future__ import annotations

import asyncio
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, func, insert, select

from compliance.errors import SettingsError
from compliance.model.periods import from_us, to_us
from compliance.model.readings import Quality, Reading
from compliance.model.units import Unit
from compliance.records import batch, gaps, health, leases, tables, tuples
from compliance.settings import Settings
from ingest import backfill, worker
from ingest.forward import Forwarder, ToDatabase
from ingest.outlet import Lane
from ingest.spool import Spool

AT = datetime(2026, 7, 1, tzinfo=UTC)


def readings(start: int, count: int) -> list[Reading]:
    return [
        Reading(channel_id=1, read_at=AT + timedelta(seconds=s), value=float(s), unit=Unit.GPM)
        for s in range(start, start + count)
    ]


def stored(engine: Engine) -> list[float | None]:
    r = tables.reading.c
    with engine.connect() as db:
        return list(db.scalars(select(r.value).order_by(r.channel_id, r.read_at)))


def test_the_forwarder_carries_everything_over_once(engine: Engine, tmp_path: Path) -> None:
    with Spool(tmp_path, worker="w", now=lambda: AT) as spool:
        carrier = ToDatabase(engine, worker="w")
        for start in (0, 5):
            spool.put(batch.from_readings(readings(start, 5)))
            spool.commit()
        (taken,) = spool.outlet.take(Lane.BACKLOG, frames=1)
        carrier.store([taken.frame])  # and then it dies, before it could acknowledge
        spool.outlet.rewind()
        forwarder = Forwarder(spool, carrier)
        forwarder.drain()
        assert forwarder.stored == 5
    assert stored(engine) == [float(s) for s in range(10)]


def test_a_damaged_frame_is_quarantined_and_the_rest_goes_on(
    engine: Engine, tmp_path: Path
) -> None:
    with Spool(tmp_path, worker="w", now=lambda: AT) as spool:
        for start in (0, 1, 2):
            spool.put(batch.from_readings(readings(start, 1)))
            spool.commit()
    segment = next(tmp_path.glob("*.seg"))
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)
    with Spool(tmp_path, worker="w", now=lambda: AT) as spool:
        Forwarder(spool, ToDatabase(engine, worker="w")).drain()
        assert spool.outlet.backlog_bytes() == 0
    assert stored(engine) == [0.0, 2.0]
    with engine.connect() as db:
        (row,) = db.execute(select(tables.quarantine.c.reason, tables.quarantine.c.content))
    assert "checksum" in row.reason
    assert len(row.content) == len(content) // 3


def test_a_frame_that_the_database_refuses_is_quarantined_by_its_sequence(
    engine: Engine, tmp_path: Path
) -> None:
    sound = batch.frame(batch.from_readings(readings(0, 1)), worker="w", sequence=5)
    (tmp_path / "00000001.seg").write_bytes(
        batch.encode(replace(sound, content=sound.content[:-3]))
        + batch.encode(batch.frame(batch.from_readings(readings(1, 1)), worker="w", sequence=6))
    )
    with Spool(tmp_path, worker="w", now=lambda: AT) as spool:
        forwarder = Forwarder(spool, ToDatabase(engine, worker="w"))
        forwarder.drain()
        assert (forwarder.stored, forwarder.quarantined) == (1, 1)
    assert stored(engine) == [1.0]
    with engine.connect() as db:
        assert db.scalar(select(tables.quarantine.c.sequence)) == 5


def test_a_database_that_is_away_is_waited_for(engine: Engine, tmp_path: Path) -> None:
    stop = threading.Event()
    with engine.begin() as db:
        db.exec_driver_sql("ALTER TABLE reading RENAME TO elsewhere")
    with Spool(tmp_path, worker="w", now=lambda: AT) as spool:
        forwarder = Forwarder(spool, ToDatabase(engine, worker="w"))
        thread = threading.Thread(target=forwarder.run, args=(stop,))
        thread.start()
        spool.put(batch.from_readings(readings(0, 3)))
        spool.commit()
        time.sleep(0.5)
        assert spool.outlet.backlog_bytes() > 0
        with engine.begin() as db:
            db.exec_driver_sql("ALTER TABLE elsewhere RENAME TO reading")
        until(lambda: stored(engine) == [0.0, 1.0, 2.0])
        stop.set()
        thread.join()


def test_history_is_stored_by_the_same_path_and_again_without_a_trace(engine: Engine) -> None:
    at_us = to_us(AT) + np.arange(1000, dtype=np.int64) * 300_000_000
    value = np.sin(np.arange(1000.0))
    value[7] = np.nan
    quality = np.where(np.isnan(value), int(Quality.NO_ANSWER), 0)
    history = {c: backfill.History(at_us=at_us, value=value, quality=quality) for c in (1, 2, 3)}
    assert backfill.store(engine, worker="seed", series=history, frame_rows=800) == 3000
    assert backfill.store(engine, worker="seed", series=history) == 0
    assert stored(engine) == 3 * [None if np.isnan(v) else v for v in value]


def test_a_process_beats_and_its_faults_are_kept(db) -> None:
    for n in (1, 2):
        health.beat(db, "ingest a", {"n": n})
    health.fault(db, "ingest a", "gateway g: KeyError: 'x'")
    (beat,) = health.beats(db)
    assert (beat.process, beat.detail) == ("ingest a", {"n": 2})
    assert [f.what for f in health.faults(db, since=beat.at - timedelta(hours=1))] == [
        "gateway g: KeyError: 'x'"
    ]


def test_a_worker_needs_a_name_that_can_be_a_folder(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="the worker's name is '../w'"):
        worker.run(configured(engine, tmp_path), worker="../w")


# -- a whole worker, as a process


def configured(engine: Engine, home: Path) -> Settings:
    return Settings(DATABASE_URL=address(engine), PRETREAT_HOME=home)


def address(engine: Engine) -> str:
    url = engine.url.set(drivername="postgresql")
    return url.render_as_string(hide_password=False)


class Meter:
    """A gateway whose unit 1 has 7.12 in holding register 0, on a loop of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        serving = asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server = self._loop.run_until_complete(serving)
        self.port = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked = await reader.readexactly(12)
                words = struct.pack(">H", 712) * asked[11]
                writer.write(
                    asked[:4]
                    + struct.pack(">HBBB", 3 + len(words), asked[6], 3, len(words))
                    + words
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def stop(self) -> None:
        async def cancel() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self._server.close()
        asyncio.run_coroutine_threadsafe(cancel(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture
def meter() -> Iterator[Meter]:
    made = Meter()
    yield made
    made.stop()


MAP = """
name: test-meter
vendor: v
model: m
role: r
document: d
sources: [s]
quirks: []
entries:
  - {name: ph, table: holding, address: 0, printed: "40001", type: uint16, scale: "0.01",
     unit: s.u., evidence: manual}
"""


def site(engine: Engine, home: Path, port: int) -> None:
    """One point with one channel, read every 100 ms."""
    (home / "maps").mkdir()
    (home / "maps" / "test-meter.yaml").write_text(MAP)
    t = tables
    with engine.begin() as db:

        def add(table, **values) -> int:
            return db.scalar(insert(table).values(**values).returning(table.c.id))

        city = add(
            t.city,
            slug="c",
            name="C",
            zone="America/Chicago",
            rulebooks=[],
            control_authority="a",
            ordinance_authority="b",
            billing_authority="c",
        )
        user = add(
            t.industrial_user,
            city_id=city,
            slug="u",
            name="U",
            makes="m",
            is_significant=True,
            category="C",
            water_meter="2 in",
        )
        point = add(t.monitoring_point, industrial_user_id=user, code="MH-1", place="p")
        gateway = add(t.gateway, name="g", host="127.0.0.1", port=port)
        meter = add(
            t.instrument,
            gateway_id=gateway,
            monitoring_point_id=point,
            unit_id=1,
            map_name="test-meter",
        )
        channel = add(
            t.channel,
            monitoring_point_id=point,
            instrument_id=meter,
            entry="ph",
            parameter="ph",
            unit="s.u.",
            resolution="0.01",
        )
        db.execute(insert(t.channel_cadence).values(channel_id=channel, since=AT, interval_ms=100))


def started(
    engine: Engine, home: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "DATABASE_URL": address(engine), **(environment or {})}
    environment["PRETREAT_HOME"] = str(home)
    code = "from app.commands import main; main()"
    return subprocess.Popen([sys.executable, "-c", code, "ingest", "--worker", "w"],
                            env=environment)  # fmt: skip


def until(true, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def spooled(home: Path) -> set[int]:
    """The instants of every whole frame that lies in the spool, accepted and synced."""
    found: set[int] = set()
    for path in (home / "spool" / "w").glob("*.seg"):
        try:
            content, at = path.read_bytes(), 0
        except FileNotFoundError:
            continue  # stored and freed
        while at < len(content):
            try:
                frame, at = batch.decode(content, at)
            except batch.TornFrame:
                break
            if frame.kind is batch.Kind.READINGS:
                found |= {row[1] for row in tuples.rows(frame.content)}
    return found


def instants(engine: Engine) -> list[int]:
    with engine.connect() as db:
        return [to_us(at) for at in db.scalars(select(tables.reading.c.read_at))]


def news(engine: Engine, home: Path, known: set[int]) -> set[int]:
    return (spooled(home) | set(instants(engine))) - known


@contextmanager
def held_up(engine: Engine) -> Iterator[None]:
    """Nobody can write readings: what is accepted stays in the spool."""
    with engine.begin() as db:
        db.exec_driver_sql("LOCK TABLE reading IN EXCLUSIVE MODE")
        yield


def test_killed_and_started_again_a_worker_loses_nothing_it_accepted(
    engine: Engine, tmp_path: Path, meter: Meter
) -> None:
    site(engine, tmp_path, meter.port)
    accepted: set[int] = set()
    for held in (False, True, True):
        with held_up(engine) if held else nullcontext():
            process = started(engine, tmp_path)
            fresh = partial(news, engine, tmp_path, accepted)
            until(lambda fresh=fresh: len(fresh()) > 8)
            process.kill()
            process.wait()
            accepted |= fresh()
    assert not accepted <= set(instants(engine))  # some lay in the spool only
    process = started(engine, tmp_path)
    until(lambda: set(instants(engine)) > accepted)
    asked_to_stop = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    stopping = time.monotonic() - asked_to_stop
    assert stopping < 5  # two are promised; the rest is for a loaded machine
    found = instants(engine)
    assert len(found) == len(set(found))
    assert accepted <= set(found)
    with engine.connect() as db:
        told = db.scalar(select(func.sum(tables.batch.c.readings)))
        assert told == len(found)  # no reading was counted in two batches
        assert db.scalar(select(func.count()).select_from(tables.quarantine)) == 0
        assert set(db.scalars(select(tables.reading.c.value))) == {7.12}
        assert [b.process for b in health.beats(db)] == []  # it left as it should
        assert db.scalar(select(tables.register_map.c.name)) == "test-meter"


def test_a_worker_without_a_gateway_waits_and_polls_the_one_that_is_added(
    engine: Engine, tmp_path: Path, meter: Meter
) -> None:
    process = started(engine, tmp_path)
    until(lambda: beats(engine) == ["ingest w"])
    assert process.poll() is None
    site(engine, tmp_path, meter.port)
    until(lambda: len(instants(engine)) > 3)
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    with engine.connect() as db:
        assert leases.holders(db).popitem()[1] == (None, 2), "it has left its gateway"


def test_without_a_database_a_worker_polls_what_it_had(
    engine: Engine, tmp_path: Path, meter: Meter
) -> None:
    site(engine, tmp_path, meter.port)
    process = started(engine, tmp_path)
    until(lambda: len(instants(engine)) > 3)
    process.kill()
    process.wait()
    known = spooled(tmp_path) | set(instants(engine))
    nowhere = {"DATABASE_URL": "postgresql://x@127.0.0.1:9/x"}
    process = started(engine, tmp_path, nowhere)
    until(lambda: len(spooled(tmp_path) - known) > 3)
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0


def test_what_a_worker_missed_while_it_was_down_is_a_gap(
    engine: Engine, tmp_path: Path, meter: Meter
) -> None:
    site(engine, tmp_path, meter.port)
    for _ in range(2):
        process = started(engine, tmp_path)
        before = len(instants(engine))
        until(lambda before=before: len(instants(engine)) > before + 3)
        process.kill()
        process.wait()
    found = sorted(instants(engine))
    since, until_ = from_us(found[0]), from_us(found[-1])
    with engine.connect() as db:
        (channel,) = db.scalars(select(tables.channel.c.id))
        assert len(found) < (until_ - since) / timedelta(milliseconds=100)
        assert gaps.unexplained(db, {channel: 100}, since=since, until=until_) == {}
        (gap,) = gaps.between(db, [channel], since=since, until=until_)
    assert gap.cause == "worker was down"


def beats(engine: Engine) -> list[str]:
    with engine.connect() as db:
        return [beat.process for beat in health.beats(db)]
