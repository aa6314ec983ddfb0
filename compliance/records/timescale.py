"""What differs by TimescaleDB edition, and nothing else does: community, apache, plain."""

from __future__ import annotations

from sqlalchemy import Connection, text

EDITIONS = {
    "community": "TimescaleDB, community edition",
    "apache": "TimescaleDB, apache edition",
    "plain": "plain PostgreSQL",
}


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
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'timescaledb') THEN
    PERFORM create_hypertable('{table}', '{column}', chunk_time_interval => INTERVAL '{chunk}',
                              create_default_indexes => false);
  END IF;
END $$"""


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
