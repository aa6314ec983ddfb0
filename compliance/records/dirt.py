"""What waits to be judged: dirty marks, taken once, and events that have not settled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from types import SimpleNamespace
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Connection,
    DateTime,
    Integer,
    bindparam,
    delete,
    func,
    insert,
    select,
    text,
)

from compliance.model.periods import EPOCH
from compliance.records import tables as t

MOST = 200
"""Marks taken at once: a backlog is worked off in several transactions."""

_EXPAND = text(
    """
    SELECT r.channel_id, date_bin('1 hour', r.read_at, '1970-01-01T00:00:00Z') AS hour,
           min(r.read_at), max(r.read_at)
    FROM reading r
    WHERE r.channel_id = ANY(:channels) AND r.read_at >= :since AND r.read_at < :until
      AND (:every OR r.batch_id = ANY(:batches))
      AND NOT EXISTS (
          SELECT FROM destruction d
          WHERE d.channel_id = r.channel_id AND d.closed_from <= r.read_at
            AND d.closed_until > r.read_at AND d.closed_until > :since
      )
    GROUP BY 1, 2 ORDER BY 1, 2
    """
).bindparams(
    bindparam("channels", type_=ARRAY(BigInteger)), bindparam("batches", type_=ARRAY(BigInteger))
)

TOGETHER = 100
"""Channels of neighbouring numbers that share a mark left for another duty."""
SHARES = 64
_NEXT = text(
    """
    SELECT min(next.read_at)
    FROM unnest(:channels) AS m (channel_id)
    CROSS JOIN LATERAL (
        SELECT r.read_at FROM reading r
        WHERE r.channel_id = m.channel_id AND r.read_at >= :since AND r.read_at < :until
        ORDER BY r.read_at LIMIT 1
    ) AS next
    """
).bindparams(bindparam("channels", type_=ARRAY(Integer)))
_LAST = text(
    """
    SELECT m.channel_id, newest.read_at
    FROM unnest(:channels, :since) AS m (channel_id, since)
    CROSS JOIN LATERAL (
        SELECT r.read_at FROM reading r
        WHERE r.channel_id = m.channel_id AND r.read_at >= m.since
        ORDER BY r.read_at DESC LIMIT 1
    ) AS newest
    """
).bindparams(
    bindparam("channels", type_=ARRAY(Integer)),
    bindparam("since", type_=ARRAY(DateTime(timezone=True))),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """New or changed readings of one channel lie in ``[since, until)``, in the hours that begin at
    ``hours``."""

    since: datetime
    until: datetime
    hours: tuple[datetime, ...] = ()

    def __or__(self, other: Mark) -> Mark:
        return Mark(
            since=min(self.since, other.since),
            until=max(self.until, other.until),
            hours=tuple(sorted({*self.hours, *other.hours})),
        )

    def rounded(self, to: timedelta) -> Mark:
        """The whole hours or quarters that hold it: so that many channels have one mark."""
        start = self.since - (self.since - EPOCH) % to
        return Mark(since=start, until=self.until - (self.until - EPOCH) % to + to)


SLUG = "slug"
"""Marks that wait for slug screening, which looks back over days and so runs less often."""


SAMPLER = "sampler"
"""Marks that wait for the composites that their readings belong to."""


ROLLUP = "rollup"
"""Marks that wait for quarter-hours and days to be summed anew."""


SCREEN = "screen"
"""Marks that wait for screening, which looks back over hours."""


TOTAL = "total"
"""Marks of days whose flow waits to be laid beside the point's total, once they are over."""


FAILED = "failed"
"""Marks whose judging failed: tried again now and then, and never lost."""


RULED = "ruled"
"""Marks of what was judged by a rule that says otherwise now: worked off beside what is new."""
_OTHERS = (SLUG, SAMPLER, ROLLUP, SCREEN, TOTAL, FAILED, RULED)


def put(db: Connection, marks: Mapping[int, Mark], *, why: str, together: int = TOGETHER) -> None:
    """Leave marks for another duty, those of one span together; one that waits already will do.

    together: so many channels of neighbouring numbers at most in a mark.
    """
    spans: dict[tuple[datetime, datetime, int], list[int]] = {}
    for channel, mark in sorted(marks.items()):
        spans.setdefault((mark.since, mark.until, channel // together), []).append(channel)
    if not spans:
        return
    d = t.dirty.c
    waiting = db.execute(
        select(d.since, d.until, d.channels).where(d.why == why, d.batch_id.is_(None))
    )
    known = {(row.since, row.until, tuple(row.channels)) for row in waiting}
    rows = [
        {"channels": channels, "since": since, "until": until, "why": why}
        for (since, until, _), channels in spans.items()
        if (since, until, tuple(channels)) not in known
    ]
    if rows:
        db.execute(insert(t.dirty), rows)


def take(
    db: Connection,
    *,
    why: str | None = None,
    most: int = MOST,
    before: datetime | None = None,
    longest: timedelta | None = None,
) -> dict[int, Mark]:
    """Take waiting marks, leaving those that another process holds; by channel, tight.

    why: those left for one duty; None: whatever is new. most: so many rows of marks. before: only
    those that end by an instant. longest: so much time of each row; the rest of it waits on.
    """
    mine = t.dirty.c.why == why if why else t.dirty.c.why.not_in(_OTHERS)
    if before is not None:
        mine &= t.dirty.c.until <= before
    waiting = (
        select(t.dirty.c.id)
        .where(mine)
        .order_by(t.dirty.c.id)
        .limit(most)
        .with_for_update(skip_locked=True)
    )
    taken = db.execute(
        delete(t.dirty)
        .where(t.dirty.c.id.in_(waiting.scalar_subquery()))
        .returning(t.dirty.c.batch_id, t.dirty.c.channels, t.dirty.c.since, t.dirty.c.until)
    ).all()
    if longest is not None:
        taken = [_first_of(db, row, longest, why=why) for row in taken]
    marks: dict[int, Mark] = {}
    batches = [row for row in taken if row.batch_id is not None]
    if batches:
        _expand(db, batches, marks, every=False)
    for row in taken:
        if row.batch_id is None:
            _expand(db, [row], marks, every=True)
    return marks


def _first_of(db: Connection, row: Any, longest: timedelta, *, why: str | None) -> Any:
    """The first stretch of a taken mark; the rest is put back, and so comes after it. Years in
    which nothing was read are leapt over."""
    stop = row.since + longest
    if row.until <= stop:
        return row
    whole = {"channels": row.channels, "since": stop, "until": row.until}
    begins = db.scalar(_NEXT, whole)
    if begins is not None:
        rest = {**whole, "since": begins, "batch_id": row.batch_id, "why": why}
        db.execute(insert(t.dirty).values(**rest))
    return SimpleNamespace(
        batch_id=row.batch_id, channels=row.channels, since=row.since, until=stop
    )


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
    for channel, own in groupby(found.all(), key=lambda row: row[0]):
        _, hours, firsts, lasts = zip(*own, strict=True)  # in order: ever longer unions are dear
        mark = Mark(since=firsts[0], until=lasts[-1] + timedelta(microseconds=1), hours=hours)
        known = marks.get(channel)
        marks[channel] = known | mark if known else mark


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


def lock(db: Connection, channels: Sequence[int], *, duty: int = 470406) -> None:
    """Hold channels until the transaction ends, so that no two processes do one duty at once.

    By shares of all channels: a lock for each of thousands would fill the server's table of locks.
    """
    for share in sorted({channel % SHARES for channel in channels}):
        db.execute(select(func.pg_advisory_xact_lock(duty, share)))


def last_readings(db: Connection, marks: Mapping[int, Mark]) -> dict[int, datetime]:
    """The instant of the newest reading of each channel from its mark on."""
    rows = db.execute(
        _LAST,
        {"channels": list(marks), "since": [mark.since for mark in marks.values()]},
    )
    return {row.channel_id: row.read_at for row in rows}


def first_reading(db: Connection, channel_id: int) -> datetime | None:
    """The instant of the oldest reading of a channel; None without any."""
    found: datetime | None = db.scalar(
        select(t.reading.c.read_at)
        .where(t.reading.c.channel_id == channel_id)
        .order_by(t.reading.c.read_at)
        .limit(1)
    )
    return found
