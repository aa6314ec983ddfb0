"""Gaps: kept as their workers noted them, and which slots of a channel are missing without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np
from sqlalchemy import ARRAY, Connection, Integer, cast, func, lateral, select, true, update

from compliance.errors import InputError
from compliance.model.endpoints import endpoint
from compliance.model.gaps import Gap
from compliance.model.periods import EPOCH, to_us
from compliance.model.readings import Flags, Times
from compliance.model.slots import phase_of, slots
from compliance.model.windows import inside
from compliance.records import tables, windows

LOOKED_BACK = timedelta(days=35)
"""How far back the last reading of a channel is looked for."""


def add(db: Connection, gap: Gap, *, worker: str) -> None:
    """Keep a gap. One that goes on where another of the same worker, channels and cause ended
    prolongs it."""
    t = tables.gap
    since, until = _instant(gap.since_us), _instant(gap.until_us)
    channels = sorted(set(gap.channels))
    prolonged = db.execute(
        update(t)
        .where(t.c.worker == worker, t.c.cause == gap.cause, t.c.channels == channels)
        .where(t.c.since <= since, t.c.until >= since)
        .values(until=func.greatest(t.c.until, until))
    )
    if not prolonged.rowcount:
        db.execute(
            t.insert().values(
                channels=channels, since=since, until=until, cause=gap.cause, worker=worker
            )
        )


def between(
    db: Connection, channels: Sequence[int], *, since: datetime, until: datetime
) -> tuple[Gap, ...]:
    """The gaps that touch any of the channels and ``[since, until)``, oldest first."""
    t = tables.gap
    rows = db.execute(
        select(t.c.channels, t.c.since, t.c.until, t.c.cause)
        .where(t.c.channels.bool_op("&&")(cast(list(channels), ARRAY(Integer))))
        .where(t.c.since < until, t.c.until > since)
        .order_by(t.c.since, t.c.id)
    )
    return tuple(
        Gap(channels=tuple(ids), since_us=to_us(start), until_us=to_us(end), cause=cause)
        for ids, start, end, cause in rows
    )


def last_slots(db: Connection, channels: Sequence[int], *, now: datetime) -> dict[int, int]:
    """The newest stored slot of each channel that is not after now, in microseconds since 1970;
    none within 35 days: left out."""
    r = tables.reading.c
    wanted = func.unnest(cast(list(channels), ARRAY(Integer))).table_valued("id").render_derived()
    newest = lateral(
        select(r.read_at)
        .where(r.channel_id == wanted.c.id, r.read_at >= now - LOOKED_BACK, r.read_at <= now)
        .order_by(r.read_at.desc())
        .limit(1)
    )
    rows = db.execute(
        select(wanted.c.id, newest.c.read_at).select_from(wanted.join(newest, true()))
    )
    return {channel: to_us(at) for channel, at in rows}


def unexplained(
    db: Connection,
    intervals_ms: Mapping[int, int],
    *,
    since: datetime,
    until: datetime,
    near: float = 0.0,
) -> dict[int, tuple[int, ...]]:
    """The slots in ``[since, until)`` with neither reading, gap nor declared window, by channel.

    intervals_ms: how often each channel is read; its slots lie on that grid, from 1970 on, or
    where its gateway is told to keep beside it, and are given in microseconds since 1970. near:
    a reading so much of an interval beside a slot is that slot's. A channel without any is left
    out.
    """
    phases = _phases(db, intervals_ms)
    declared = windows.by_channel(db, list(intervals_ms), since=since, until=until)
    found = {}
    for channel, interval_ms in intervals_ms.items():
        due = slots(
            to_us(since), to_us(until), interval_ms=interval_ms, phase_ms=phases.get(channel, 0)
        )
        stored = _stored(db, channel, since=since, until=until)
        missing = due[~_are_near(due, stored, us=round(near * 1000 * interval_ms))]
        for gap in between(db, [channel], since=since, until=until):
            missing = missing[(missing < gap.since_us) | (missing >= gap.until_us)]
        missing = missing[~inside(missing, declared.get(channel, ()))]
        if len(missing):
            found[channel] = tuple(int(slot) for slot in missing)
    return found


def _phases(db: Connection, intervals_ms: Mapping[int, int]) -> dict[int, int]:
    """How far beside the grid the slots of channels lie whose gateways are spread, in ms."""
    g = tables.gateway.c
    rows = db.execute(
        select(tables.channel.c.id, g.name, g.host, g.port, g.transport)
        .join(tables.instrument, tables.instrument.c.id == tables.channel.c.instrument_id)
        .join(tables.gateway)
        .where(tables.channel.c.id.in_(list(intervals_ms)))
    )
    return {
        channel: phase_of(name, intervals_ms[channel])
        for channel, name, host, port, transport in rows
        if _is_spread(host, port, transport)
    }


def _is_spread(host: str, port: int, transport: str) -> bool:
    try:
        return endpoint(host, port, transport).spread
    except InputError:  # it cannot be polled, and says so elsewhere
        return False


def _are_near(due: Times, stored: Times, *, us: int) -> Flags:
    """Which slots have a reading no farther than so many microseconds; stored: in any order."""
    ordered = np.sort(stored)
    return np.searchsorted(ordered, due - us) < np.searchsorted(ordered, due + us, side="right")


def _stored(db: Connection, channel: int, *, since: datetime, until: datetime) -> Times:
    r = tables.reading.c
    found = db.scalars(
        select(r.read_at).where(r.channel_id == channel, r.read_at >= since, r.read_at < until)
    )
    return np.array([to_us(at) for at in found], np.int64)


def _instant(us: int) -> datetime:
    return EPOCH + timedelta(microseconds=us)
