"""Channels that fall silent are told of, once for each silence."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import Connection, Engine

from compliance.model.silence import is_silent, patience
from compliance.records import outbox, places, readings, silences, windows
from compliance.records.places import Signal
from compliance.records.readings import Latest
from compliance.records.scope import Scope

LOOK_BACK = timedelta(hours=24)
GRACE = timedelta(seconds=10)
"""So long after it was noticed silence is told: a database that was away gets its readings late."""
EVERYBODY = Scope(city_id=None, industrial_user_id=None)


def watch_silence(engine: Engine, *, now: datetime) -> int:
    """Tell of channels that have given no usable reading for too long; of how many.

    Each silence is told once, whoever looks and however often. Where nothing but a declared window
    is the reason it is not told; one that was told is over only with a usable reading.
    """
    with engine.begin() as db:
        silences.lock(db)
        since = silences.counting(db)
        signals = [one for one in places.signals(db, EVERYBODY) if one.channel_id in since]
        latest = _latest(db, signals, now=now)
        silent = {one.channel_id for one in _silent(db, signals, latest, since, now=now)}
        known = silences.known(db)
        silences.over(db, _over(signals, latest, known.keys() - silent, known, now=now))
        silences.notice(db, sorted(silent - known.keys()), at=now)
        due = {
            channel
            for channel, (noticed, told) in known.items()
            if channel in silent and told is None and now - noticed >= GRACE
        }
        for one in signals:
            if one.channel_id in due:
                _tell(db, one, latest.get(one.channel_id), now=now)
        silences.tell(db, due, at=now)
        return len(due)


def _patience(one: Signal) -> timedelta:
    return patience(timedelta(milliseconds=one.interval_ms))


def _latest(db: Connection, signals: Collection[Signal], *, now: datetime) -> dict[int, Latest]:
    longest = max((_patience(one) for one in signals), default=LOOK_BACK)
    back = max(LOOK_BACK, longest + GRACE)
    ids = [one.channel_id for one in signals]
    return readings.latest(db, ids, since=now - back, until=now + timedelta(seconds=1))


def _silent(
    db: Connection,
    signals: Collection[Signal],
    latest: dict[int, Latest],
    since: dict[int, datetime],
    *,
    now: datetime,
) -> list[Signal]:
    longest = max((_patience(one) for one in signals), default=LOOK_BACK)
    ids = [one.channel_id for one in signals]
    declared = windows.by_channel(
        db, ids, since=now - longest, until=now + timedelta(microseconds=1)
    )
    return [
        one
        for one in signals
        if is_silent(
            _valid(latest, one),
            counts_since=since[one.channel_id],
            windows=declared.get(one.channel_id, ()),
            patience=_patience(one),
            now=now,
        )
    ]


def _valid(latest: dict[int, Latest], one: Signal) -> datetime | None:
    found = latest.get(one.channel_id)
    return found.valid.read_at if found and found.valid else None


def _over(
    signals: Collection[Signal],
    latest: dict[int, Latest],
    quiet: Collection[int],
    known: dict[int, tuple[datetime, datetime | None]],
    *,
    now: datetime,
) -> set[int]:
    """Whose silence is over: a usable reading came, nothing was told, or it counts no longer."""
    recovered = {
        one.channel_id
        for one in signals
        if (at := _valid(latest, one)) is not None and now - at <= _patience(one)
    }
    counting = {one.channel_id for one in signals}
    return {
        channel
        for channel in quiet
        if channel in recovered or known[channel][1] is None or channel not in counting
    }


def _tell(db: Connection, one: Signal, latest: Latest | None, *, now: datetime) -> None:
    valid = latest.valid if latest else None
    data = {
        "channel": one.channel_id,
        "point": one.point,
        "parameter": one.parameter,
        "last_reading_at": valid.read_at if valid else None,
        "silent_after_s": _patience(one).total_seconds(),
        "link": f"/points/{one.point}?parameter={one.parameter}",
    }
    outbox.put(db, "reading.stale", data, city_id=one.city_id, at=now)
