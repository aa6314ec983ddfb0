"""What a database holds and runs on: asked when it is saved, and again when it is restored."""

from __future__ import annotations

from sqlalchemy import Connection, func, select, table, text

from compliance.model.backup import Inventory, Server
from compliance.records import schema, timescale
from compliance.records.tables import audit

_OURS = """
    SELECT c.relname FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND {}
      AND NOT EXISTS (
          SELECT FROM pg_depend d
          WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
      )
    ORDER BY c.relname
    """
_TABLES = text(_OURS.format("c.relkind IN ('r', 'p') AND NOT c.relispartition"))
_ALL = text(_OURS.format("c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')"))


def taken(db: Connection) -> Inventory:
    """What a database holds; every row is counted."""
    counts = {name: _count(db, name) for name in list(db.scalars(_TABLES))}
    last = None
    if audit.name in counts:
        newest = select(audit.c.id, audit.c.sha256).order_by(audit.c.id.desc()).limit(1)
        last = db.execute(newest).first()
    return Inventory(
        revision=schema.current(db) or "",
        counts=counts,
        audit_id=last.id if last else 0,
        audit_head=last.sha256 if last else "",
    )


def _count(db: Connection, name: str) -> int:
    return int(db.scalar(select(func.count()).select_from(table(name))) or 0)


def server(db: Connection) -> Server:
    """What a database runs on."""
    number = db.scalar(text("SELECT current_setting('server_version_num')::int"))
    return Server(
        major=int(number or 0) // 10000,
        edition=timescale.edition(db),
        extension=timescale.version(db),
    )


def contents(db: Connection) -> list[str]:
    """The names of all that lies in a database beside what its extensions brought."""
    return list(db.scalars(_ALL))
