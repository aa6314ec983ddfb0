"""Since when each channel's readings count: begun by a confirmation, ended by a change."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, func, or_, select, text, update

from compliance.model.commissioning import Counting, completed, differences, read_by
from compliance.model.periods import to_us
from compliance.model.register_map import Order, RegisterMap
from compliance.records import audit
from compliance.records import tables as t

ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)
"""Since the first reading there can be."""
SOON = timedelta(days=1)
"""A slot may lie a little after the database's clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A span in which a channel counts, with who made it begin and end; None: not ended."""

    channel_id: int
    since: datetime
    until: datetime | None
    by: str
    how: str
    noted_at: datetime
    ended_by: str | None
    ended_why: str | None
    read_by: Mapping[str, str] | None


def records(db: Connection, channels: Collection[int]) -> dict[int, tuple[Record, ...]]:
    """Every span of some channels, oldest first; a channel without any is left out."""
    c = t.counting.c
    rows = db.execute(
        select(*(c[name] for name in Record.__slots__))
        .where(c.channel_id.in_(channels))
        .order_by(c.channel_id, c.since, c.id)
    ).mappings()
    found: dict[int, list[Record]] = {}
    for row in rows:
        found.setdefault(row["channel_id"], []).append(Record(**row))
    return {channel: tuple(spans) for channel, spans in found.items()}


def spans(db: Connection, channels: Collection[int]) -> dict[int, tuple[Counting, ...]]:
    """The spans of some channels in microseconds; a channel without any is left out."""
    c = t.counting.c
    rows = db.execute(select(c.channel_id, c.since, c.until).where(c.channel_id.in_(channels)))
    found: dict[int, list[Counting]] = {}
    for channel, since, until in rows:
        span = Counting(since_us=to_us(since), until_us=None if until is None else to_us(until))
        found.setdefault(channel, []).append(span)
    return {channel: tuple(mine) for channel, mine in found.items()}


def counts(db: Connection, channels: Collection[int], *, at: datetime) -> set[int]:
    """Those of some channels whose readings count at an instant."""
    c = t.counting.c
    rows = db.scalars(
        select(c.channel_id).where(
            c.channel_id.in_(channels), c.since <= at, or_(c.until.is_(None), c.until > at)
        )
    )
    return set(rows)


def at(db: Connection, channel_id: int, instant: datetime) -> Record | None:
    """The span in which a channel counted at an instant; None where it did not."""
    for one in records(db, [channel_id]).get(channel_id, ()):
        if one.since <= instant and (one.until is None or instant < one.until):
            return one
    return None


def begin(  # noqa: PLR0913 - a confirmation is that much
    db: Connection,
    channel_id: int,
    *,
    since: datetime,
    by: str,
    how: str,
    read_by: Mapping[str, str] | None = None,
) -> None:
    """Have a channel's readings count from an instant on; where they do already, from earlier on.

    What lies since then is judged anew. An instant before the end of an earlier span is that end.
    """
    c = t.counting.c
    is_open = (c.channel_id == channel_id) & c.until.is_(None)
    ended = db.scalar(
        select(c.until)
        .where(c.channel_id == channel_id)
        .order_by(c.until.desc().nulls_last())
        .limit(1)
    )
    since = since if ended is None else max(since, ended)
    standing = db.scalar(select(c.since).where(is_open))
    if standing is not None:
        values = {"since": min(since, standing), "by": by, "how": how}
        if read_by is not None:
            values["read_by"] = dict(read_by)
        db.execute(update(t.counting).where(is_open).values(**values))
        if since >= standing:
            return
    else:
        row = {"channel_id": channel_id, "since": since, "by": by, "how": how}
        db.execute(t.counting.insert().values(**row, read_by=read_by and dict(read_by)))
    _judge_anew(db, [channel_id], since)


def end(
    db: Connection, channels: Collection[int], *, by: str, why: str, at: datetime | None = None
) -> tuple[int, ...]:
    """Have readings count no more; the channels for which that is a change.

    at: from then on; None: from now on, by the database's clock.
    """
    c = t.counting.c
    ended = db.scalars(
        update(t.counting)
        .where(c.channel_id.in_(channels), c.until.is_(None))
        .values(until=at or func.clock_timestamp(), ended_by=by, ended_why=why)
        .returning(c.channel_id)
    )
    found = tuple(sorted(ended))
    if found and at is not None:
        _judge_anew(db, found, at)
    return found


def _judge_anew(db: Connection, channels: Sequence[int], since: datetime) -> None:
    """Mark what these channels have read since an instant, where they have."""
    r = t.reading.c
    read = [
        channel
        for channel in channels
        if db.scalar(select(r.read_at).where(r.channel_id == channel, r.read_at >= since).limit(1))
    ]
    if read:
        until = func.now() + SOON
        db.execute(t.dirty.insert().values(channels=read, since=since, until=until, why="counting"))
        db.execute(text("NOTIFY pretreat_dirty"))


def map_published(db: Connection, found: RegisterMap, *, by: str) -> tuple[int, ...]:
    """Have count no more what a register map as it is now reads as another number or quality.

    Gives the channels; each must be compared with its display anew. The audit log says which.
    """
    ch, i, c = t.channel.c, t.instrument.c, t.counting.c
    way = (ch.entry, ch.unit, ch.resolution, ch.span_low, ch.span_high, i.byte_order)
    rows = db.execute(
        select(ch.id, ch.instrument_id, *way, c.read_by)
        .select_from(t.channel)
        .join(t.instrument, i.id == ch.instrument_id)
        .join(t.counting, (c.channel_id == ch.id) & c.until.is_(None))
        .where(i.map_name == found.name)
    ).all()
    ended: list[int] = []
    for row in rows:
        now = _read_now(found, row)
        before = now if row.read_by is None else completed(row.read_by, now)
        changed = differences(before, now)
        if changed:
            why = f"its register map {found.name} has changed: {'; '.join(changed[:3])}"
            if end(db, [row.id], by=by, why=why):
                _unconfirm(db, row.id)
                subject = f"{row.entry} of instrument {row.instrument_id}"
                detail = {"why": why}
                audit.note(db, by=by, act="end what counts", subject=subject, detail=detail)
                ended.append(row.id)
        elif before != row.read_by:
            is_open = (c.channel_id == row.id) & c.until.is_(None)
            db.execute(update(t.counting).where(is_open).values(read_by=before))
    return tuple(ended)


def _read_now(of: RegisterMap, row: Row[*tuple[Any, ...]]) -> dict[str, str]:
    if row.entry not in of.entries:
        return {}
    low, high = row.span_low, row.span_high
    return read_by(
        of,
        row.entry,
        order=Order(row.byte_order) if row.byte_order else None,
        span=None if low is None or high is None else (str(low), str(high)),
        unit=row.unit,
        step=row.resolution,
    )


def _unconfirm(db: Connection, channel_id: int) -> None:
    owner = select(t.channel.c.instrument_id).where(t.channel.c.id == channel_id)
    db.execute(
        update(t.instrument)
        .where(t.instrument.c.id == owner.scalar_subquery())
        .values(confirmed_by=None, confirmed_at=None, confirmed_how=None)
    )
