"""Declared windows: added, ended, withdrawn, never deleted; and which of them bear on a channel."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, or_, select, update

from compliance.errors import NotFound
from compliance.model.windows import Declared, WindowKind
from compliance.records import tables

LOCK = 470412
"""The advisory lock under which declarations are numbered."""
_SAID = (
    "number", "since", "until", "kind", "reason", "declared_by", "declared_at", "ended_by",
    "ended_at", "withdrawn_by", "withdrawn_at", "withdrawn_why",
)  # fmt: skip


def add(db: Connection, window: Declared) -> int:
    """Keep a declaration, one row for each of its channels; the number it is given.

    window: its own number is not looked at.
    """
    t = tables.declared_window
    db.execute(select(func.pg_advisory_xact_lock(LOCK)))
    number = int(db.scalar(select(func.coalesce(func.max(t.c.number), 0))) or 0) + 1
    said = {name: getattr(window, name) for name in _SAID[1:]}
    said["kind"] = window.kind.value
    db.execute(
        t.insert(),
        [{"number": number, "channel_id": one, **said} for one in sorted(set(window.channels))],
    )
    return number


def twin(db: Connection, window: Declared, *, within: timedelta) -> int | None:
    """The number of the same declaration by the same person a moment before; None without one."""
    t = tables.declared_window
    said = ("since", "kind", "reason", "declared_by")
    found = db.execute(
        select(t).where(
            *(t.c[name] == getattr(window, name) for name in said),
            t.c.until.is_not_distinct_from(window.until),
            t.c.declared_at > window.declared_at - within,
            t.c.withdrawn_at.is_(None),
        )
    ).mappings()
    covers: dict[int, set[int]] = {}
    for row in found:
        covers.setdefault(row["number"], set()).add(row["channel_id"])
    return next((n for n, over in covers.items() if over == set(window.channels)), None)


def end(db: Connection, number: int, *, until: datetime, by: str, at: datetime) -> None:
    """Say when an open window ended."""
    t = tables.declared_window
    done = {"until": until, "ended_by": by, "ended_at": at}
    db.execute(update(t).where(t.c.number == number, t.c.until.is_(None)).values(**done))


def withdraw(db: Connection, number: int, *, by: str, at: datetime, why: str) -> None:
    """Take a declaration back: it stays on record and has no effect any more."""
    t = tables.declared_window
    done = {"withdrawn_by": by, "withdrawn_at": at, "withdrawn_why": why}
    db.execute(update(t).where(t.c.number == number, t.c.withdrawn_at.is_(None)).values(**done))


def locked(db: Connection, number: int) -> Declared:
    """One declaration, held until the transaction ends. Raises: NotFound."""
    t = tables.declared_window
    query = select(t).where(t.c.number == number).order_by(t.c.channel_id)
    found = _gathered(db, query.with_for_update())
    if not found:
        raise NotFound(f"There is no declared window {number} here.")
    return found[0]


def of(
    db: Connection,
    channels: Collection[int],
    *,
    since: datetime,
    until: datetime,
    withdrawn: bool = False,
) -> tuple[Declared, ...]:
    """The windows of any of the channels that touch ``[since, until)``, the newest first.

    Each names those of the channels that it covers. withdrawn: those that have no effect too.
    """
    t = tables.declared_window
    query = select(t).where(t.c.channel_id.in_(channels), *_touching(since, until))
    if not withdrawn:
        query = query.where(t.c.withdrawn_at.is_(None))
    return _gathered(db, query.order_by(t.c.since.desc(), t.c.number, t.c.channel_id))


def by_channel(
    db: Connection, channels: Collection[int], *, since: datetime, until: datetime
) -> dict[int, tuple[Declared, ...]]:
    """The windows in force that touch ``[since, until)``, by channel; one without is left out."""
    found: dict[int, list[Declared]] = {}
    for one in of(db, channels, since=since, until=until):
        for channel in one.channels:
            found.setdefault(channel, []).append(one)
    return {channel: tuple(mine) for channel, mine in found.items()}


def outside(channel: ColumnElement[int], at: ColumnElement[Any]) -> ColumnElement[bool]:
    """The condition that no window in force holds an instant of a channel."""
    w = tables.declared_window
    return ~select(w.c.id).where(holding(channel, at)).correlate_except(w).exists()


def holding(channel: ColumnElement[int], at: ColumnElement[Any]) -> ColumnElement[bool]:
    """The condition that a row of ``declared_window`` is in force and holds an instant."""
    c = tables.declared_window.c
    goes_on: ColumnElement[bool] = or_(c.until.is_(None), c.until > at)
    return (c.channel_id == channel) & c.withdrawn_at.is_(None) & (c.since <= at) & goes_on


def _touching(since: datetime, until: datetime) -> tuple[ColumnElement[bool], ...]:
    c = tables.declared_window.c
    return c.since < until, or_(c.until.is_(None), c.until > since)


def _gathered(db: Connection, query: Select[Any]) -> tuple[Declared, ...]:
    """Rows of one declaration as one value, in the order of their first rows."""
    found: dict[int, Declared] = {}
    for row in db.execute(query).mappings():
        number, channel = row["number"], row["channel_id"]
        if number in found:
            known = found[number]
            found[number] = replace(known, channels=(*known.channels, channel))
        else:
            said: dict[str, Any] = {name: row[name] for name in _SAID}
            kind = WindowKind(said["kind"])
            found[number] = Declared(**{**said, "kind": kind, "channels": (channel,)})
    return tuple(found.values())


def channels_of(windows: Iterable[Declared]) -> tuple[int, ...]:
    """Every channel that any of the windows covers, in order."""
    return tuple(sorted({channel for one in windows for channel in one.channels}))
