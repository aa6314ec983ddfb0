"""Determinations on record: listed with who, when and why, and the files that were put beside."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, select

from compliance.errors import NotFound
from compliance.model.determinations import OnRecord, Verdict
from compliance.records import tables as t
from compliance.records.scope import Scope

MOST = 500


def of(
    db: Connection, channels: Collection[int], *, since: datetime, until: datetime
) -> tuple[OnRecord, ...]:
    """Those of channels that touch ``[since, until)``, the newest first, at most ``MOST``."""
    d = t.determination.c
    found = _rows().where(d.channel_id.in_(channels), d.since < until, d.until > since)
    rows = db.execute(found.order_by(d.id.desc()).limit(MOST)).mappings()
    return tuple(_on_record(row) for row in rows)


def evidence(db: Connection, scope: Scope, number: int) -> tuple[str, bytes]:
    """The name and content of the file beside a determination.

    Raises: NotFound where there is none, or where the viewer may not see its point.
    """
    d = t.determination.c
    row = db.execute(
        select(d.evidence_name, d.evidence)
        .select_from(t.determination)
        .join(t.channel)
        .join(t.monitoring_point)
        .join(t.industrial_user)
        .where(scope.rows(), d.id == number)
    ).first()
    if row is None or row.evidence is None:
        raise NotFound(f"There is no evidence file of determination {number} here.")
    return str(row.evidence_name), bytes(row.evidence)


def _rows() -> Select[Any]:
    d = t.determination.c
    return select(
        d.id.label("number"),
        d.channel_id,
        d.since,
        d.until,
        d.verdict,
        d.reason,
        t.person.c.name,
        t.person.c.office,
        d.at,
        d.evidence_name,
        d.evidence_sha256,
    ).join_from(t.determination, t.person)


def _on_record(row: RowMapping) -> OnRecord:
    said = {name: row[name] for name in OnRecord.__slots__ if name not in ("verdict", "by")}
    by = f"{row['name']}, {row['office']}" if row["office"] else row["name"]
    return OnRecord(**said, verdict=Verdict(row["verdict"]), by=by)
