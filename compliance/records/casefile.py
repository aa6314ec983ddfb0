"""Detections and violations with their evidence, as a viewer may see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Select, select, tuple_

from compliance.errors import NotFound
from compliance.records import tables as t
from compliance.records.scope import Scope

WITHDRAWN = "withdrawn"
"""Where a detection stands that the program no longer finds, whatever was decided before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A detection with its exceedance, and the violation that was opened from it, if any."""

    id: int
    state: str
    detected_at: datetime
    differs: str | None
    industrial_user_id: int
    industrial_user: str
    city_id: int
    city: str
    control_authority: str
    zone: str
    point: str
    channel_id: int | None
    result_id: int | None
    exceedance_id: str
    rule_id: str
    effective: date | None
    kind: str
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
    evidence: Mapping[str, Any]
    judged_at: datetime
    judged_by: str
    superseded_at: datetime | None
    superseded_why: str | None
    violation: str | None

    @property
    def is_withdrawn(self) -> bool:
        """Whether the program no longer finds it."""
        return self.superseded_at is not None

    @property
    def stands(self) -> str:
        """Where it stands: its state, or that it was withdrawn."""
        return WITHDRAWN if self.is_withdrawn else self.state


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What a finding was until an instant, and why it is no longer: its content of then."""

    at: datetime
    why: str
    was: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """What the program's own screening found: a fact that nobody has to decide on."""

    exceedance_id: str
    industrial_user: str
    zone: str
    point: str
    channel_id: int | None
    kind: str
    parameter: str
    unit: str
    side: str
    starts_at: datetime
    ends_at: datetime
    seconds: int
    seconds_beyond: int
    runs: int
    worst: str
    limit: str
    readings: int
    open_ended: bool
    review: bool
    settled: bool
    citation: str
    says: str
    authority: str
    working: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The laboratory result a fact rests on, with its sample and the file it came in.

    timed: whether the sample's times were given; else ``day`` alone counts.
    """

    label: str
    sample_type: str
    taken_by: str
    laboratory: str | None
    sampled_from: datetime
    sampled_to: datetime
    day: date | None
    timed: bool
    parameter: str
    qualifier: str
    written: str
    unit: str
    mdl: Decimal | None
    rl: Decimal | None
    method: str | None
    row: int | None
    filename: str | None
    sha256: str | None
    received_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A violation as a person opened it, and what became of its finding since.

    differs: what the finding would say now; superseded_at: when the program withdrew it.
    """

    number: str
    state: str
    reason: str
    opened_by: str
    capacity: str
    opened_at: datetime
    detection_id: int
    industrial_user: str
    city: str
    differs: str | None
    superseded_at: datetime | None
    superseded_why: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something done about a subject: by a person, or by the program when ``who`` is None."""

    at: datetime
    who: str | None
    office: str | None
    verb: str
    reason: str


def cases(  # noqa: PLR0913 - what a list can be narrowed by
    db: Connection,
    scope: Scope,
    *,
    states: tuple[str, ...] = (),
    since: datetime | None = None,
    until: datetime | None = None,
    point: str | None = None,
    channel_id: int | None = None,
    opened: bool = False,
    before_id: int | None = None,
    limit: int = 100,
) -> tuple[Case, ...]:
    """Detections, those of the newest event first.

    states: where they stand; those withdrawn are left out unless they alone are asked for.
    since: those that ended after; until: those that began before; opened: those alone from which
    a violation was opened; before_id: the cursor, which is the last detection of the page before.
    Raises: NotFound for a cursor that is none of theirs.
    """
    began = (t.exceedance.c.starts_at, t.detection.c.id)
    withdrawn = states == (WITHDRAWN,)
    gone = t.exceedance.c.superseded_at
    wanted = _cases(scope).where(gone.is_not(None) if withdrawn else gone.is_(None))
    if states and not withdrawn:
        wanted = wanted.where(t.detection.c.state.in_(states))
    if since is not None:
        wanted = wanted.where(t.exceedance.c.ends_at >= since)
    if until is not None:
        wanted = wanted.where(t.exceedance.c.starts_at < until)
    if point is not None:
        wanted = wanted.where(t.monitoring_point.c.code == point)
    if channel_id is not None:
        wanted = wanted.where(t.exceedance.c.channel_id == channel_id)
    if opened:
        wanted = wanted.where(t.violation.c.number.is_not(None))
    if before_id is not None:
        last = case(db, scope, before_id)
        wanted = wanted.where(tuple_(*began) < (last.starts_at, last.id))
    rows = db.execute(wanted.order_by(*(one.desc() for one in began)).limit(limit)).mappings()
    return tuple(_case(row) for row in rows)


def case(db: Connection, scope: Scope, detection_id: int) -> Case:
    """One detection. Raises: NotFound."""
    row = db.execute(_cases(scope).where(t.detection.c.id == detection_id)).mappings().first()
    if row is None:
        raise NotFound(f"There is no detection {detection_id} here.")
    return _case(row)


def screened(
    db: Connection,
    scope: Scope,
    *,
    since: datetime,
    point: str | None = None,
    kind: str | None = None,
) -> tuple[Screened, ...]:
    """Facts without a detection that ended after an instant, the newest first."""
    e = t.exceedance.c
    kept = {field.name for field in fields(Screened)}
    wanted = (
        select(
            e.id.label("exceedance_id"),
            t.industrial_user.c.name.label("industrial_user"),
            t.city.c.zone,
            t.monitoring_point.c.code.label("point"),
            *(column for column in t.exceedance.c if column.name in kept),
        )
        .select_from(t.exceedance)
        .join(t.monitoring_point, t.monitoring_point.c.id == e.monitoring_point_id)
        .join(t.industrial_user)
        .join(t.city)
        .join(t.detection, t.detection.c.exceedance_id == e.id, isouter=True)
        .where(
            scope.rows(), t.detection.c.id.is_(None), e.superseded_at.is_(None), e.ends_at >= since
        )
        .order_by(e.starts_at.desc())
    )
    if point is not None:
        wanted = wanted.where(t.monitoring_point.c.code == point)
    if kind is not None:
        wanted = wanted.where(e.kind == kind)
    rows = db.execute(wanted).mappings()
    return tuple(Screened(**{**row, "working": tuple(row["working"])}) for row in rows)


def analysis(db: Connection, result_id: int) -> Analysis | None:
    """A laboratory result with its sample and upload."""
    kept = [field.name for field in fields(Analysis)]
    columns = {c.name: c for table in (t.upload, t.sample, t.result) for c in table.c}
    row = (
        db.execute(
            select(*(columns[name] for name in kept))
            .select_from(t.result)
            .join(t.sample, t.sample.c.id == t.result.c.sample_id)
            .join(t.upload, t.upload.c.id == t.sample.c.upload_id, isouter=True)
            .where(t.result.c.id == result_id)
        )
        .mappings()
        .first()
    )
    return None if row is None else Analysis(**row)


def violations(db: Connection, scope: Scope, *, limit: int = 100) -> tuple[Opened, ...]:
    """Violations, the newest first."""
    rows = db.execute(
        _violations(scope).order_by(t.violation.c.opened_at.desc()).limit(limit)
    ).mappings()
    return tuple(Opened(**row) for row in rows)


def violation(db: Connection, scope: Scope, number: str) -> Opened:
    """One violation. Raises: NotFound."""
    row = db.execute(_violations(scope).where(t.violation.c.number == number)).mappings().first()
    if row is None:
        raise NotFound(f"There is no violation {number} here.")
    return Opened(**row)


def timeline(db: Connection, *subjects: str) -> tuple[Step, ...]:
    """What was done about subjects (``detection:12``, ``violation:4``), oldest first."""
    rows = db.execute(
        select(
            t.act.c.at,
            t.person.c.name.label("who"),
            t.person.c.office,
            t.act.c.verb,
            t.act.c.reason,
        )
        .join(t.person, t.person.c.id == t.act.c.person_id, isouter=True)
        .where(t.act.c.subject.in_(subjects))
        .order_by(t.act.c.at, t.act.c.id)
    ).mappings()
    return tuple(Step(**row) for row in rows)


def history(db: Connection, exceedance_id: str) -> tuple[Earlier, ...]:
    """What a finding was before, oldest first."""
    h = t.exceedance_history.c
    rows = db.execute(
        select(h.at, h.why, h.was).where(h.exceedance_id == exceedance_id).order_by(h.id)
    ).mappings()
    return tuple(Earlier(**row) for row in rows)


def story(db: Connection, case: Case) -> tuple[Step | Earlier, ...]:
    """What became of a detection, oldest first: found, judged anew, decided on."""
    found = Step(at=case.detected_at, who=None, office=None, verb="found", reason="")
    told: list[Step | Earlier] = [found, *history(db, case.exceedance_id)]
    told.extend(timeline(db, f"detection:{case.id}"))
    return tuple(sorted(told, key=lambda one: one.at))


def _cases(scope: Scope) -> Select[Any]:
    e, d = t.exceedance.c, t.detection.c
    kept = {field.name for field in fields(Case)} - {"id"}
    facts = [column for column in t.exceedance.c if column.name in kept]
    return (
        select(
            d.id,
            d.state,
            d.detected_at,
            d.differs,
            d.industrial_user_id,
            t.industrial_user.c.name.label("industrial_user"),
            t.city.c.id.label("city_id"),
            t.city.c.name.label("city"),
            t.city.c.control_authority,
            t.city.c.zone,
            t.monitoring_point.c.code.label("point"),
            e.id.label("exceedance_id"),
            *facts,
            t.violation.c.number.label("violation"),
        )
        .select_from(t.detection)
        .join(t.exceedance, e.id == d.exceedance_id)
        .join(t.industrial_user, t.industrial_user.c.id == d.industrial_user_id)
        .join(t.city, t.city.c.id == t.industrial_user.c.city_id)
        .join(t.monitoring_point, t.monitoring_point.c.id == e.monitoring_point_id)
        .join(t.violation, t.violation.c.detection_id == d.id, isouter=True)
        .where(scope.rows())
    )


def _case(row: Mapping[Any, Any]) -> Case:
    return Case(**{**row, "working": tuple(row["working"])})


def _violations(scope: Scope) -> Select[Any]:
    v = t.violation.c
    return (
        select(
            v.number,
            v.state,
            v.reason,
            t.person.c.name.label("opened_by"),
            v.capacity,
            v.opened_at,
            v.detection_id,
            t.industrial_user.c.name.label("industrial_user"),
            t.city.c.name.label("city"),
            t.detection.c.differs,
            t.exceedance.c.superseded_at,
            t.exceedance.c.superseded_why,
        )
        .select_from(t.violation)
        .join(t.detection, t.detection.c.id == v.detection_id)
        .join(t.exceedance, t.exceedance.c.id == t.detection.c.exceedance_id)
        .join(t.person, t.person.c.id == v.opened_by)
        .join(t.industrial_user, t.industrial_user.c.id == v.industrial_user_id)
        .join(t.city, t.city.c.id == t.industrial_user.c.city_id)
        .where(scope.rows())
    )
