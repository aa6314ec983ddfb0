"""The register maps that workers have published, newest first of each name, ready to be used."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import distinct_on

from compliance.errors import InputError, NotFound
from compliance.model.register_map import RegisterMap
from compliance.records import maps, tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A register map as it was last published, with what its content hashes to."""

    map: RegisterMap
    sha256: str
    published_by: str
    published_at: datetime


def published(db: Connection) -> dict[str, Published]:
    """The newest published map of each name; one that this release cannot read is left out."""
    t = tables.register_map
    rows = db.execute(
        select(t).ext(distinct_on(t.c.name)).order_by(t.c.name, t.c.published_at.desc())
    )
    found = {}
    for row in rows:
        try:
            known = maps.decoded(row.content)
        except InputError:
            continue
        found[row.name] = Published(
            map=known,
            sha256=row.sha256,
            published_by=row.published_by,
            published_at=row.published_at,
        )
    return found


def one(db: Connection, name: str) -> Published:
    """One published map. Raises: NotFound saying what makes it known."""
    known = published(db)
    if name not in known:
        raise NotFound(
            f"No worker has published a register map {name!r}; put {name}.yaml into the folder "
            "maps of the worker's PRETREAT_HOME and wait a few seconds."
        )
    return known[name]
