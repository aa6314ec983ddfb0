"""The queries of boards and reports read what they are asked for: no whole table, no other time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import pytest
from sqlalchemy import Connection, Engine, text

from compliance.records import dirt, readings, rollups, timescale
from tests.support.manhole import manhole
from tests.support.plans import Plans, planned

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
DAYS = 150
CHANNELS = 100
END = FIRST + timedelta(days=DAYS)
TEN = list(range(1, 11))
ALL = list(range(1, CHANNELS + 1))
_SPAN = {"first": FIRST, "end": END, "channels": CHANNELS, "days": DAYS}
_FILL = (
    """
    INSERT INTO channel (id, monitoring_point_id, instrument_id, entry, parameter, unit, resolution)
    SELECT c, 1, 1, 'entry ' || c, 'flow', 'gpm', '0.1' FROM generate_series(3, :channels) AS c
    """,
    """
    INSERT INTO reading (channel_id, read_at, value, quality, offset_ms, batch_id)
    SELECT c, at, 7, 0, 0, extract(epoch FROM at)::bigint
    FROM generate_series(CAST(:first AS timestamptz), CAST(:end AS timestamptz) - INTERVAL '1 min',
                         INTERVAL '1 hour') AS at, generate_series(1, :channels) AS c
    """,
    """
    INSERT INTO rollup_quarter (channel_id, quarter, readings, good, area, held_us)
    SELECT c, at, 1, 1, 6300, 900000000
    FROM generate_series(0, :days - 1) AS day, generate_series(1, :channels) AS c,
         generate_series(CAST(:first AS timestamptz) + day * INTERVAL '1 day',
                         CAST(:first AS timestamptz) + day * INTERVAL '1 day' + INTERVAL '23 hours',
                         INTERVAL '1 hour') AS at
    """,
    """
    INSERT INTO rollup_day (channel_id, day, readings, good, area, held_us, length_us, as_of)
    SELECT c, CAST(:first AS date) + day, 24, 24, 6300, 900000000, 86400000000, :end
    FROM generate_series(0, 20 * :days - 1) AS day, generate_series(1, :channels) AS c
    """,
    "ANALYZE",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, the table it must find its rows in, and at most so many parts of ``reading``."""

    ask: Callable[[Connection], object]
    of: str
    most: int = 0


def marked(db: Connection) -> object:
    """The marks of a batch of the last hour, expanded."""
    hour = END - timedelta(hours=1)
    batch = int(hour.timestamp())
    readings.mark_dirty(db, TEN, since=hour, until=END, why="batch", batch_id=batch)
    found = dirt.take(db)
    assert len(found) == 10
    return found


QUESTIONS = {
    "latest of many channels": Asked(
        ask=lambda db: readings.latest(db, ALL, since=END - timedelta(days=1), until=END),
        of="reading",
        most=2,
    ),
    "a day of a channel": Asked(
        ask=lambda db: readings.usable(
            db, [50], since=END - timedelta(days=31), until=END - timedelta(days=30)
        ),
        of="reading",
        most=2,
    ),
    "marks of a batch": Asked(ask=marked, of="reading", most=2),
    "90 days by hours of ten channels": Asked(
        ask=lambda db: rollups.quarters(db, TEN, since=END - timedelta(days=90), until=END),
        of="rollup_quarter",
    ),
    "a quarter's daily loads of many users": Asked(
        ask=lambda db: rollups.days(db, ALL, since=date(2026, 1, 1), until=date(2026, 4, 1)),
        of="rollup_day",
    ),
}


@pytest.fixture
def laden(engine: Engine) -> Engine:
    """A hundred channels with five months of readings and their sums."""
    manhole(engine)
    with engine.begin() as db:
        for statement in _FILL:
            wanted = {name: value for name, value in _SPAN.items() if f":{name}" in statement}
            db.execute(text(statement), wanted)
    return engine


def parts_of(db: Connection, table: str) -> set[str]:
    """The tables, chunks or partitions in which a table's rows lie."""
    found = db.scalars(text(f"SELECT DISTINCT tableoid::regclass::text FROM {table}"))
    return {name.rpartition(".")[2] for name in found}


def looked_at(db: Connection, asked: Asked) -> Plans:
    with planned(db) as found:
        asked.ask(db)
    return found


def test_reports_scan_no_table_and_no_other_time(laden: Engine) -> None:
    with laden.connect() as db:
        parts = {of: parts_of(db, of) for of in ("reading", "rollup_quarter", "rollup_day")}
        assert len(parts["reading"]) >= (5 if timescale.by_months(db) else 20)
        for name, asked in QUESTIONS.items():
            found = looked_at(db, asked)
            read = found.tables()
            assert read & parts[asked.of], f"{name}: {found}"
            whole = found.whole() & set().union(*parts.values())
            assert not whole, f"{name}: reads all of {whole}"
            assert len(read & parts["reading"]) <= asked.most, f"{name}: reads {read}"


def test_a_query_that_reads_all_would_be_noticed(laden: Engine) -> None:
    with laden.connect() as db:
        everything = Asked(ask=lambda db: db.execute(text("SELECT avg(value) FROM reading")), of="")
        found = looked_at(db, everything)
        assert len(found.whole() & parts_of(db, "reading")) >= 5
