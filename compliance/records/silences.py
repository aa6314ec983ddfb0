"""Channels that are silent: when that was noticed, and when it was told."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from sqlalchemy import ARRAY, Connection, Integer, any_, cast, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from compliance.records import tables as t

LOCK = 470421
"""The advisory lock under which silence is looked for: two processes take turns."""


def lock(db: Connection) -> None:
    """Be the only one that looks for silence until the transaction ends."""
    db.execute(select(func.pg_advisory_xact_lock(LOCK)))


def counting(db: Connection) -> dict[int, datetime]:
    """Since when each channel counts, of those that do at the moment or will."""
    c = t.counting.c
    rows = db.execute(select(c.channel_id, c.since).where(c.until.is_(None)))
    return {channel: since for channel, since in rows}


def known(db: Connection) -> dict[int, tuple[datetime, datetime | None]]:
    """When the silence of each silent channel was noticed, and when told; None: not yet."""
    s = t.silence.c
    rows = db.execute(select(s.channel_id, s.noticed_at, s.told_at))
    return {channel: (noticed, told) for channel, noticed, told in rows}


def notice(db: Connection, channels: Iterable[int], *, at: datetime) -> None:
    """Keep that channels are silent; what is known of one stays."""
    rows = [{"channel_id": one, "noticed_at": at} for one in channels]
    if rows:
        db.execute(insert(t.silence).on_conflict_do_nothing(), rows)


def tell(db: Connection, channels: Collection[int], *, at: datetime) -> None:
    """Keep that the silence of channels was told."""
    mine = t.silence.c.channel_id == any_(cast(list(channels), ARRAY(Integer)))
    db.execute(update(t.silence).where(mine).values(told_at=at))


def over(db: Connection, channels: Collection[int]) -> None:
    """Forget the silence of channels: the next one is another."""
    mine = t.silence.c.channel_id == any_(cast(list(channels), ARRAY(Integer)))
    db.execute(delete(t.silence).where(mine))
