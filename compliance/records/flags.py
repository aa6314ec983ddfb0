"""Stored spans of readings that screening flagged."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ARRAY, Connection, Integer, any_, cast, delete, insert, select

from compliance.model.flags import Flag, FlaggedSpan, Reason
from compliance.model.periods import from_us, to_us
from compliance.records import tables as t


def replace(
    db: Connection,
    channel: int,
    spans: Sequence[FlaggedSpan],
    *,
    since: datetime,
    until: datetime,
    ruleset: str,
) -> None:
    """Put spans where those stood that begin in ``[since, until)``."""
    f = t.flagged_span
    db.execute(delete(f).where(f.c.channel_id == channel, f.c.since >= since, f.c.since < until))
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
    f = t.flagged_span.c
    rows = db.execute(
        select(t.flagged_span)
        .where(
            f.channel_id == any_(cast(list(channels), ARRAY(Integer))),
            f.since < until,
            f.until >= since,
        )
        .order_by(f.channel_id, f.since)
    )
    found: dict[int, list[FlaggedSpan]] = {}
    for row in rows:
        found.setdefault(row.channel_id, []).append(
            FlaggedSpan(
                since_us=to_us(row.since),
                until_us=to_us(row.until),
                flag=Flag(row.flag),
                reason=Reason(row.reason),
                readings=row.readings,
            )
        )
    return found
