"""Findings as a person names them: in a line, with their detections."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from compliance.records import tables as t


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A fact as a person names it. detection, state: of its detection, None where it has none."""

    id: str
    detection: int | None
    state: str | None
    rule_id: str
    kind: str
    parameter: str
    unit: str
    side: str
    limit: str
    worst: str
    starts_at: datetime
    ends_at: datetime
    authority: str


def described(db: Connection, fact_ids: Collection[str]) -> dict[str, Described]:
    """Facts as a person names them, with their detections, by id."""
    e, d = t.exceedance.c, t.detection.c
    named = [name for name in Described.__slots__ if name not in ("id", "detection", "state")]
    rows = db.execute(
        select(e.id, d.id.label("detection"), d.state, *(e[name] for name in named))
        .select_from(t.exceedance)
        .join(t.detection, isouter=True)
        .where(e.id.in_(fact_ids))
    ).mappings()
    return {row["id"]: Described(**row) for row in rows}


def touching(
    db: Connection, channel_id: int, *, since: datetime, until: datetime, kind: str
) -> tuple[str, ...]:
    """The ids of facts of a kind on a channel that stand and touch ``[since, until)``."""
    e = t.exceedance.c
    return tuple(
        db.scalars(
            select(e.id)
            .where(
                e.channel_id == channel_id,
                e.kind == kind,
                e.superseded_at.is_(None),
                e.starts_at < until,
                e.ends_at >= since,
            )
            .order_by(e.starts_at, e.id)
        )
    )
