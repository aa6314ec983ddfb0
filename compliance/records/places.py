"""Points and channels as a viewer may see them: who discharges where, and what is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, exists, func, select
from sqlalchemy.dialects.postgresql import distinct_on

from compliance.errors import NotFound
from compliance.records import tables as t
from compliance.records.scope import Scope

ZONE = "America/Chicago"
"""Where nobody has declared a city yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A channel with the names of where it stands, and the cadence in force now.

    gateway: through which it is read; None where its readings are imported. counts: whether what
    it reads now is judged: not until somebody compared its instrument with the display.
    """

    channel_id: int
    parameter: str
    unit: str
    resolution: str
    interval_ms: int
    entry: str
    map_name: str | None
    point_id: int
    point: str
    place: str
    industrial_user_id: int
    industrial_user: str
    city_id: int
    city: str
    zone: str
    rulebooks: tuple[str, ...]
    gateway: str | None = None
    instrument_id: int | None = None
    counts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """An industrial user by name."""

    id: int
    slug: str
    name: str
    makes: str
    is_significant: bool
    category: str
    city: str


def zone(db: Connection, scope: Scope) -> str:
    """The time zone of the plant whose rows a viewer sees; of the first city where there are more.

    A viewer with more cities reads all instants in one zone, always printed beside them.
    """
    found = db.scalar(
        select(t.city.c.zone)
        .join(t.industrial_user, t.industrial_user.c.city_id == t.city.c.id)
        .where(scope.rows())
        .order_by(t.city.c.id)
        .limit(1)
    )
    return found or ZONE


def users(db: Connection, scope: Scope) -> tuple[User, ...]:
    """Industrial users, by name."""
    u = t.industrial_user.c
    rows = db.execute(
        select(
            u.id, u.slug, u.name, u.makes, u.is_significant, u.category, t.city.c.name.label("city")
        )
        .join(t.city)
        .where(scope.rows())
        .order_by(u.name)
    ).mappings()
    return tuple(User(**row) for row in rows)


def signals(db: Connection, scope: Scope) -> tuple[Signal, ...]:
    """Every channel, by user, point and parameter."""
    return _signals(db, _signal_rows(scope))


def at_point(db: Connection, scope: Scope, code: str) -> tuple[Signal, ...]:
    """The channels of one monitoring point. Raises: NotFound."""
    known = db.scalar(
        select(t.monitoring_point.c.id)
        .join(t.industrial_user)
        .where(scope.rows(), t.monitoring_point.c.code == code)
    )
    if known is None:
        raise NotFound(f"There is no monitoring point {code} here.")
    return _signals(db, _signal_rows(scope).where(t.monitoring_point.c.code == code))


def point_codes(db: Connection, scope: Scope) -> tuple[str, ...]:
    """The codes of every monitoring point: what an upload may name."""
    rows = db.execute(
        select(t.monitoring_point.c.code)
        .join(t.industrial_user)
        .where(scope.rows())
        .order_by(t.monitoring_point.c.code)
    )
    return tuple(code for (code,) in rows)


def register_maps(db: Connection) -> dict[str, tuple[str, dict[str, Any]]]:
    """The newest published register map of each name: its hash and its content."""
    m = t.register_map.c
    rows = db.execute(
        select(m.name, m.sha256, m.content)
        .ext(distinct_on(m.name))
        .order_by(m.name, m.published_at.desc())
    )
    return {name: (sha256, dict(content)) for name, sha256, content in rows}


def _signal_rows(scope: Scope) -> Select[Any]:
    cadence = (
        select(t.channel_cadence.c.channel_id, t.channel_cadence.c.interval_ms)
        .ext(distinct_on(t.channel_cadence.c.channel_id))
        .order_by(t.channel_cadence.c.channel_id, t.channel_cadence.c.since.desc())
        .subquery()
    )
    k = t.counting.c
    counting = select(k.id).where(
        k.channel_id == t.channel.c.id, k.until.is_(None), k.since <= func.clock_timestamp()
    )
    return (
        select(
            t.channel.c.id.label("channel_id"),
            t.channel.c.parameter,
            t.channel.c.unit,
            t.channel.c.resolution,
            cadence.c.interval_ms,
            t.channel.c.entry,
            t.instrument.c.map_name,
            t.monitoring_point.c.id.label("point_id"),
            t.monitoring_point.c.code.label("point"),
            t.monitoring_point.c.place,
            t.industrial_user.c.id.label("industrial_user_id"),
            t.industrial_user.c.name.label("industrial_user"),
            t.city.c.id.label("city_id"),
            t.city.c.name.label("city"),
            t.city.c.zone,
            t.city.c.rulebooks,
            t.gateway.c.name.label("gateway"),
            t.channel.c.instrument_id,
            exists(counting).label("counts"),
        )
        .select_from(t.channel)
        .join(t.monitoring_point, t.monitoring_point.c.id == t.channel.c.monitoring_point_id)
        .join(t.industrial_user)
        .join(t.city)
        .join(cadence, cadence.c.channel_id == t.channel.c.id, isouter=True)
        .join(t.instrument, t.instrument.c.id == t.channel.c.instrument_id, isouter=True)
        .join(t.gateway, t.gateway.c.id == t.instrument.c.gateway_id, isouter=True)
        .where(scope.rows())
        .order_by(t.industrial_user.c.name, t.monitoring_point.c.code, t.channel.c.id)
    )


def _signals(db: Connection, query: Select[Any]) -> tuple[Signal, ...]:
    return tuple(
        Signal(
            **{
                **row,
                "interval_ms": row["interval_ms"] or 60_000,
                "rulebooks": tuple(row["rulebooks"]),
            }
        )
        for row in db.execute(query).mappings()
    )
