"""Corrected readings, each with what was read first; nothing is written over."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Connection, and_, func, select

from compliance.model.corrections import Corrected
from compliance.model.readings import Quality
from compliance.records import tables as t

MOST = 2000
"""So many are listed at once."""


def of(
    db: Connection,
    channels: Collection[int],
    *,
    since: datetime,
    until: datetime,
    most: int = MOST,
) -> tuple[Corrected, ...]:
    """The corrected readings of channels in ``[since, until)``, each in its newest version."""
    c, r = t.correction.c, t.reading.c
    newest = (
        select(c.channel_id, c.read_at, func.max(c.version).label("version"))
        .where(c.channel_id.in_(channels), c.read_at >= since, c.read_at < until)
        .group_by(c.channel_id, c.read_at)
        .subquery()
    )
    rows = db.execute(
        select(t.correction, r.value.label("first"), r.quality.label("first_quality"))
        .join(
            newest,
            and_(
                c.channel_id == newest.c.channel_id,
                c.read_at == newest.c.read_at,
                c.version == newest.c.version,
            ),
        )
        .join(t.reading, and_(r.channel_id == c.channel_id, r.read_at == c.read_at))
        .where(r.read_at >= since, r.read_at < until)
        .order_by(c.channel_id, c.read_at)
        .limit(most)
    ).mappings()
    return tuple(
        Corrected(
            **{
                **row,
                "quality": Quality(row["quality"]),
                "first_quality": Quality(row["first_quality"]),
            }
        )
        for row in rows
    )


def stored(
    db: Connection, channel: int, instants: Sequence[datetime]
) -> dict[datetime, float | None]:
    """What was read first at each of some instants; one without a reading is left out."""
    r = t.reading.c
    rows = db.execute(
        select(r.read_at, r.value).where(
            r.channel_id == channel,
            r.read_at >= min(instants),
            r.read_at <= max(instants),
            r.read_at.in_(instants),
        )
    )
    return {row.read_at: row.value for row in rows}
