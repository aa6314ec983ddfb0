"""Register maps are published beside signs of life; a file that is no map is named."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import Engine, select

from compliance.records import health
from compliance.records import tables as t
from ingest import library, office
from ingest.holding import Maps
from ingest.office import DatabaseOffice


def published(engine: Engine) -> set[str]:
    with engine.connect() as db:
        return set(db.scalars(select(t.register_map.c.name)))


def test_a_file_that_is_no_map_is_a_fault_once_and_stands_in_the_beat(
    engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "maps").mkdir()
    (tmp_path / "maps" / "bad.yaml").write_bytes(b"a: " + b"[" * 500)
    desk = DatabaseOffice(engine, worker="w", spool="s", known=Maps(tmp_path))
    for _ in range(40):
        desk.renew()
        desk.beat({})
    with engine.connect() as db:
        since = datetime.now(UTC) - timedelta(minutes=5)
        (fault,) = health.faults(db, since=since)
        (said,) = health.unusable_maps(db)
    assert fault.what.startswith("register map bad cannot be used: ")
    assert said.startswith("bad: ") and "nests deeper" in said
    assert published(engine) == set(library.names())
    (tmp_path / "maps" / "bad.yaml").unlink()
    for _ in range(4):
        desk.renew()
    desk.beat({})
    with engine.connect() as db:
        assert health.unusable_maps(db) == ()


def test_signs_of_life_come_between_two_maps(engine: Engine, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(office, "PUBLISHED_SECONDS", 1e-9)
    desk = DatabaseOffice(engine, worker="w", spool="s", known=Maps(tmp_path))
    desk.renew()
    assert len(published(engine)) < len(library.names())
    for _ in range(2 * len(library.names())):
        desk.renew()
    assert published(engine) == set(library.names())
