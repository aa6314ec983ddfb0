"""Connections: an engine for a database address, and what a server must be before we trust it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, OperationalError

from compliance.errors import SettingsError, StorageError
from compliance.records import embedded
from compliance.settings import Settings

OLDEST = 150000
DATABASE = "pretreat"


class Unreachable(StorageError):
    """No server answers; one may later."""


def make_engine(url: str | URL, *, pool_size: int = 5, base_url: str = "") -> Engine:
    """An engine for a PostgreSQL address. Nothing is connected yet.

    base_url: where people find this installation; its sessions carry it, so that whatever writes
    an event can make its link whole (``outbox.put``).

    Raises: SettingsError for an address that cannot be read.
    """
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):
        raise SettingsError(
            f"DATABASE_URL is {str(url)!r}, which is not a database address; "
            "expected postgresql://user:password@host:5432/name"
        ) from None
    return create_engine(
        address.set(drivername="postgresql+psycopg"),
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_pre_ping=True,
        connect_args={
            "options": f"-c timezone=UTC -c pretreat.base_url={base_url}",
            "connect_timeout": 5,
        },
    )


@contextmanager
def opened(settings: Settings, *, database: str = DATABASE) -> Iterator[Engine]:
    """An engine on the configured server, or on the embedded one when none is configured.

    The embedded server runs as long as any process holds it open.

    Raises: StorageError when no server answers or it is not one we may trust.
    """
    if settings.database_url:
        yield from _using(make_engine(settings.database_url, base_url=settings.base_url))
        return
    with embedded.running(settings.home) as server:
        server.ensure_database(database)
        yield from _using(make_engine(server.url(database), base_url=settings.base_url))


def _using(engine: Engine) -> Iterator[Engine]:
    try:
        verify(engine)
        yield engine
    finally:
        engine.dispose()


def verify(engine: Engine) -> None:
    """Refuse a server that is too old or would lose what it has acknowledged.

    Raises: StorageError, Unreachable among them.
    """
    try:
        with engine.connect() as db:
            version, fsync, commit = db.execute(
                text(
                    "SELECT current_setting('server_version_num')::int, "
                    "current_setting('fsync'), current_setting('synchronous_commit')"
                )
            ).one()
    except OperationalError as error:
        where = engine.url.render_as_string(hide_password=True)
        reason = str(error.orig).strip().splitlines()[0].strip() if error.orig else "no answer"
        raise Unreachable(
            f"no database answers at {where} ({reason}); start it, or correct DATABASE_URL"
        ) from None
    if version < OLDEST:
        raise StorageError(
            f"the database server has version {version // 10000}; PostgreSQL 15 or newer is needed"
        )
    if fsync == "off" or commit == "off":
        raise StorageError(
            f"the database server runs with fsync={fsync}, synchronous_commit={commit}: "
            "it may lose readings it has acknowledged; set both to on"
        )


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that sees one instant of the database and can write nothing into it."""
    with engine.connect().execution_options(
        isolation_level="REPEATABLE READ", postgresql_readonly=True
    ) as db:
        yield db


def raw_connection(engine: Engine) -> psycopg.Connection[tuple[object, ...]]:
    """A connection of its own outside the pool, in autocommit: for LISTEN."""
    url = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.connect(url, autocommit=True, connect_timeout=5)
