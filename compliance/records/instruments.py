"""Instruments as a viewer may see them: where each answers, who polls it, what came of late."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Integer, Select, and_, cast, func, or_, select, true

from compliance.errors import NotFound
from compliance.model.clocks import Offset
from compliance.model.completeness import Hour
from compliance.model.periods import EPOCH, to_us
from compliance.model.readings import STORED_UNJUDGED, Quality
from compliance.model.windows import Declared
from compliance.records import tables as t
from compliance.records.scope import Scope

HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrument:
    """An instrument at a point: where it answers, which map reads it, who compared its display."""

    id: int
    point_id: int
    point: str
    place: str
    industrial_user: str
    city_id: int
    zone: str
    gateway_id: int
    gateway: str
    host: str
    port: int
    transport: str
    unit_id: int
    map_name: str
    byte_order: str | None
    confirmed_by: str | None
    confirmed_at: datetime | None
    confirmed_how: str | None


def all_of(db: Connection, scope: Scope) -> tuple[Instrument, ...]:
    """Every instrument, by user, point and unit."""
    ordered = _instruments(scope).order_by(
        t.industrial_user.c.name, t.monitoring_point.c.code, t.instrument.c.unit_id
    )
    return tuple(Instrument(**row) for row in db.execute(ordered).mappings())


def one(db: Connection, scope: Scope, instrument_id: int) -> Instrument:
    """One instrument. Raises: NotFound."""
    wanted = _instruments(scope).where(t.instrument.c.id == instrument_id)
    row = db.execute(wanted).mappings().first()
    if row is None:
        raise NotFound(f"There is no instrument {instrument_id} here.")
    return Instrument(**row)


def _instruments(scope: Scope) -> Select[Any]:
    i, g = t.instrument.c, t.gateway.c
    return (
        select(
            i.id,
            t.monitoring_point.c.id.label("point_id"),
            t.monitoring_point.c.code.label("point"),
            t.monitoring_point.c.place,
            t.industrial_user.c.name.label("industrial_user"),
            t.city.c.id.label("city_id"),
            t.city.c.zone,
            g.id.label("gateway_id"),
            g.name.label("gateway"),
            g.host,
            g.port,
            g.transport,
            i.unit_id,
            i.map_name,
            i.byte_order,
            i.confirmed_by,
            i.confirmed_at,
            i.confirmed_how,
        )
        .select_from(t.instrument)
        .join(t.gateway)
        .join(t.monitoring_point, t.monitoring_point.c.id == i.monitoring_point_id)
        .join(t.industrial_user)
        .join(t.city)
        .where(scope.rows())
    )


def pollers(db: Connection) -> dict[int, str]:
    """Which worker polls each gateway, by gateway: by its lease, or as the one of a remote site."""
    i, g = t.instrument.c, t.lease.c
    leased = select(g.gateway_id, g.worker).where(g.worker.is_not(None))
    remote = (
        select(i.gateway_id, t.token.c.worker)
        .join(t.token, i.monitoring_point_id == func.any(t.token.c.points))
        .where(t.token.c.revoked_at.is_(None))
    )
    found = {gateway: worker for gateway, worker in db.execute(leased)}
    return found | {gateway: worker for gateway, worker in db.execute(remote)}


def hours(
    db: Connection,
    channel: int,
    *,
    since: datetime,
    until: datetime,
    windows: Sequence[Declared] = (),
) -> tuple[Hour, ...]:
    """How many readings of a channel came in each hour of ``[since, until)``, and how many count.

    windows: those over the channel, whose readings do not. An hour without any is left out.
    """
    r = t.reading.c
    held = or_(False, *(_within(one) for one in windows if one.is_in_force))
    good = and_(r.value.is_not(None), r.quality.op("&")(STORED_UNJUDGED) == 0, ~held)
    hour = func.date_bin(HOUR, r.read_at, EPOCH).label("hour")
    rows = db.execute(
        select(hour, func.count(), func.count().filter(good))
        .where(r.channel_id == channel, r.read_at >= since, r.read_at < until)
        .group_by(hour)
        .order_by(hour)
    )
    return tuple(Hour(at_us=to_us(at), stored=stored, judged=judged) for at, stored, judged in rows)


def _within(window: Declared) -> Any:
    r = t.reading.c
    return and_(
        r.read_at >= window.since, true() if window.until is None else r.read_at < window.until
    )


def offsets(
    db: Connection, channel: int, *, since: datetime, until: datetime
) -> tuple[Offset, ...]:
    """The instrument's time less ours, the median of each hour in which it told one."""
    r = t.reading.c
    hour = func.date_bin(HOUR, r.read_at, EPOCH).label("hour")
    middle = func.percentile_disc(0.5).within_group(r.device_offset_ms)
    rows = db.execute(
        select(hour, middle)
        .where(r.channel_id == channel, r.read_at >= since, r.read_at < until)
        .where(r.device_offset_ms.is_not(None))
        .group_by(hour)
        .order_by(hour)
    )
    return tuple(Offset(at_us=to_us(at), offset_ms=ms) for at, ms in rows)


def flagged(
    db: Connection, channels: Collection[int], *, since: datetime, until: datetime
) -> dict[int, dict[Quality, int]]:
    """How many readings came with each quality but good, by channel; one without: left out.

    It reads the index of such readings alone.
    """
    r = t.reading.c
    quality = cast(r.quality, Integer).label("said")
    rows = db.execute(
        select(r.channel_id, quality, func.count())
        .where(r.channel_id.in_(channels), r.read_at >= since, r.read_at < until, r.quality != 0)
        .group_by(r.channel_id, quality)
        .order_by(r.channel_id, func.count().desc())
    )
    found: dict[int, dict[Quality, int]] = {}
    for channel, said, count in rows:
        found.setdefault(channel, {})[Quality(said)] = count
    return found
