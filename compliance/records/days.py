"""Civil days of discharge, and metered water of periods: what loads and charges rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert

from compliance.model.periods import Period
from compliance.records import tables as t


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What one user discharged on a civil day, in gallons; None: no record of that day."""

    day: date
    flow_gal: Decimal | None
    sanitary_gal: Decimal | None


def put_days(
    db: Connection, point_id: int, flow_gal: Mapping[date, Decimal | None], *, source: str
) -> None:
    """Store the volumes of days, or bring those that stand up to date."""
    if not flow_gal:
        return
    statement = insert(t.day_fact)
    db.execute(
        statement.on_conflict_do_update(
            index_elements=["monitoring_point_id", "day"],
            set_={"flow_gal": statement.excluded.flow_gal, "source": statement.excluded.source},
        ),
        [
            {"monitoring_point_id": point_id, "day": day, "flow_gal": gallons, "source": source}
            for day, gallons in flow_gal.items()
        ],
    )


def days(db: Connection, industrial_user_id: int, *, since: date, until: date) -> Sequence[Day]:
    """The days of a user with a record in ``[since, until)``, over all points, in order.

    A day with no record at one of the points has none.
    """
    rows = db.execute(
        select(t.day_fact.c.day, t.day_fact.c.flow_gal, t.day_fact.c.sanitary_gal)
        .join(t.monitoring_point)
        .where(
            t.monitoring_point.c.industrial_user_id == industrial_user_id,
            t.day_fact.c.day >= since,
            t.day_fact.c.day < until,
        )
        .order_by(t.day_fact.c.day)
    )
    by_day: dict[date, Day] = {}
    for day, flow, sanitary in rows:
        known = by_day.get(day)
        by_day[day] = Day(
            day=day,
            flow_gal=_sum(known.flow_gal, flow) if known else flow,
            sanitary_gal=_sum(known.sanitary_gal, sanitary) if known else sanitary,
        )
    return tuple(by_day.values())


def at_point(
    db: Connection, point_id: int, *, since: date, until: date
) -> dict[date, Decimal | None]:
    """The gallons of a point's days with a record in ``[since, until)``."""
    c = t.day_fact.c
    rows = db.execute(
        select(c.day, c.flow_gal).where(
            c.monitoring_point_id == point_id, c.day >= since, c.day < until
        )
    )
    return {row.day: row.flow_gal for row in rows}


def _sum(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    return None if one is None or other is None else one + other


def put_water(
    db: Connection,
    industrial_user_id: int,
    *,
    period: Period,
    gallons: Decimal,
    reads: Mapping[str, Any],
    estimated: bool = False,
) -> None:
    """Store the metered water of a period with the reads it comes from; what stands is left."""
    db.execute(
        insert(t.water_use)
        .values(
            industrial_user_id=industrial_user_id,
            period_from=period.start,
            period_to=period.end,
            gallons=gallons,
            reads=dict(reads),
            estimated=estimated,
        )
        .on_conflict_do_nothing(index_elements=["industrial_user_id", "period_from"])
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """An industrial user and the points it discharges at, by their codes."""

    id: int
    name: str
    city_id: int
    points: Mapping[str, int]


def users(db: Connection) -> tuple[User, ...]:
    """Every industrial user."""
    points: dict[int, dict[str, int]] = {}
    for row in db.execute(select(t.monitoring_point)).mappings():
        points.setdefault(row["industrial_user_id"], {})[row["code"]] = row["id"]
    rows = db.execute(select(t.industrial_user).order_by(t.industrial_user.c.id)).mappings()
    return tuple(
        User(
            id=row["id"],
            name=row["name"],
            city_id=row["city_id"],
            points=points.get(row["id"], {}),
        )
        for row in rows
    )
