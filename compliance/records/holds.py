"""Holds on readings: placed and lifted, never deleted; and which of them cover a channel."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, insert, or_, select, true, update

from compliance.errors import NotFound
from compliance.model.keeping import Hold
from compliance.records import tables as t
from compliance.records.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Over:
    """What a hold covers: the whole city, or one of its users, points or channels."""

    city_id: int
    industrial_user_id: int | None = None
    monitoring_point_id: int | None = None
    channel_id: int | None = None


def place(  # noqa: PLR0913 - one argument a column
    db: Connection,
    over: Over,
    *,
    since: datetime | None,
    until: datetime | None,
    reason: str,
    by: str,
    at: datetime,
) -> int:
    """Keep a hold; its number."""
    row = insert(t.hold).values(
        city_id=over.city_id,
        industrial_user_id=over.industrial_user_id,
        monitoring_point_id=over.monitoring_point_id,
        channel_id=over.channel_id,
        since=since,
        until=until,
        reason=reason,
        placed_by=by,
        placed_at=at,
    )
    return int(db.scalar(row.returning(t.hold.c.id)) or 0)


def lift(db: Connection, number: int, *, by: str, at: datetime, why: str) -> None:
    """End a hold; it stays on record."""
    done = {"lifted_by": by, "lifted_at": at, "lifted_why": why}
    db.execute(
        update(t.hold).where(t.hold.c.id == number, t.hold.c.lifted_at.is_(None)).values(**done)
    )


def locked(db: Connection, number: int, *, city_id: int | None) -> Hold:
    """A hold of a city (None: of any), kept until the transaction ends. Raises: NotFound."""
    query = _holds().where(t.hold.c.id == number, _of(city_id)).with_for_update(of=t.hold)
    found = _read(db, query)
    if not found:
        raise NotFound(f"There is no hold {number} here.")
    return found[0]


def one(db: Connection, scope: Scope, number: int) -> Hold:
    """A hold that a viewer may see: industrial users see none. Raises: NotFound."""
    query = _holds().where(t.hold.c.id == number, _of(scope.city_id))
    found = () if scope.industrial_user_id is not None else _read(db, query)
    if not found:
        raise NotFound(f"There is no hold {number} here.")
    return found[0]


def of_city(db: Connection, city_id: int | None) -> tuple[Hold, ...]:
    """Every hold of a city (None: of all), those in force first, then the newest."""
    h = t.hold.c
    return _read(db, _holds().where(_of(city_id)).order_by(h.lifted_at.is_not(None), h.id.desc()))


def covering(db: Connection, *, channel: int, point: int, user: int, city: int) -> tuple[Hold, ...]:
    """The holds in force on the readings of a channel, the oldest first."""
    h = t.hold.c
    whole = func.num_nonnulls(h.industrial_user_id, h.monitoring_point_id, h.channel_id) == 0
    mine = or_(
        whole,
        h.industrial_user_id == user,
        h.monitoring_point_id == point,
        h.channel_id == channel,
    )
    return _read(db, _holds().where(h.city_id == city, h.lifted_at.is_(None), mine).order_by(h.id))


def _of(city_id: int | None) -> ColumnElement[bool]:
    return true() if city_id is None else t.hold.c.city_id == city_id


def _holds() -> Select[Any]:
    h = t.hold.c
    point = t.monitoring_point.alias("channel_point")
    return (
        select(
            t.hold,
            t.city.c.name.label("city"),
            t.industrial_user.c.name.label("user"),
            t.monitoring_point.c.code.label("point"),
            t.channel.c.parameter,
            t.channel.c.entry,
            point.c.code.label("channel_point"),
        )
        .select_from(t.hold)
        .join(t.city, t.city.c.id == h.city_id)
        .outerjoin(t.industrial_user, t.industrial_user.c.id == h.industrial_user_id)
        .outerjoin(t.monitoring_point, t.monitoring_point.c.id == h.monitoring_point_id)
        .outerjoin(t.channel, t.channel.c.id == h.channel_id)
        .outerjoin(point, point.c.id == t.channel.c.monitoring_point_id)
    )


def _read(db: Connection, query: Select[Any]) -> tuple[Hold, ...]:
    return tuple(
        Hold(
            id=row["id"],
            over=_over(row),
            since=row["since"],
            until=row["until"],
            reason=row["reason"],
            placed_by=row["placed_by"],
            placed_at=row["placed_at"],
            lifted_by=row["lifted_by"],
            lifted_at=row["lifted_at"],
            lifted_why=row["lifted_why"],
        )
        for row in db.execute(query).mappings()
    )


def _over(row: Any) -> str:
    if row["channel_id"] is not None:
        return f"{row['channel_point']} {row['parameter']} ({row['entry']})"
    if row["monitoring_point_id"] is not None:
        return f"point {row['point']}"
    if row["industrial_user_id"] is not None:
        return str(row["user"])
    return f"all of {row['city']}"
