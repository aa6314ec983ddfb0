"""What was destroyed under a schedule, and the closed months that follow from it.

Whoever stores readings that reach back so far that their month may be closed, and whoever closes a
month or places a hold, meets at one lock: a reading never comes into a month while it is closed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Integer,
    Select,
    any_,
    cast,
    delete,
    func,
    insert,
    select,
    text,
)

from compliance.errors import InputError
from compliance.model.keeping import Line, holds
from compliance.model.periods import Window
from compliance.records import tables as t
from compliance.records import timescale
from compliance.records.scope import Scope

LOCK = 470413
"""The advisory lock between storing old readings and closing months."""
YOUNGEST = timedelta(days=730)
"""No schedule lets readings go before they are three years old: newer ones need no look."""
_OLD = text("SELECT pg_advisory_xact_lock_shared(:lock) WHERE :since < now() - :youngest")

Closed = Mapping[int, tuple[Window, ...]]
"""Closed months by channel, in time order; a channel without any is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destruction:
    """The record of a destruction. month: what is closed since; span: whose readings went."""

    id: int
    channel_id: int
    point: str
    parameter: str
    month: Window
    span: Window
    rows: int
    sha256: str
    line: str
    years: int
    citation: str
    by: str
    at: datetime


def lock(db: Connection) -> None:
    """Hold the storing of old readings up until the transaction ends."""
    db.execute(select(func.pg_advisory_xact_lock(LOCK)))


def closed(db: Connection, channels: Sequence[int], *, since: datetime, until: datetime) -> Closed:
    """The closed months of channels that touch ``[since, until)``."""
    d = t.destruction.c
    rows = db.execute(
        select(d.channel_id, d.closed_from, d.closed_until)
        .where(
            d.closed_until > since,
            d.closed_from < until,
            d.channel_id == any_(cast(list(channels), ARRAY(Integer))),
        )
        .order_by(d.channel_id, d.closed_from)
    )
    found: dict[int, list[Window]] = {}
    for row in rows:
        month = Window(start=row.closed_from, end=row.closed_until)
        found.setdefault(row.channel_id, []).append(month)
    return {channel: tuple(own) for channel, own in found.items()}


def closed_to(
    db: Connection, channels: Sequence[int], *, since: datetime, until: datetime
) -> Closed:
    """``closed`` for whoever is about to store readings: none is closed until he has ended."""
    if db.execute(_OLD, {"lock": LOCK, "since": since, "youngest": YOUNGEST}).first() is None:
        return {}
    return closed(db, channels, since=since, until=until)


def outside(channel: ColumnElement[int], at: ColumnElement[datetime]) -> ColumnElement[bool]:
    """The condition that no closed month holds an instant of a channel."""
    d = t.destruction
    inside = (d.c.channel_id == channel) & (d.c.closed_from <= at) & (d.c.closed_until > at)
    return ~select(d.c.id).where(inside).correlate_except(d).exists()


def refuse_closed(db: Connection, channel: int, at: Sequence[datetime]) -> None:
    """Refuse to change what is known of readings in closed months.

    Raises: InputError naming the first such instant.
    """
    if not at:
        return
    found = closed_to(db, [channel], since=min(at), until=max(at) + timedelta(microseconds=1))
    for each in at:
        if holds(found.get(channel, ()), each):
            raise InputError(said(db, channel, each))


def refuse_span(db: Connection, channel: int, *, since: datetime, until: datetime) -> None:
    """Refuse to say something of all readings in ``[since, until)`` where a closed month is in it.

    Raises: InputError naming the first such month.
    """
    found = closed_to(db, [channel], since=since, until=until).get(channel)
    if found:
        start, end = (at.isoformat() for at in (found[0].start, found[0].end))
        raise InputError(
            f"the readings of channel {channel} from {start} to {end} were destroyed under the "
            "records schedule, and what was found in them stays as it is; give a time outside of it"
        )


def said(db: Connection, channel: int, at: datetime, *, count: int = 1) -> str:
    """The sentence with which a reading in a closed month is refused, or several from one on."""
    d = t.destruction.c
    row = db.execute(
        select(d.at, d.line)
        .where(d.channel_id == channel, d.closed_from <= at, d.closed_until > at)
        .order_by(d.id)
        .limit(1)  # two overlap where the city's zone was corrected in between
    ).one()
    what = f"the reading of channel {channel} at {at.isoformat()} lies"
    if count > 1:
        what = f"{count} readings of channel {channel} from {at.isoformat()} on lie"
    return (
        f"{what} in a month whose readings were destroyed on {row.at:%Y-%m-%d} under line "
        f"{row.line} of the records schedule: nothing is stored or judged there any more; leave "
        f"{'it' if count == 1 else 'them'} out"
    )


def removed(db: Connection, channel: int, *, since: datetime, until: datetime) -> list[Window]:
    """The spans of ``[since, until)`` whose readings were destroyed, in time order."""
    d = t.destruction.c
    found = (
        select(d.since, d.until)
        .where(d.channel_id == channel, d.since < until, d.until > since)
        .order_by(d.since)
    )
    return [Window(start=row.since, end=row.until) for row in db.execute(found)]


def last_end(db: Connection) -> datetime | None:
    """Up to where readings of any channel were destroyed; None where none ever were."""
    found: datetime | None = db.scalar(select(func.max(t.destruction.c.until)))
    return found


def count(db: Connection, channel: int, *, since: datetime, until: datetime) -> int:
    """How many readings of a channel are stored in ``[since, until)``."""
    found = select(func.count()).select_from(t.reading).where(*_readings(channel, since, until))
    return int(db.scalar(found) or 0)


def remove(db: Connection, channel: int, *, since: datetime, until: datetime) -> int:
    """Delete the readings of a channel in ``[since, until)``; how many there were.

    Whoever does it holds the lock and leaves a record (``add``) in the same transaction.
    """
    if timescale.edition(db) == "community":
        timescale.lift_limit(db)
    return db.execute(delete(t.reading).where(*_readings(channel, since, until))).rowcount


def _readings(channel: int, since: datetime, until: datetime) -> tuple[ColumnElement[bool], ...]:
    r = t.reading.c
    return r.channel_id == channel, r.read_at >= since, r.read_at < until


def add(  # noqa: PLR0913 - one argument a column
    db: Connection,
    channel: int,
    *,
    month: Window,
    span: Window,
    rows: int,
    sha256: str,
    schedule_id: int,
    line: Line,
    by: str,
) -> int:
    """Write down what was destroyed; from then on the month is closed. Its number."""
    row = insert(t.destruction).values(
        channel_id=channel,
        closed_from=month.start,
        closed_until=month.end,
        since=span.start,
        until=span.end,
        rows=rows,
        sha256=sha256,
        records_schedule_id=schedule_id,
        line=line.name,
        years=line.years,
        citation=line.citation,
        by=by,
    )
    return int(db.scalar(row.returning(t.destruction.c.id)) or 0)


def newest(db: Connection, scope: Scope, *, most: int) -> tuple[Destruction, ...]:
    """What was destroyed, the newest first."""
    d = t.destruction.c
    return _read(db, _destructions().where(scope.rows()).order_by(d.id.desc()).limit(most))


def of_channel(
    db: Connection, channel: int, *, since: datetime, until: datetime
) -> tuple[Destruction, ...]:
    """What was destroyed of a channel's readings in ``[since, until)``, in time order."""
    d = t.destruction.c
    touching = (d.channel_id == channel, d.since < until, d.until > since)
    return _read(db, _destructions().where(*touching).order_by(d.since))


def _destructions() -> Select[Any]:
    d = t.destruction.c
    return (
        select(t.destruction, t.monitoring_point.c.code, t.channel.c.parameter)
        .join(t.channel, t.channel.c.id == d.channel_id)
        .join(t.monitoring_point)
        .join(t.industrial_user)
    )


def _read(db: Connection, query: Select[Any]) -> tuple[Destruction, ...]:
    return tuple(
        Destruction(
            id=row.id,
            channel_id=row.channel_id,
            point=row.code,
            parameter=row.parameter,
            month=Window(start=row.closed_from, end=row.closed_until),
            span=Window(start=row.since, end=row.until),
            rows=row.rows,
            sha256=row.sha256,
            line=row.line,
            years=row.years,
            citation=row.citation,
            by=row.by,
            at=row.at,
        )
        for row in db.execute(query)
    )
