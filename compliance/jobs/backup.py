"""The database saved into one file, and restored from it: each proves what it did."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection, Engine, text

from compliance.errors import InputError, StorageError
from compliance.jobs import archive
from compliance.model.backup import Inventory, Manifest, Server
from compliance.records import audit, dumping, inventory, schema, timescale
from compliance.records.audit import Proof


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a restore came to. difference: the first from what was saved; None without any."""

    manifest: Manifest
    found: Inventory
    proof: Proof
    difference: str | None


def backup(  # noqa: PLR0913 - where to, and what the manifest says
    engine: Engine,
    file: Path,
    *,
    home: Path,
    force: bool,
    by: str,
    release: str,
    now: datetime,
) -> Manifest:
    """Save the database into a file, while everything goes on; the file is there whole or not.

    What is counted and what is dumped is one and the same instant. home: PRETREAT_HOME.
    Raises: InputError for the file; StorageError.
    """
    archive.refuse_existing(file, force=force)
    with _snapshot(engine) as (db, snapshot):
        runs_on = inventory.server(db)
        program = dumping.find("pg_dump", server=runs_on.major, home=home)
        holds = inventory.taken(db)
        if not holds.revision:
            raise StorageError("the database is empty: there is nothing to save")
        with closing(dumping.dumped(engine, program, snapshot=snapshot)) as blocks:
            return archive.write(
                file,
                blocks,
                lambda sha256, size: Manifest(
                    release=release,
                    made_at=now,
                    made_by=by,
                    server=runs_on,
                    inventory=holds,
                    program=str(program),
                    sha256=sha256,
                    size=size,
                ),
                force=force,
            )


@contextmanager
def _snapshot(engine: Engine) -> Iterator[tuple[Connection, str]]:
    """A connection that sees one instant, and the name under which another may see it too."""
    with engine.connect() as plain:
        db = plain.execution_options(isolation_level="REPEATABLE READ")
        name = db.scalar(text("SELECT pg_export_snapshot()"))
        yield db, str(name)


def restore(engine: Engine, file: Path, *, home: Path) -> Restored:
    """Restore a backup into an empty database and compare what came with what was saved.

    Nothing comes in where the file is not whole, the server does not fit or the database is not
    empty. home: PRETREAT_HOME. Raises: InputError, StorageError.
    """
    manifest = archive.read(file)
    with engine.connect() as db:
        runs_on = inventory.server(db)
        _refuse_unfit(file, manifest, runs_on, offered=timescale.offered(db))
        _refuse_full(db)
    archive.check(file, manifest)
    program = dumping.find("pg_restore", server=runs_on.major, home=home, least=_written(manifest))
    with _extension(engine, manifest.server):
        dumping.restored(engine, program, archive.blocks(file, manifest))
    engine.dispose()
    with engine.connect() as plain:
        plain.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql("ANALYZE")
    with engine.connect() as db:
        return _proved(db, manifest)


def _written(manifest: Manifest) -> int:
    """The version of the program that wrote the dump: one as new reads it."""
    try:
        return int(manifest.program.rpartition(" ")[2])
    except ValueError:
        raise InputError(f"the backup was made by {manifest.program!r}; expected pg_dump") from None


def _refuse_unfit(file: Path, manifest: Manifest, runs_on: Server, *, offered: set[str]) -> None:
    saved = manifest.server
    if not schema.knows(manifest.inventory.revision):
        raise InputError(
            f"{file} was made by release {manifest.release}, whose schema "
            f"{manifest.inventory.revision} this release does not know; use that release or a newer"
        )
    if runs_on.major < saved.major:
        raise StorageError(
            f"{file} comes from PostgreSQL {saved.major} and the server is {runs_on.major}; "
            f"restore into PostgreSQL {saved.major} or newer"
        )
    if saved.extension is None:
        return
    if saved.extension not in (offered if runs_on.extension is None else {runs_on.extension}):
        has = runs_on.extension or ", ".join(sorted(offered)) or "none"
        raise StorageError(
            f"{file} needs TimescaleDB {saved.extension} and the server has {has}; install that "
            "version, restore, and update the extension afterwards"
        )


def _refuse_full(db: Connection) -> None:
    there = inventory.contents(db)
    if there:
        name = db.scalar(text("SELECT current_database()"))
        raise StorageError(
            f"the database {name} is not empty: it has {len(there)} tables and the like, "
            f"{there[0]} among them; restore into a new one (createdb), or into a new PRETREAT_HOME"
        )


@contextmanager
def _extension(engine: Engine, saved: Server) -> Iterator[None]:
    """TimescaleDB made ready for the rows of its own tables, and let go on afterwards."""
    if saved.extension is None:
        yield
        return
    with engine.begin() as db:
        timescale.begin_restore(db, saved.extension)
    engine.dispose()
    try:
        yield
    finally:
        engine.dispose()
        with engine.begin() as db:
            timescale.end_restore(db)


def _proved(db: Connection, manifest: Manifest) -> Restored:
    """Compare a restored database with what was saved, and walk along its audit log."""
    found = inventory.taken(db)
    proof = audit.verify(db)
    difference = manifest.inventory.first_difference(found)
    if difference is None and proof.first_bad is not None:
        difference = f"row {proof.first_bad} of the audit log does not hold: {proof.why}"
    return Restored(manifest=manifest, found=found, proof=proof, difference=difference)
