"""The instruments of one monitoring point, with the gateways they stand behind."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from compliance.errors import NotFound
from compliance.records import tables as t


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """An instrument and how its gateway is spoken to."""

    host: str
    port: int
    transport: str
    unit_id: int
    map_name: str


def city(db: Connection, code: str) -> int:
    """The city that a point belongs to, by its id. Raises: NotFound."""
    found = db.scalar(
        select(t.industrial_user.c.city_id)
        .join(t.monitoring_point)
        .where(t.monitoring_point.c.code == code)
    )
    if found is None:
        raise NotFound(f"there is no monitoring point {code!r} here")
    return int(found)


def instruments(db: Connection, code: str) -> tuple[Behind, ...]:
    """The instruments of a point, by unit id. Raises: NotFound."""
    point = db.scalar(select(t.monitoring_point.c.id).where(t.monitoring_point.c.code == code))
    if point is None:
        raise NotFound(f"there is no monitoring point {code!r} here")
    i, g = t.instrument.c, t.gateway.c
    rows = db.execute(
        select(g.host, g.port, g.transport, i.unit_id, i.map_name)
        .select_from(t.instrument)
        .join(t.gateway)
        .where(i.monitoring_point_id == point)
        .order_by(i.unit_id)
    ).mappings()
    return tuple(Behind(**row) for row in rows)
