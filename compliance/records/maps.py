"""Register maps as a worker published them: what pages show and evidence cites."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.postgresql import insert

from compliance.errors import InputError
from compliance.model.register_map import RegisterMap
from compliance.records import counting, tables

_MAP = TypeAdapter(RegisterMap)


def content(of: RegisterMap) -> dict[str, Any]:
    """A map as plain JSON values, for the table of published maps and for ``--json``."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(of), default=str))
    return plain


def sha256(of: RegisterMap) -> str:
    """The fingerprint of a map's content, whatever its comments and layout."""
    text = json.dumps(content(of), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def decoded(plain: Mapping[str, Any]) -> RegisterMap:
    """A map from its plain values, as ``content`` gave them.

    Raises: InputError where they are none, or hold more than a map of this release.
    """
    try:
        found = _MAP.validate_python(plain)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"the register map cannot be read at {where or 'its beginning'}: {first['msg']}; "
            "it must come from a worker of this release"
        ) from None
    if content(found) != plain:
        raise InputError(
            f"the register map {found.name} holds what this release does not know; "
            "it must come from a worker of this release"
        )
    return found


def publish(
    db: Connection, *, name: str, sha256: str, content: Mapping[str, Any], published_by: str
) -> None:
    """Make a register map known; the same content twice is one row, and the newest again.

    A channel that it reads as another number than at its confirmation counts no more from now on.
    """
    t = tables.register_map
    row = insert(t).values(
        name=name, sha256=sha256, content=dict(content), published_by=published_by
    )
    newest = select(t.c.sha256).where(t.c.name == name).order_by(t.c.published_at.desc()).limit(1)
    again = {"published_at": func.clock_timestamp(), "published_by": published_by}
    is_back = newest.scalar_subquery() != sha256
    db.execute(
        row.on_conflict_do_update(index_elements=["name", "sha256"], set_=again, where=is_back)
    )
    with suppress(InputError):  # a release that cannot read it cannot poll by it either
        counting.map_published(db, decoded(content), by=published_by)


def behind(db: Connection, points: Collection[int]) -> frozenset[str]:
    """The names of the maps that read the instruments of some monitoring points, by their ids."""
    i = tables.instrument.c
    found = select(i.map_name).where(i.monitoring_point_id.in_(points))
    return frozenset(db.scalars(found))
