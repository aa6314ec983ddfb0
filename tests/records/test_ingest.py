"""From the spool and from history to a real database: all of it, once."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from sqlalchemy import Engine, select

from compliance.model.periods import to_us
from compliance.model.readings import Quality, Reading
from compliance.model.units import Unit
from compliance.records import batch, health, tables
from ingest import backfill
from ingest.forward import Forwarder, ToDatabase
from ingest.outlet import Lane
from ingest.spool import Spool
from tests.support.waiting import until

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
