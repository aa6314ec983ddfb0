"""Samplers of points with their dated settings, and the composites they took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import (
    ColumnElement,
    Connection,
    DateTime,
    Select,
    and_,
    cast,
    func,
    or_,
    select,
    update,
)

from compliance.model.composites import CompositeKind, SamplerProgram
from compliance.model.periods import Window, local_day
from compliance.records import tables as t
from compliance.records.scope import Scope
from compliance.records.sites import upsert


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """A point's sampler as it is set from a day on: ids of its channels, and its program."""

    id: int
    point_id: int
    point: str
    zone: str
    effective: date
    aliquots: int
    total: int
    bottle: int | None
    cabinet: int | None
    composite: CompositeKind
    program: SamplerProgram

    @property
    def channels(self) -> frozenset[int]:
        """Those that a composite rests on."""
        named = (self.aliquots, self.total, self.bottle, self.cabinet)
        return frozenset(one for one in named if one is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A composite as it is stored; decimals as texts, rounded once.

    day: the civil day it belongs to; is_open: still being filled; missed: pulls that were surely
    due and not made; faults: why it may not be relied on, empty where it is sound.
    """

    starts_at: datetime
    ends_at: datetime
    day: date
    is_open: bool
    bottles: tuple[int, ...]
    aliquots: int
    due: str | None
    missed: int
    gallons: str | None
    representativeness: str | None
    warmest_deg_c: str | None
    faults: tuple[str, ...]
    working: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A standing composite with its number, and the setting it is held to."""

    id: int
    sampler_id: int
    point_id: int
    point: str
    effective: date
    tolerance: Decimal
    taken: Taken

    @property
    def caution(self) -> str:
        """Why results of composites of its day are to be weighed first; empty where it is sound."""
        if not self.taken.faults:
            return ""
        return (
            f"The sampler's composite of {self.point}, {self.taken.day.isoformat()}, is flagged: "
            f"{'; '.join(self.taken.faults)} (held to {self.tolerance * 100:.0f} %, a setting of "
            f"this program since {self.effective.isoformat()}, no law)"
        )


_TAKEN = tuple(field.name for field in fields(Taken))


def put(db: Connection, point_id: int, effective: date, values: Mapping[str, Any]) -> bool:
    """Set a point's sampler from a day on; whether that changed anything."""
    s = t.sampler
    known = db.execute(
        select(s).where(s.c.monitoring_point_id == point_id, s.c.effective == effective)
    ).mappings()
    before = known.first()
    if before is not None and all(before[name] == value for name, value in values.items()):
        return False
    row = {"monitoring_point_id": point_id, "effective": effective, **values}
    upsert(db, s, row, key=["monitoring_point_id", "effective"])
    return True


def by_point(db: Connection) -> dict[int, tuple[Sampler, ...]]:
    """Every sampler's settings, oldest first, by point."""
    s = t.sampler
    rows = db.execute(
        select(s, t.monitoring_point.c.code, t.city.c.zone)
        .join(t.monitoring_point, t.monitoring_point.c.id == s.c.monitoring_point_id)
        .join(t.industrial_user)
        .join(t.city)
        .order_by(s.c.monitoring_point_id, s.c.effective)
    ).mappings()
    found: dict[int, list[Sampler]] = {}
    for row in rows:
        found.setdefault(row["monitoring_point_id"], []).append(_sampler(row))
    return {point: tuple(settings) for point, settings in found.items()}


def _sampler(row: Mapping[Any, Any]) -> Sampler:
    return Sampler(
        id=row["id"],
        point_id=row["monitoring_point_id"],
        point=row["code"],
        zone=row["zone"],
        effective=row["effective"],
        aliquots=row["aliquots_channel_id"],
        total=row["total_channel_id"],
        bottle=row["bottle_channel_id"],
        cabinet=row["cabinet_channel_id"],
        composite=CompositeKind(row["composite"]),
        program=SamplerProgram(
            gallons_per_aliquot=row["gallons_per_aliquot"],
            aliquots_per_bottle=row["aliquots_per_bottle"],
            moves_when_full=row["moves_when_full"],
            tolerance=row["tolerance"],
            warmest_deg_c=row["warmest_deg_c"],
        ),
    )


def channels(db: Connection) -> frozenset[int]:
    """Every channel that some composite rests on."""
    s = t.sampler.c
    rows = db.execute(
        select(s.aliquots_channel_id, s.total_channel_id, s.bottle_channel_id, s.cabinet_channel_id)
    )
    return frozenset(one for row in rows for one in row if one is not None)


def starts(db: Connection, point_id: int, *, at: datetime, before: bool) -> tuple[datetime, ...]:
    """Where the two standing composites begin that are next to an instant, the nearest first."""
    c = t.composite.c
    side = c.starts_at <= at if before else c.starts_at > at
    order = c.starts_at.desc() if before else c.starts_at
    return tuple(
        db.scalars(
            select(c.starts_at)
            .where(c.monitoring_point_id == point_id, c.superseded_at.is_(None), side)
            .order_by(order)
            .limit(2)
        )
    )


def standing(
    db: Connection, point_id: int, *, since: datetime, until: datetime
) -> tuple[Stored, ...]:
    """A point's composites that begin in ``[since, until)``, oldest first."""
    c = t.composite.c
    return _read(
        db,
        _composites()
        .where(c.monitoring_point_id == point_id, c.starts_at >= since, c.starts_at < until)
        .order_by(c.starts_at),
    )


def of_days(
    db: Connection, scope: Scope, code: str, *, first: date, last: date
) -> tuple[Stored, ...]:
    """A point's composites of civil days from the first to the last, newest first.

    Those that belong to one of them, and those of several days that reach into them.
    """
    c = t.composite.c
    spans = and_(c.starts_at < _midnight(last, 1), c.ends_at > _midnight(first, 0))
    return _read(
        db,
        _composites()
        .join(t.industrial_user, t.industrial_user.c.id == t.monitoring_point.c.industrial_user_id)
        .join(t.city)
        .where(
            scope.rows(), t.monitoring_point.c.code == code, or_(c.day.between(first, last), spans)
        )
        .order_by(c.starts_at.desc()),
    )


def _midnight(day: date, after: int) -> ColumnElement[datetime]:
    """The first instant of a civil day at the plant, or of one some days after it."""
    return func.timezone(t.city.c.zone, cast(day + timedelta(days=after), DateTime))


def on(db: Connection, point_id: int, day: date, zone: ZoneInfo) -> tuple[Stored, ...]:
    """A point's composites that a sample of a civil day lies on, oldest first.

    Those that belong to the day, and one of several days that covers at least half of it.
    """
    c = t.composite.c
    window = local_day(day, zone)
    found = _read(
        db,
        _composites()
        .where(
            c.monitoring_point_id == point_id,
            c.starts_at < window.end,
            c.ends_at > window.start,
        )
        .order_by(c.starts_at),
    )
    return tuple(one for one in found if one.taken.day == day or _halves(one.taken, window))


def _halves(taken: Taken, window: Window) -> bool:
    common = min(taken.ends_at, window.end) - max(taken.starts_at, window.start)
    return 2 * common >= window.length


def _composites() -> Select[Any]:
    c = t.composite.c
    return (
        select(
            c.id, c.sampler_id, c.monitoring_point_id, t.monitoring_point.c.code,
            t.sampler.c.effective, t.sampler.c.tolerance, *(c[name] for name in _TAKEN),
        )
        .select_from(t.composite)
        .join(t.sampler, t.sampler.c.id == c.sampler_id)
        .join(t.monitoring_point, t.monitoring_point.c.id == c.monitoring_point_id)
        .where(c.superseded_at.is_(None))
    )  # fmt: skip


def _read(db: Connection, query: Select[Any]) -> tuple[Stored, ...]:
    return tuple(
        Stored(
            id=row["id"],
            sampler_id=row["sampler_id"],
            point_id=row["monitoring_point_id"],
            point=row["code"],
            effective=row["effective"],
            tolerance=row["tolerance"],
            taken=_taken(row),
        )
        for row in db.execute(query).mappings()
    )


def _taken(row: Mapping[Any, Any]) -> Taken:
    values: dict[str, Any] = {name: row[name] for name in _TAKEN}
    lists = {name: tuple(row[name]) for name in ("bottles", "faults", "working")}
    return Taken(**{**values, **lists})


def keep(db: Connection, sampler: Sampler, taken: Taken, *, now: datetime, release: str) -> None:
    """Store a composite that is new, or stands no longer as it was."""
    db.execute(
        t.composite.insert().values(
            monitoring_point_id=sampler.point_id,
            sampler_id=sampler.id,
            computed_at=now,
            computed_by=release,
            **_plain(taken),
        )
    )


def refresh(
    db: Connection, composite_id: int, sampler: Sampler, taken: Taken, *, now: datetime
) -> None:
    """Bring one that is still being filled up to date."""
    db.execute(
        update(t.composite)
        .where(t.composite.c.id == composite_id)
        .values(sampler_id=sampler.id, computed_at=now, **_plain(taken))
    )


def supersede(db: Connection, composites: Sequence[int], *, now: datetime, why: str) -> None:
    """Composites that stand no longer; they stay to be read."""
    db.execute(
        update(t.composite)
        .where(t.composite.c.id.in_(composites))
        .values(superseded_at=now, superseded_why=why)
    )


def _plain(taken: Taken) -> dict[str, Any]:
    values = asdict(taken)
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
    }
