"""A whole worker as a process: killed, without a gateway, without a database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, insert, select

from compliance.errors import SettingsError
from compliance.model.periods import from_us, to_us
from compliance.records import batch, gaps, health, leases, tables, tuples
from compliance.settings import Settings
from ingest import worker
from tests.support.meter import Meter
from tests.support.waiting import PATIENCE, until

pytestmark = pytest.mark.long
AT = datetime(2026, 7, 1, tzinfo=UTC)


def configured(engine: Engine, home: Path) -> Settings:
    return Settings(DATABASE_URL=address(engine), PRETREAT_HOME=home)


def address(engine: Engine) -> str:
    url = engine.url.set(drivername="postgresql")
    return url.render_as_string(hide_password=False)


def test_a_worker_needs_a_name_that_can_be_a_folder(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="the worker's name is '../w'"):
        worker.run(configured(engine, tmp_path), worker="../w")


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
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0
    found = instants(engine)
    assert len(found) == len(set(found))
    assert accepted <= set(found)
    with engine.connect() as db:
        told = db.scalar(select(func.sum(tables.batch.c.readings)))
        assert told == len(found)  # no reading was counted in two batches
        assert db.scalar(select(func.count()).select_from(tables.quarantine)) == 0
        values = set(db.scalars(select(tables.reading.c.value)))
        assert values - {None} == {7.12}  # a loaded machine has slots without an answer
        assert [b.process for b in health.beats(db)] == []  # it left as it should
        assert "test-meter" in set(db.scalars(select(tables.register_map.c.name)))


def test_a_worker_without_a_gateway_waits_and_polls_the_one_that_is_added(
    engine: Engine, tmp_path: Path, meter: Meter
) -> None:
    process = started(engine, tmp_path)
    until(lambda: beats(engine) == ["ingest w"])
    assert process.poll() is None
    site(engine, tmp_path, meter.port)
    until(lambda: len(instants(engine)) > 3)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0
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
    assert process.wait(PATIENCE) == 0


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
