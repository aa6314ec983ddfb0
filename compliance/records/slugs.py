"""Possible slugs as people handle them: the event, what was noted of it, what was decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, func, insert, select
from sqlalchemy.dialects.postgresql import distinct_on

from compliance.errors import NotFound
from compliance.model.findings import Kind
from compliance.records import tables as t
from compliance.records.scope import Scope

_d = t.slug_decision.c
_NEWEST = (
    select(_d.exceedance_id, _d.outcome)
    .ext(distinct_on(_d.exceedance_id))
    .order_by(_d.exceedance_id, _d.id.desc())
    .subquery("newest")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What a person made of a possible slug. elements: each with ``key``, ``happened``, ``saw``."""

    outcome: str
    reason: str
    elements: tuple[Mapping[str, str], ...]
    citation: str | None
    by: str
    capacity: str
    decided_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """Something somebody wrote down: a call, a letter, an effect seen."""

    kind: str
    happened_at: datetime
    words: str
    noted_by: str
    noted_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A possible slug with its user and place; outcome: of its newest decision, None before one."""

    exceedance_id: str
    rule_id: str
    kind: str
    industrial_user: str
    city_id: int
    city: str
    control_authority: str
    zone: str
    point: str
    channel_id: int | None
    parameter: str
    unit: str
    side: str
    starts_at: datetime
    ends_at: datetime
    seconds: int
    seconds_beyond: int
    runs: int
    worst: str
    worst_at: datetime
    limit: str
    readings: int
    open_ended: bool
    review: bool
    settled: bool
    citation: str
    says: str
    authority: str
    working: tuple[str, ...]
    superseded_why: str | None
    outcome: str | None


def events(
    db: Connection, scope: Scope, *, outcome: str = "", limit: int = 100
) -> tuple[Event, ...]:
    """Possible slugs that stand, newest first. outcome: slug, explained, open, or blank for all."""
    wanted = _events(scope).where(t.exceedance.c.superseded_at.is_(None))
    if outcome == "open":
        wanted = wanted.where(_NEWEST.c.outcome.is_(None))
    elif outcome:
        wanted = wanted.where(_NEWEST.c.outcome == outcome)
    rows = db.execute(wanted.order_by(t.exceedance.c.starts_at.desc()).limit(limit)).mappings()
    return tuple(_event(row) for row in rows)


def event(db: Connection, scope: Scope, exceedance_id: str, *, lock: bool = False) -> Event:
    """One possible slug, whether it stands or was withdrawn. Raises: NotFound."""
    wanted = _events(scope).where(t.exceedance.c.id == exceedance_id)
    if lock:
        wanted = wanted.with_for_update(of=t.exceedance)
    row = db.execute(wanted).mappings().first()
    if row is None:
        raise NotFound(f"There is no possible slug {exceedance_id[:24]} here.")
    return _event(row)


def _events(scope: Scope) -> Select[Any]:
    kept = {field.name for field in fields(Event)}
    return (
        select(
            t.exceedance.c.id.label("exceedance_id"),
            t.industrial_user.c.name.label("industrial_user"),
            t.city.c.id.label("city_id"),
            t.city.c.name.label("city"),
            t.city.c.control_authority,
            t.city.c.zone,
            t.monitoring_point.c.code.label("point"),
            _NEWEST.c.outcome,
            *(column for column in t.exceedance.c if column.name in kept),
        )
        .select_from(t.exceedance)
        .join(t.monitoring_point, t.monitoring_point.c.id == t.exceedance.c.monitoring_point_id)
        .join(t.industrial_user)
        .join(t.city)
        .join(_NEWEST, _NEWEST.c.exceedance_id == t.exceedance.c.id, isouter=True)
        .where(scope.rows(), t.exceedance.c.kind == Kind.POSSIBLE_SLUG.value)
    )


def _event(row: Mapping[Any, Any]) -> Event:
    return Event(**{**row, "working": tuple(row["working"])})


def notes(db: Connection, exceedance_id: str) -> tuple[Noted, ...]:
    """What was noted of an event, oldest first."""
    n = t.slug_note.c
    rows = db.execute(
        select(n.kind, n.happened_at, n.words, n.noted_by, n.noted_at)
        .where(n.exceedance_id == exceedance_id)
        .order_by(n.happened_at, n.id)
    ).mappings()
    return tuple(Noted(**row) for row in rows)


def decisions(db: Connection, exceedance_id: str) -> tuple[Decided, ...]:
    """What was decided on an event, newest first: the first one stands."""
    rows = db.execute(
        select(
            _d.outcome,
            _d.reason,
            _d.elements,
            _d.citation,
            t.person.c.name.label("by"),
            _d.capacity,
            _d.decided_at,
        )
        .join_from(t.slug_decision, t.person)
        .where(_d.exceedance_id == exceedance_id)
        .order_by(_d.id.desc())
    ).mappings()
    return tuple(Decided(**{**row, "elements": tuple(row["elements"])}) for row in rows)


def add_note(  # noqa: PLR0913 - a row of its columns
    db: Connection, exceedance_id: str, *, kind: str, happened_at: datetime, words: str, by: str
) -> int:
    """Write something down about an event; its number."""
    row = {
        "exceedance_id": exceedance_id,
        "kind": kind,
        "happened_at": happened_at,
        "words": words,
        "noted_by": by,
    }
    return int(db.scalar(insert(t.slug_note).values(**row).returning(t.slug_note.c.id)) or 0)


def add_decision(  # noqa: PLR0913 - a row of its columns
    db: Connection,
    exceedance_id: str,
    *,
    outcome: str,
    reason: str,
    elements: Sequence[Mapping[str, str]],
    citation: str | None,
    person_id: int,
    capacity: str,
    now: datetime,
) -> int:
    """Write a decision on an event; its number. A later one corrects it and both stay."""
    row = {
        "exceedance_id": exceedance_id,
        "outcome": outcome,
        "reason": reason,
        "elements": [dict(one) for one in elements],
        "citation": citation,
        "person_id": person_id,
        "capacity": capacity,
        "decided_at": now,
    }
    made = insert(t.slug_decision).values(**row).returning(t.slug_decision.c.id)
    return int(db.scalar(made) or 0)


def waiting(db: Connection, scope: Scope) -> int:
    """How many possible slugs nobody has decided on."""
    return (
        db.scalar(
            select(func.count()).select_from(
                _events(scope)
                .where(t.exceedance.c.superseded_at.is_(None), _NEWEST.c.outcome.is_(None))
                .subquery()
            )
        )
        or 0
    )
