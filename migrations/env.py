"""Alembic's entry: one history for every edition, also as SQL (``--sql``)."""

from __future__ import annotations

from alembic import context
from sqlalchemy import create_engine
from sqlalchemy.engine import Connection

from compliance.records.tables import metadata


def include_name(name: str | None, type_: str, parent_names: object) -> bool:
    """Leave out what others own: chunks, partitions, catalogues of TimescaleDB."""
    return not (type_ == "schema" and name is not None and name.startswith("_timescaledb"))


def migrate(connection: Connection) -> None:
    """Run the migrations on a connection, giving up rather than waiting for ever on a lock."""
    connection.exec_driver_sql("SET lock_timeout = '10s'")
    connection.commit()
    context.configure(connection=connection, target_metadata=metadata, include_name=include_name)
    with context.begin_transaction():
        context.run_migrations()


def offline() -> None:
    """Print the history as SQL."""
    context.configure(
        dialect_name="postgresql",
        dialect_opts={"paramstyle": "named"},  # else every % in a statement comes out doubled
        target_metadata=metadata,
        literal_binds=True,
    )
    with context.begin_transaction():
        context.run_migrations()


given: Connection | None = context.config.attributes.get("connection")
if context.is_offline_mode():
    offline()
elif given is not None:
    migrate(given)
else:
    engine = create_engine(context.config.get_main_option("sqlalchemy.url") or "")
    with engine.connect() as opened:
        migrate(opened)
