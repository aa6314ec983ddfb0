"""Cities, users, points, gateways, instruments, channels: what is where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, RowMapping, Table, select, update
from sqlalchemy.dialects.postgresql import distinct_on, insert

from compliance.errors import NotFound
from compliance.model.parameters import Parameter
from compliance.model.sites import Channel, Gateway, Instrument
from compliance.model.units import Unit
from compliance.records import tables as t


@dataclass(frozen=True, slots=True, kw_only=True)
class InstrumentPlan:
    """An instrument and the channels read from it."""

    instrument: Instrument
    channels: tuple[Channel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayPlan:
    """A gateway and the instruments behind it: what one task polls."""

    gateway: Gateway
    instruments: tuple[InstrumentPlan, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a channel stands: point, user and city, by their ids and names."""

    channel_id: int
    point_id: int
    point: str
    industrial_user_id: int
    industrial_user: str
    city_id: int
    city: str
    zone: str
    rulebooks: tuple[str, ...]
    parameter: Parameter
    unit: Unit
    entry: str
    resolution: str
    instrument_id: int | None
    unit_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class City:
    """A city and who does what there."""

    id: int
    slug: str
    name: str
    zone: str
    rulebooks: tuple[str, ...]
    control_authority: str
    ordinance_authority: str
    billing_authority: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """A treatment plant's average-day design figures and the document they come from."""

    name: str
    average_design: Mapping[str, Decimal]
    source: str


def cities(db: Connection) -> tuple[City, ...]:
    """Every city of this installation."""
    rows = db.execute(select(t.city).order_by(t.city.c.id)).mappings()
    return tuple(City(**{**row, "rulebooks": tuple(row["rulebooks"])}) for row in rows)


def city(db: Connection, slug: str) -> City:
    """One city.

    Raises: NotFound naming the cities there are.
    """
    known = {found.slug: found for found in cities(db)}
    if slug not in known:
        raise NotFound(f"there is no city {slug!r} here; there are: {', '.join(known) or 'none'}")
    return known[slug]


def users(db: Connection, city_id: int) -> tuple[tuple[int, str], ...]:
    """The industrial users of a city: id and name, in the order in which they came."""
    u = t.industrial_user.c
    rows = db.execute(select(u.id, u.name).where(u.city_id == city_id).order_by(u.id))
    return tuple((row.id, row.name) for row in rows)


def plant(db: Connection, city_id: int) -> Plant | None:
    """The plant that a city's users discharge to, where its design is on file."""
    row = db.execute(select(t.plant).where(t.plant.c.city_id == city_id)).mappings().first()
    if row is None:
        return None
    design = {key: Decimal(value) for key, value in row["average_design"].items()}
    return Plant(name=row["name"], average_design=design, source=row["source"])


def upsert(db: Connection, table: Table, values: Mapping[str, Any], *, key: Sequence[str]) -> int:
    """Insert a row or bring the one with the same key up to date; its id."""
    statement = insert(table).values(**values)
    changed = {name: statement.excluded[name] for name in values if name not in key}
    statement = statement.on_conflict_do_update(
        index_elements=list(key), set_=changed or {key[0]: statement.excluded[key[0]]}
    )
    if "id" not in table.c:
        db.execute(statement)
        return 0
    return int(db.scalar(statement.returning(table.c.id)) or 0)


def set_cadence(db: Connection, channel_id: int, *, since: datetime, interval_ms: int) -> None:
    """From an instant on, how often a channel is read."""
    upsert(
        db,
        t.channel_cadence,
        {"channel_id": channel_id, "since": since, "interval_ms": interval_ms},
        key=["channel_id", "since"],
    )


def add_once(db: Connection, table: Table, values: Mapping[str, Any]) -> None:
    """Add a record of a channel unless the very same stands already."""
    same = [table.c[name] == value for name, value in values.items() if name != "standards"]
    if db.execute(select(table.c.id).where(*same)).first() is None:
        db.execute(table.insert().values(**values))


def retire_others(db: Connection, point_id: int, *, keep: Sequence[int]) -> None:
    """Read no more what a new description of a point leaves out; its readings stay."""
    db.execute(
        update(t.channel)
        .where(t.channel.c.monitoring_point_id == point_id, t.channel.c.id.not_in(keep))
        .values(is_read=False)
    )


def channels(db: Connection) -> tuple[Channel, ...]:
    """Every channel, with the cadence in force now."""
    latest = (
        select(t.channel_cadence.c.channel_id, t.channel_cadence.c.interval_ms)
        .ext(distinct_on(t.channel_cadence.c.channel_id))
        .order_by(t.channel_cadence.c.channel_id, t.channel_cadence.c.since.desc())
        .subquery()
    )
    rows = db.execute(
        select(t.channel, latest.c.interval_ms)
        .join(latest, latest.c.channel_id == t.channel.c.id)
        .order_by(t.channel.c.id)
    ).mappings()
    return tuple(
        Channel(
            id=row["id"],
            point_id=row["monitoring_point_id"],
            instrument_id=row["instrument_id"],
            entry=row["entry"],
            parameter=Parameter(row["parameter"]),
            unit=Unit(row["unit"]),
            resolution=row["resolution"],
            interval_ms=row["interval_ms"],
            span_low=row["span_low"],
            span_high=row["span_high"],
            modulus=row["modulus"],
            max_per_second=row["max_per_second"],
        )
        for row in rows
    )


def polled(db: Connection) -> tuple[GatewayPlan, ...]:
    """What the ingest workers poll: each gateway once, with everything behind it."""
    by_instrument: dict[int, list[Channel]] = {}
    read = set(db.scalars(select(t.channel.c.id).where(t.channel.c.is_read)))
    for channel in channels(db):
        if channel.instrument_id is not None and channel.id in read:
            by_instrument.setdefault(channel.instrument_id, []).append(channel)
    rows = db.execute(
        select(
            t.instrument,
            t.gateway.c.name.label("gateway_name"),
            t.gateway.c.host,
            t.gateway.c.port,
            t.gateway.c.transport,
        )
        .join(t.gateway, t.gateway.c.id == t.instrument.c.gateway_id)
        .order_by(t.instrument.c.gateway_id, t.instrument.c.unit_id)
    ).mappings()
    plans = []
    for gateway_id, group in groupby(rows, key=lambda row: row["gateway_id"]):
        members = list(group)
        first = members[0]
        plans.append(
            GatewayPlan(
                gateway=Gateway(
                    id=gateway_id,
                    name=first["gateway_name"],
                    host=first["host"],
                    port=first["port"],
                    transport=first["transport"],
                ),
                instruments=tuple(
                    InstrumentPlan(
                        instrument=instrument_of(row),
                        channels=tuple(by_instrument.get(row["id"], ())),
                    )
                    for row in members
                ),
            )
        )
    return tuple(plans)


def instrument_of(row: RowMapping) -> Instrument:
    """An instrument from a row that has all its columns."""
    return Instrument(
        id=row["id"],
        gateway_id=row["gateway_id"],
        unit_id=row["unit_id"],
        map_name=row["map_name"],
        order=row["byte_order"],
        confirmed_by=row["confirmed_by"],
        confirmed_at=row["confirmed_at"],
    )


def places(db: Connection) -> dict[int, Place]:
    """Where each channel stands, by channel id."""
    rows = db.execute(
        select(
            t.channel.c.id.label("channel_id"),
            t.monitoring_point.c.id.label("point_id"),
            t.monitoring_point.c.code.label("point"),
            t.industrial_user.c.id.label("industrial_user_id"),
            t.industrial_user.c.name.label("industrial_user"),
            t.city.c.id.label("city_id"),
            t.city.c.name.label("city"),
            t.city.c.zone,
            t.city.c.rulebooks,
            t.channel.c.parameter,
            t.channel.c.unit,
            t.channel.c.entry,
            t.channel.c.resolution,
            t.channel.c.instrument_id,
            t.instrument.c.unit_id,
        )
        .select_from(t.channel)
        .join(t.monitoring_point, t.monitoring_point.c.id == t.channel.c.monitoring_point_id)
        .outerjoin(t.instrument, t.instrument.c.id == t.channel.c.instrument_id)
        .join(t.industrial_user)
        .join(t.city)
    ).mappings()
    return {
        row["channel_id"]: Place(
            **{
                **row,
                "rulebooks": tuple(row["rulebooks"]),
                "parameter": Parameter(row["parameter"]),
                "unit": Unit(row["unit"]),
            }
        )
        for row in rows
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Papers:
    """What makes a continuous point count: its approval, and the calibrations around an instant."""

    commissioning: Mapping[str, Any] | None
    calibrations: tuple[Mapping[str, Any], ...]  # in time order
    register_map: Mapping[str, Any] | None
    instrument: Mapping[str, Any] | None


def papers(db: Connection, channel_id: int) -> Papers:
    """The approval, calibrations and register map of a channel, as plain values."""
    commissioning = (
        db.execute(
            select(t.commissioning)
            .where(t.commissioning.c.channel_id == channel_id)
            .order_by(t.commissioning.c.approved_on.desc())
        )
        .mappings()
        .first()
    )
    calibrations = db.execute(
        select(t.calibration)
        .where(t.calibration.c.channel_id == channel_id)
        .order_by(t.calibration.c.calibrated_at)
    ).mappings()
    instrument = (
        db.execute(
            select(t.instrument, t.gateway.c.name.label("gateway"))
            .join(t.gateway)
            .join(t.channel, t.channel.c.instrument_id == t.instrument.c.id)
            .where(t.channel.c.id == channel_id)
        )
        .mappings()
        .first()
    )
    published = (
        db.execute(
            select(t.register_map)
            .where(t.register_map.c.name == (instrument["map_name"] if instrument else ""))
            .order_by(t.register_map.c.published_at.desc())
        )
        .mappings()
        .first()
    )
    return Papers(
        commissioning=_plain(commissioning),
        calibrations=tuple(_plain(row) or {} for row in calibrations),
        register_map=_plain(published),
        instrument=_plain(instrument),
    )


def _plain(row: RowMapping | None) -> dict[str, Any] | None:
    """A row as JSON can hold it."""
    if row is None:
        return None
    return {
        str(name): value.isoformat() if isinstance(value, datetime | date) else value
        for name, value in row.items()
    }
