"""Migrated databases for tests: one that was used is emptied and given out again as a new one.

To copy a database costs half a second and to drop it a checkpoint; to empty it a few milliseconds.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

import psycopg
from psycopg import sql

from compliance.records.embedded import Server
from compliance.records.tables import metadata

KEPT = "alembic_version"
_serial = count()
_SHAPE = """
SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace),
       (SELECT count(*) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
         WHERE c.relnamespace = 'public'::regnamespace AND NOT a.attisdropped),
       (SELECT count(*) FROM pg_constraint WHERE connamespace = 'public'::regnamespace),
       (SELECT count(*) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
         WHERE c.relnamespace = 'public'::regnamespace AND t.tgenabled = 'O'),
       (SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace),
       (SELECT string_agg(version_num, ' ') FROM alembic_version),
       pg_database_size(current_database()) > 50e6
"""
"""How many things of each kind a schema has, and whether it is large: a database that differs from
a new one is not given to the next test.
"""


@dataclass(slots=True)
class Databases:
    """Databases of one process of tests, as copies of a template; some lie idle."""

    server: Server
    template: str
    _idle: list[str] = field(default_factory=list)
    _shape: tuple[object, ...] = ()

    def take(self) -> str:
        """The name of a migrated, empty database that nobody is connected to."""
        name = f"test_{os.getpid()}_{next(_serial)}"
        if self._idle:
            self._rename(self._idle.pop(), name)
        else:
            self.server.copy_database(name, template=self.template)
            self._shape = self._shape or self._shape_of(name)
        return name

    def give_back(self, name: str) -> None:
        """Empty a database for the next test; one that has become another is dropped."""
        self._part_from(name)
        with suppress(psycopg.Error):
            if self._shape_of(name) == self._shape:
                self._empty(name)
                self._idle.append(name)
                return
        self.server.drop_database(name)

    def close(self) -> None:
        """Drop them all, and the template."""
        for name in (*self._idle, self.template):
            self.server.drop_database(name)
        self._idle.clear()

    def _shape_of(self, name: str) -> tuple[object, ...]:
        with self._connected(name) as db:
            return db.execute(_SHAPE).fetchone() or ()

    def _empty(self, name: str) -> None:
        with self._connected(name) as db:
            db.execute("SET session_replication_role = replica")  # no triggers, no foreign keys
            for table in metadata.tables:
                if table != KEPT:
                    db.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
            used = "SELECT sequencename FROM pg_sequences WHERE last_value IS NOT NULL"
            for (sequence,) in db.execute(f"{used} AND schemaname = 'public'").fetchall():
                db.execute(sql.SQL("ALTER SEQUENCE {} RESTART").format(sql.Identifier(sequence)))

    def _rename(self, old: str, new: str) -> None:
        """A new name: whoever still knows the old one does not get in again."""
        before, after = sql.Identifier(old), sql.Identifier(new)
        with self._connected("postgres") as db:
            db.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(before))
            self._part_from(old)
            db.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(before, after))
            db.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(after))

    def _part_from(self, name: str) -> None:
        """End every connection to a database, and wait until they are gone."""
        with self._connected("postgres") as db:
            db.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s",
                [name],
            )

    def _connected(self, name: str) -> psycopg.Connection[tuple[object, ...]]:
        url = self.server.url(name).replace("+psycopg", "")
        return psycopg.connect(url, autocommit=True)
