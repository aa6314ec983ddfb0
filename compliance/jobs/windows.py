"""People declare, end and withdraw windows over channels, each in one audited transaction."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, Engine

from compliance.errors import Refused
from compliance.model.windows import Declared
from compliance.records import audit, dirt, readings, windows

MEANWHILE = timedelta(minutes=10)
"""Readings that come while a declaration is written are judged again with the others."""

SENT_TWICE = timedelta(minutes=1)


def declare(engine: Engine, window: Declared) -> int:
    """Write a window down and have judged anew what was read in it; its number.

    The same declaration sent twice, as by a double click, is one.
    """
    with engine.begin() as db:
        dirt.lock(db, window.channels)
        twin = windows.twin(db, window, within=SENT_TWICE)
        if twin is not None:
            return twin
        number = windows.add(db, window)
        _judge_again(db, window, since=window.since, now=window.declared_at)
        detail = {
            "channels": list(window.channels),
            "since": window.since,
            "until": window.until,
            "kind": window.kind.value,
            "reason": window.reason,
            "says": window.when_declared,
        }
        _note(db, window.declared_by, "declare window", number, detail)
    return number


def end(engine: Engine, number: int, *, until: datetime, by: str, now: datetime) -> None:
    """Say when an open window ended; what was read since then counts again.

    Raises: NotFound, Refused.
    """
    with engine.begin() as db:
        found = windows.locked(db, number)
        dirt.lock(db, found.channels)
        if not found.is_in_force or found.until is not None:
            raise Refused(f"Window {number} has ended or was withdrawn; declare a new one.")
        if until <= found.since:
            raise Refused(f"Window {number} began later than that; withdraw it instead.")
        windows.end(db, number, until=until, by=by, at=now)
        _judge_again(db, found, since=until, now=now)
        _note(db, by, "end window", number, {"until": until})


def withdraw(engine: Engine, number: int, *, by: str, why: str, now: datetime) -> None:
    """Take a declaration back: what was read in it counts again. It stays on record.

    Raises: NotFound, Refused.
    """
    with engine.begin() as db:
        found = windows.locked(db, number)
        dirt.lock(db, found.channels)
        if not found.is_in_force:
            raise Refused(f"Window {number} was withdrawn by {found.withdrawn_by} already.")
        windows.withdraw(db, number, by=by, at=now, why=why)
        _judge_again(db, found, since=found.since, now=now)
        _note(db, by, "withdraw window", number, {"why": why})


def _judge_again(db: Connection, window: Declared, *, since: datetime, now: datetime) -> None:
    """Mark every reading of a window's channels from an instant to its end, as far as now."""
    until = now + MEANWHILE
    if window.until is not None:
        until = min(until, window.until)
    if since < until:
        readings.mark_dirty(db, window.channels, since=since, until=until, why="window")


def _note(db: Connection, by: str, act: str, number: int, detail: dict[str, object]) -> None:
    audit.note(db, by=by, act=act, subject=f"window:{number}", detail=detail)
