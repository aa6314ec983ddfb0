"""How often a channel was read, from when on: looked up, added, and put off."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import Connection, delete, select

from compliance.records import sites
from compliance.records import tables as t


def known(db: Connection, channel_id: int) -> tuple[tuple[datetime, int], ...]:
    """Every declared cadence of a channel in time order: since when, and the interval in ms."""
    c = t.channel_cadence.c
    rows = db.execute(
        select(c.since, c.interval_ms).where(c.channel_id == channel_id).order_by(c.since)
    )
    return tuple((since, interval_ms) for since, interval_ms in rows)


def write(
    db: Connection,
    channel_id: int,
    *,
    removed: Iterable[datetime],
    added: Iterable[tuple[datetime, int]],
) -> None:
    """Take some cadences of a channel away and put others in."""
    c = t.channel_cadence.c
    for since in removed:
        db.execute(delete(t.channel_cadence).where(c.channel_id == channel_id, c.since == since))
    for since, interval_ms in added:
        sites.set_cadence(db, channel_id, since=since, interval_ms=interval_ms)


def is_read_in(db: Connection, channel_id: int, *, since: datetime, until: datetime) -> bool:
    """Whether a channel has a reading in ``[since, until)``."""
    r = t.reading.c
    found = db.execute(
        select(r.read_at)
        .where(r.channel_id == channel_id, r.read_at >= since, r.read_at < until)
        .limit(1)
    )
    return found.first() is not None
