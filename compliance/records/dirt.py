"""What waits to be judged: dirty marks, taken once, and events that have not settled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ARRAY, BigInteger, Connection, bindparam, delete, func, insert, select, text

from compliance.records import tables as t

MOST = 200
"""Marks taken at once: a backlog is worked off in several transactions."""

_EXPAND = text(
    """
    SELECT r.channel_id, min(r.read_at), max(r.read_at)
    FROM reading r
    WHERE r.channel_id = ANY(:channels) AND r.read_at >= :since AND r.read_at < :until
      AND (:every OR r.batch_id = ANY(:batches))
    GROUP BY r.channel_id
    """
).bindparams(
    bindparam("channels", type_=ARRAY(BigInteger)), bindparam("batches", type_=ARRAY(BigInteger))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """New readings of one channel lie in ``[since, until)``."""

    since: datetime
    until: datetime


SLUG = "slug"
"""Marks that wait for slug screening, which looks back over days and so runs less often."""


SAMPLER = "sampler"
"""Marks that wait for the composites that their readings belong to."""


FAILED = "failed"
"""Marks whose judging failed: tried again now and then, and never lost."""


def put(db: Connection, marks: Mapping[int, Mark], *, why: str) -> None:
    """Leave marks for another duty."""
    if marks:
        db.execute(
            insert(t.dirty),
            [
                {"channels": [channel], "since": mark.since, "until": mark.until, "why": why}
                for channel, mark in marks.items()
            ],
        )


def take(db: Connection, *, why: str | None = None) -> dict[int, Mark]:
    """Take waiting marks, leaving those that another process holds; by channel, tight.

    why: those left for one duty; None: whatever is new.
    """
    mine = t.dirty.c.why == why if why else t.dirty.c.why.not_in((SLUG, SAMPLER, FAILED))
    waiting = (
        select(t.dirty.c.id)
        .where(mine)
        .order_by(t.dirty.c.id)
        .limit(MOST)
        .with_for_update(skip_locked=True)
    )
    taken = db.execute(
        delete(t.dirty)
        .where(t.dirty.c.id.in_(waiting.scalar_subquery()))
        .returning(t.dirty.c.batch_id, t.dirty.c.channels, t.dirty.c.since, t.dirty.c.until)
    ).all()
    marks: dict[int, Mark] = {}
    batches = [row for row in taken if row.batch_id is not None]
    if batches:
        _expand(db, batches, marks, every=False)
    for row in taken:
        if row.batch_id is None:
            _expand(db, [row], marks, every=True)
    return marks


def _expand(db: Connection, rows: Sequence[object], marks: dict[int, Mark], *, every: bool) -> None:
    """One query for all marks of one kind: their joint span, their readings only."""
    found = db.execute(
        _EXPAND,
        {
            "channels": sorted({channel for row in rows for channel in row.channels}),  # type: ignore[attr-defined]
            "since": min(row.since for row in rows),  # type: ignore[attr-defined]
            "until": max(row.until for row in rows),  # type: ignore[attr-defined]
            "every": every,
            "batches": [] if every else [row.batch_id for row in rows],  # type: ignore[attr-defined]
        },
    )
    for channel, first, last in found:
        until = last + timedelta(microseconds=1)
        known = marks.get(channel)
        marks[channel] = Mark(
            since=min(first, known.since) if known else first,
            until=max(until, known.until) if known else until,
        )


def unsettled(db: Connection, *, kind: str) -> set[int]:
    """Channels with an event of a kind that has not settled: time alone may end it."""
    rows = db.execute(
        select(t.exceedance.c.channel_id)
        .where(
            t.exceedance.c.kind == kind,
            t.exceedance.c.settled.is_(False),
            t.exceedance.c.superseded_at.is_(None),
            t.exceedance.c.channel_id.is_not(None),
        )
        .distinct()
    )
    return {row.channel_id for row in rows}


def lock(db: Connection, channels: Sequence[int]) -> None:
    """Hold channels until the transaction ends, so that no two processes fold one at once."""
    for channel in sorted(channels):
        db.execute(select(func.pg_advisory_xact_lock(470406, channel)))


def first_reading(db: Connection, channel_id: int) -> datetime | None:
    """The instant of the oldest reading of a channel; None without any."""
    found: datetime | None = db.scalar(
        select(t.reading.c.read_at)
        .where(t.reading.c.channel_id == channel_id)
        .order_by(t.reading.c.read_at)
        .limit(1)
    )
    return found
