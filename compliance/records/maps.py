"""Register maps as a worker published them: what pages show and evidence cites."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.dialects.postgresql import insert

from compliance.records import tables


def publish(
    db: Connection, *, name: str, sha256: str, content: Mapping[str, Any], published_by: str
) -> None:
    """Make a register map known; the same content twice is one row."""
    row = insert(tables.register_map).values(
        name=name, sha256=sha256, content=dict(content), published_by=published_by
    )
    db.execute(row.on_conflict_do_nothing(index_elements=["name", "sha256"]))
