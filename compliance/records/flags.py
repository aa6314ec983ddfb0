"""Stored spans of readings that screening flagged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from sqlalchemy import ARRAY, Connection, Integer, any_, cast, delete, insert, select

from compliance.model.flags import Flag, FlaggedSpan, Listed, Reason
from compliance.model.periods import from_us, to_us
from compliance.records import destructions
from compliance.records import tables as t

LONGEST = timedelta(minutes=15)
"""No stored span is longer: they are cut at quarter-hours."""


def replace(
    db: Connection,
    channel: int,
    spans: Sequence[FlaggedSpan],
    *,
    since: datetime,
    until: datetime,
    ruleset: str,
) -> None:
    """Put spans where those stood that begin in ``[since, until)``, outside of closed months."""
    f = t.flagged_span
    open_ones = destructions.outside(f.c.channel_id, f.c.since)
    mine = (f.c.channel_id == channel, f.c.since >= since, f.c.since < until)
    db.execute(delete(f).where(*mine, open_ones))
    if spans:
        db.execute(
            insert(f),
            [
                {
                    "channel_id": channel,
                    "since": from_us(span.since_us),
                    "until": from_us(span.until_us),
                    "flag": int(span.flag),
                    "reason": int(span.reason),
                    "readings": span.readings,
                    "ruleset": ruleset,
                }
                for span in spans
            ],
        )


def between(
    db: Connection, channels: Sequence[int], *, since: datetime, until: datetime
) -> dict[int, list[FlaggedSpan]]:
    """The spans of channels that touch ``[since, until)``, by channel, in time order."""
    found: dict[int, list[FlaggedSpan]] = {}
    for channel, one in _rows(db, channels, since, until):
        found.setdefault(channel, []).append(one.span)
    return found


def listed(db: Connection, channel: int, *, since: datetime, until: datetime) -> tuple[Listed, ...]:
    """The spans of a channel that touch ``[since, until)``, with the rules that flagged them."""
    return tuple(one for _, one in _rows(db, [channel], since, until))


def _rows(
    db: Connection, channels: Sequence[int], since: datetime, until: datetime
) -> Iterator[tuple[int, Listed]]:
    f = t.flagged_span.c
    rows = db.execute(
        select(t.flagged_span)
        .where(
            f.channel_id == any_(cast(list(channels), ARRAY(Integer))),
            f.since < until,
            f.since >= since - LONGEST,
            f.until >= since,
        )
        .order_by(f.channel_id, f.since)
    )
    for row in rows:
        span = FlaggedSpan(
            since_us=to_us(row.since),
            until_us=to_us(row.until),
            flag=Flag(row.flag),
            reason=Reason(row.reason),
            readings=row.readings,
        )
        yield row.channel_id, Listed(span=span, ruleset=row.ruleset)
