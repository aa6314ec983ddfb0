"""A database of the first release goes up: all it held is still there, and judged the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, MetaData, func, select, text

from compliance.jobs.evaluate import evaluate
from compliance.records import schema, timescale
from compliance.records import tables as t
from compliance.records.engine import make_engine
from tests.support.databases import Databases

FIRST_RELEASE = "0007"
CONTENT = Path(__file__).with_name("first_release.sql")
NOW = datetime(2026, 7, 6, 16, tzinfo=UTC)
READ_AGAIN = {"dirty", "fold_state"}
"""What waits and what the fold remembered: made anew, since the fold keeps other states now."""


@pytest.fixture
def first(databases: Databases) -> Iterator[Engine]:
    """A database as the first release left it."""
    name = f"first_release_{os.getpid()}"
    databases.server.ensure_database(name, fresh=True)
    engine = make_engine(databases.server.url(name))
    schema.upgrade(engine, to=FIRST_RELEASE)
    with engine.begin() as db:
        raw = db.connection.driver_connection
        assert raw is not None
        raw.execute(CONTENT.read_text())
    yield engine
    engine.dispose()
    databases.server.drop_database(name)


def held(db: Connection) -> dict[str, list[dict[str, object]]]:
    """Every row of every table, by the table's name."""
    found = MetaData()
    found.reflect(db)
    return {
        name: [dict(row._mapping) for row in db.execute(select(table).order_by(*table.primary_key))]
        for name, table in found.tables.items()
        if name != "alembic_version" and not timescale.is_partition(name)
    }


def facts(db: Connection) -> list[tuple[object, ...]]:
    e = t.exceedance.c
    rows = db.execute(
        select(e.id, e.starts_at, e.ends_at, e.worst, e.limit, e.readings, e.settled)
        .where(e.superseded_at.is_(None))
        .order_by(e.starts_at, e.id)
    )
    return [tuple(row) for row in rows]


def test_all_that_the_first_release_held_is_still_there(first: Engine) -> None:
    with first.connect() as db:
        before = held(db)
    assert [name for name, rows in before.items() if not rows] == []
    schema.upgrade(first)
    with first.connect() as db:
        after = held(db)
        schema.differences(db)
        assert schema.current(db) == schema.head()
    for name, rows in before.items():
        if name in READ_AGAIN:
            continue
        assert len(after[name]) == len(rows), name
        for old, new in zip(rows, after[name], strict=True):
            assert {key: new.get(key) for key in old} == old, name


def test_what_the_first_release_found_is_found_again(first: Engine) -> None:
    with first.connect() as db:
        before = facts(db)
    assert len(before) == 3
    schema.upgrade(first)
    while evaluate(first, now=NOW, release="test").readings:
        pass
    with first.connect() as db:
        assert facts(db) == before
        assert (
            db.scalar(select(func.count()).select_from(t.dirty).where(t.dirty.c.why == "upgrade"))
            == 0
        )


def test_readings_of_the_first_release_lie_in_one_partition_where_there_are_months(
    first: Engine,
) -> None:
    """They are not copied, however many they are; a reading dated later has its month."""
    with first.begin() as db:
        for at in ("2020-01-01", "2099-05-06"):
            row = {"at": datetime.fromisoformat(at).replace(tzinfo=UTC)}
            db.execute(text("INSERT INTO reading VALUES (1, :at, 7, 0, NULL, 0, NULL, 1)"), row)
    schema.upgrade(first)
    with first.connect() as db:
        assert db.scalar(select(func.count()).select_from(t.reading)) == 372
        if not timescale.by_months(db):
            assert timescale.is_hypertable(db, "reading")
            return
        edge = text("SELECT date_trunc('month', now(), 'UTC') + INTERVAL '1 month'")
        past = (
            select(func.count()).select_from(t.reading).where(t.reading.c.read_at < db.scalar(edge))
        )
        assert db.scalar(text("SELECT count(*) FROM reading_before")) == db.scalar(past)
        assert db.scalar(text("SELECT count(*) FROM reading_2099_05")) == 1
