"""Health: the last sign of life of each process, and what went wrong in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from compliance.records import tables

UNUSABLE_MAPS = "unusable_maps"
"""Where a worker's beat tells of the map files that it cannot use: why, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """A process and when it last said that it lives."""

    process: str
    at: datetime
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something that should not have happened, in one sentence."""

    process: str
    at: datetime
    what: str


def beat(db: Connection, process: str, detail: Mapping[str, Any]) -> None:
    """Say that a process lives; detail: whatever JSON can hold."""
    row = insert(tables.heartbeat).values(process=process, detail=dict(detail), at=func.now())
    db.execute(
        row.on_conflict_do_update(
            index_elements=["process"], set_={"at": func.now(), "detail": row.excluded.detail}
        )
    )


def farewell(db: Connection, process: str) -> None:
    """A process ends as it should: nobody waits for its next beat."""
    db.execute(delete(tables.heartbeat).where(tables.heartbeat.c.process == process))


def beats(db: Connection) -> tuple[Beat, ...]:
    """The last beat of every process, by name."""
    t = tables.heartbeat
    found = db.execute(select(t.c.process, t.c.at, t.c.detail).order_by(t.c.process))
    return tuple(Beat(process=p, at=at, detail=detail) for p, at, detail in found)


def unusable_maps(db: Connection) -> tuple[str, ...]:
    """A sentence for each register map that a worker cannot use, as its last beat tells."""
    told = (beat.detail.get(UNUSABLE_MAPS) for beat in beats(db))
    found = {f"{name}: {why}" for one in told if isinstance(one, dict) for name, why in one.items()}
    return tuple(sorted(found))


def fault(db: Connection, process: str, what: str) -> None:
    """Write down what went wrong in a process; an expected gap is none."""
    db.execute(tables.fault.insert().values(process=process, what=what))


def fault_once(db: Connection, process: str, what: str, *, within: timedelta) -> None:
    """Write a fault down unless the very same stands from a short while ago."""
    t = tables.fault
    same = (t.c.process == process, t.c.what == what, t.c.at > func.now() - within)
    if db.execute(select(t.c.id).where(*same).limit(1)).first() is None:
        fault(db, process, what)


def faults(db: Connection, *, since: datetime) -> tuple[Fault, ...]:
    """What went wrong since an instant, oldest first."""
    t = tables.fault
    found = db.execute(
        select(t.c.process, t.c.at, t.c.what).where(t.c.at >= since).order_by(t.c.at, t.c.id)
    )
    return tuple(Fault(process=p, at=at, what=what) for p, at, what in found)
