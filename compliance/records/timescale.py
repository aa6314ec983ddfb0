"""What differs by edition, and nothing else does: TimescaleDB community, apache, or plain.

TimescaleDB keeps ``reading`` in chunks of a week; a plain server keeps it in partitions of a month,
which are made when the first reading of a month comes, and some ahead. The community edition
compresses what is older than the late-data horizon. All SQL here is guarded by what the server is,
so that the history printed as SQL fits every edition.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import psycopg
from sqlalchemy import Connection, TextClause, text
from sqlalchemy.exc import OperationalError

EDITIONS = {
    "community": "TimescaleDB, community edition",
    "apache": "TimescaleDB, apache edition",
    "plain": "plain PostgreSQL",
}
COMPRESSED_AFTER = "35 days"
"""Later than late readings usually come: into compressed chunks they come slowly."""
MONTHS_AHEAD = 2
LIFT_LIMIT = "SET LOCAL timescaledb.max_tuples_decompressed_per_dml_transaction = 0"
"""For one transaction, where late readings touch more compressed rows than the server likes."""
_PARTITION = re.compile(r"reading_(before|\d{4}_\d{2})")
_LOCK = 470407
_HAS_EXTENSION = "EXISTS (SELECT FROM pg_extension WHERE extname = 'timescaledb')"


# -- for the history


def extension_sql() -> str:
    """Create the extension where the server has preloaded it.

    Guarded: CREATE EXTENSION without the preload ends the connection.
    """
    return """
DO $$
BEGIN
  IF current_setting('shared_preload_libraries') LIKE '%timescaledb%'
     AND EXISTS (SELECT FROM pg_available_extensions WHERE name = 'timescaledb') THEN
    CREATE EXTENSION IF NOT EXISTS timescaledb;
  END IF;
END $$"""


def hypertable_sql(table: str, column: str, *, chunk: str = "7 days") -> str:
    """Make a table a hypertable where the extension is there; elsewhere nothing happens."""
    return f"""
DO $$
BEGIN
  IF {_HAS_EXTENSION} THEN
    PERFORM create_hypertable('{table}', '{column}', chunk_time_interval => INTERVAL '{chunk}',
                              create_default_indexes => false);
  END IF;
END $$"""


def partitioned_sql() -> str:
    """Turn a plain server's table of readings into a partitioned one; every reading stays.

    What is there becomes the partition ``reading_before``, unmoved, up to the end of this month;
    readings dated later move into their months.
    """
    return f"""
DO $$
DECLARE
  edge timestamptz := (date_trunc('month', now() AT TIME ZONE 'UTC') + INTERVAL '1 month')
                      AT TIME ZONE 'UTC';
  month timestamp;
BEGIN
  IF {_HAS_EXTENSION} THEN RETURN; END IF;
  ALTER TABLE reading RENAME TO reading_before;
  ALTER INDEX pk_reading RENAME TO pk_reading_before;
  ALTER INDEX ix_reading_flagged RENAME TO ix_reading_before_flagged;
  CREATE TABLE reading (LIKE reading_before INCLUDING CONSTRAINTS) PARTITION BY RANGE (read_at);
  ALTER TABLE reading ADD CONSTRAINT pk_reading PRIMARY KEY (channel_id, read_at);
  CREATE INDEX ix_reading_flagged ON reading (channel_id, read_at) WHERE quality <> 0;
  FOR month IN SELECT DISTINCT date_trunc('month', read_at AT TIME ZONE 'UTC')
               FROM reading_before WHERE read_at >= edge LOOP
    EXECUTE format('CREATE TABLE %I PARTITION OF reading FOR VALUES FROM (%L) TO (%L)',
                   'reading_' || to_char(month, 'YYYY_MM'), month AT TIME ZONE 'UTC',
                   (month + INTERVAL '1 month') AT TIME ZONE 'UTC');
  END LOOP;
  WITH moved AS (DELETE FROM reading_before WHERE read_at >= edge RETURNING *)
  INSERT INTO reading SELECT * FROM moved;
  IF EXISTS (SELECT FROM reading_before) THEN
    EXECUTE format('ALTER TABLE reading ATTACH PARTITION reading_before '
                   'FOR VALUES FROM (MINVALUE) TO (%L)', edge);
  ELSE
    DROP TABLE reading_before;
  END IF;
END $$"""  # noqa: S608 - constants


def unpartitioned_sql() -> str:
    """The way back of ``partitioned_sql``."""
    return f"""
DO $$
BEGIN
  IF {_HAS_EXTENSION} THEN RETURN; END IF;
  ALTER TABLE reading RENAME TO reading_by_month;
  ALTER INDEX pk_reading RENAME TO pk_reading_by_month;
  ALTER INDEX ix_reading_flagged RENAME TO ix_reading_by_month_flagged;
  CREATE TABLE reading (LIKE reading_by_month INCLUDING CONSTRAINTS);
  INSERT INTO reading SELECT * FROM reading_by_month;
  ALTER TABLE reading ADD CONSTRAINT pk_reading PRIMARY KEY (channel_id, read_at);
  CREATE INDEX ix_reading_flagged ON reading (channel_id, read_at) WHERE quality <> 0;
  DROP TABLE reading_by_month;
END $$"""  # noqa: S608 - constants


def columnstore_sql() -> str:
    """Have the community edition compress old readings; elsewhere nothing happens. Repeatable."""
    return f"""
DO $$
BEGIN
  IF {_HAS_EXTENSION} AND current_setting('timescaledb.license', true) = 'timescale' THEN
    ALTER TABLE reading SET (timescaledb.compress,
                             timescaledb.compress_segmentby = 'channel_id',
                             timescaledb.compress_orderby = 'read_at');
    PERFORM add_compression_policy('reading', INTERVAL '{COMPRESSED_AFTER}',
                                   if_not_exists => true);
  END IF;
END $$"""


def is_partition(table: str) -> bool:
    """Whether a table is a part of ``reading``, which the history does not name."""
    return _PARTITION.fullmatch(table) is not None


# -- what serves this database


def edition(db: Connection) -> str:
    """Which edition serves this database: a key of ``EDITIONS``."""
    if not db.scalar(text("SELECT count(*) FROM pg_extension WHERE extname = 'timescaledb'")):
        return "plain"
    licence = db.scalar(text("SELECT current_setting('timescaledb.license', true)"))
    return "apache" if licence == "apache" else "community"


def is_hypertable(db: Connection, table: str) -> bool:
    """Whether a table is stored in chunks."""
    if edition(db) == "plain":
        return False
    found = db.scalar(
        text(
            "SELECT count(*) FROM timescaledb_information.hypertables WHERE hypertable_name = :name"
        ),
        {"name": table},
    )
    return bool(found)


# -- months of a plain server

_BY_MONTHS = text("SELECT relkind = 'p' FROM pg_class WHERE oid = 'reading'::regclass")
PARTS = text(
    """
    SELECT c.relname AS name,
           (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \\(''([^'']+)''\\)'))[1]
             ::timestamptz AS until
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'reading'::regclass
    """
)


def by_months(db: Connection) -> bool:
    """Whether readings are kept in partitions of a month."""
    return bool(db.scalar(_BY_MONTHS))


def make_months(db: Connection, months: set[datetime]) -> list[str]:
    """Make the partitions of these months, given by instants in them; the names of the new ones.

    In the caller's transaction, one process at a time; readers and other writers go on, since a
    partition that is attached, unlike one that is created in place, holds up nobody.
    """
    if not months or not by_months(db):
        return []
    db.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    there = {row.name: row.until for row in db.execute(PARTS)}
    edge = there.get("reading_before", datetime.min.replace(tzinfo=UTC))
    starts = sorted({_month(at) for at in months})
    missing = [(_name(at), at) for at in starts if at >= edge and _name(at) not in there]
    for name, start in missing:
        span = f"FROM ('{start.isoformat()}') TO ('{_next(start).isoformat()}')"
        db.exec_driver_sql(f"CREATE TABLE {name} (LIKE reading INCLUDING ALL)")
        db.exec_driver_sql(f"ALTER TABLE reading ATTACH PARTITION {name} FOR VALUES {span}")
    return [name for name, _ in missing]


def make_like_reading(db: Connection, table: str) -> None:
    """Make an empty table that is stored as ``reading`` is: for a bench, to compare with."""
    if by_months(db):
        db.exec_driver_sql(
            f"CREATE TABLE {table} (LIKE reading INCLUDING ALL) PARTITION BY RANGE (read_at)"
        )
        db.exec_driver_sql(f"CREATE TABLE {table}_all PARTITION OF {table} DEFAULT")
    else:
        db.exec_driver_sql(f"CREATE TABLE {table} (LIKE reading INCLUDING ALL)")
        db.exec_driver_sql(hypertable_sql(table, "read_at"))


def make_months_ahead(db: Connection, now: datetime) -> list[str]:
    """Make this month's partition and the next ones, so that live readings never wait for one."""
    months = {now}
    for _ in range(MONTHS_AHEAD):
        months.add(_next(max(months)))
    return make_months(db, months)


def _month(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _next(at: datetime) -> datetime:
    start = _month(at)
    return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)


def _name(start: datetime) -> str:
    return f"reading_{start:%Y_%m}"


# -- room for readings that the server would not take as they came


def lacks_room(error: BaseException | None) -> bool:
    """Whether an error says that a month has no partition, or that late rows touch too much."""
    if isinstance(error, psycopg.errors.CheckViolation):
        return error.diag.constraint_name is None  # else it is the content that is refused
    return isinstance(error, psycopg.errors.ConfigurationLimitExceeded)


def make_room(db: Connection, staging: str) -> None:
    """Make the months of the readings in a staging table."""
    if by_months(db):
        found = db.execute(
            text(f"SELECT DISTINCT date_trunc('month', read_at, 'UTC') FROM {staging}")  # noqa: S608
        )
        make_months(db, set(found.scalars()))


def lift_limit(db: Connection) -> None:
    """Let this transaction touch any number of compressed rows. Of the community edition only."""
    db.exec_driver_sql(LIFT_LIMIT)


# -- room given back

_CHUNKS = text(
    """
    SELECT range_start AS since, range_end AS until FROM timescaledb_information.chunks
    WHERE hypertable_name = 'reading' AND range_end <= :until AND NOT (is_compressed AND :blind)
    ORDER BY range_start
    """
)
_ANY = text("SELECT EXISTS (SELECT FROM reading WHERE read_at >= :since AND read_at < :until)")
_DROP = text("SELECT drop_chunks('reading', older_than => :until, newer_than => :since)")


def drop_empty_parts(db: Connection, *, until: datetime) -> int:
    """Drop the chunks or months that end up to an instant and hold no reading; how many went.

    The caller keeps others from storing so old readings meanwhile. A part in use is left for the
    next time, and so are compressed chunks that this edition cannot look into.
    """
    db.exec_driver_sql("SET LOCAL lock_timeout = '2s'")
    if by_months(db):
        months = [row for row in db.execute(PARTS) if row.until and row.until <= until]
        return sum(_dropped(db, f"DROP TABLE {one.name}") for one in months if _is_empty(db, one))
    if not is_hypertable(db, "reading"):
        return 0
    blind = edition(db) == "apache"
    chunks = db.execute(_CHUNKS, {"until": until, "blind": blind}).mappings().all()
    empty = [dict(one) for one in chunks if not db.scalar(_ANY, dict(one))]
    return sum(_dropped(db, _DROP.bindparams(**one)) for one in empty)


def _is_empty(db: Connection, month: Any) -> bool:
    return not db.exec_driver_sql(f"SELECT EXISTS (SELECT FROM {month.name})").scalar()  # noqa: S608


def _dropped(db: Connection, statement: str | TextClause) -> bool:
    try:
        with db.begin_nested():
            db.execute(text(statement) if isinstance(statement, str) else statement)
    except OperationalError as error:
        if not isinstance(error.orig, psycopg.errors.LockNotAvailable):
            raise
        return False
    return True


# -- a dump restored

_VERSION = text("SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'")
_OFFERED = text(
    "SELECT version FROM pg_available_extension_versions WHERE name = 'timescaledb' "
    "AND current_setting('shared_preload_libraries') LIKE '%timescaledb%'"
)


def version(db: Connection) -> str | None:
    """The version of the extension in this database; None without it."""
    found: str | None = db.scalar(_VERSION)
    return found


def offered(db: Connection) -> set[str]:
    """The versions that this server can put into a database."""
    return set(db.scalars(_OFFERED))


def begin_restore(db: Connection, wanted: str) -> None:
    """Put the extension in, in the version of a dump, and have it wait for the dump's rows."""
    if version(db) is None:
        db.exec_driver_sql(f"CREATE EXTENSION timescaledb VERSION '{wanted}'")
    db.exec_driver_sql("SELECT timescaledb_pre_restore()")


def end_restore(db: Connection) -> None:
    """Let the extension work again."""
    db.exec_driver_sql("SELECT timescaledb_post_restore()")
