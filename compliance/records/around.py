"""Readings of a span with those next to it, so that what happens at its edges is known."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Select, select

from compliance.model.readings import STORED_UNJUDGED, Series
from compliance.records import readings, windows
from compliance.records import tables as t

REACH = timedelta(days=31)
"""How far beyond a span its neighbours are looked for."""
MARGIN = timedelta(minutes=15)
"""So much is read beyond the neighbours: they are judged by the readings around them."""
_STEP = timedelta(microseconds=1)


def around(
    db: Connection, channels: Sequence[int], *, since: datetime, until: datetime
) -> dict[int, Series]:
    """Readings of ``[since, until)`` with the usable ones before and after, by channel."""
    first, last = since, until
    for channel in channels:
        before = db.scalar(_usable(channel, since - REACH, since, last=True))
        after = db.scalar(_usable(channel, until, until + REACH, last=False))
        first, last = min(first, before or first), max(last, after or last)
    return readings.usable(db, channels, since=first - MARGIN, until=last + MARGIN + _STEP)


def _usable(channel: int, since: datetime, until: datetime, *, last: bool) -> Select[Any]:
    """The instant of the last or the first reading in a span that may be judged."""
    r = t.reading.c
    found = select(r.read_at).where(
        r.channel_id == channel,
        r.read_at >= since,
        r.read_at < until,
        r.value.is_not(None),
        r.quality.op("&")(STORED_UNJUDGED) == 0,
        windows.outside(r.channel_id, r.read_at),
    )
    return found.order_by(r.read_at.desc() if last else r.read_at).limit(1)


def last_reading(db: Connection, channel: int, *, until: datetime | None = None) -> datetime | None:
    """The instant of the newest reading of a channel up to an instant; None without any.

    until: None for no bound.
    """
    r = t.reading.c
    wanted = select(r.read_at).where(r.channel_id == channel)
    if until is not None:
        wanted = wanted.where(r.read_at <= until)
    found: datetime | None = db.scalar(wanted.order_by(r.read_at.desc()).limit(1))
    return found
