"""Gateways, instruments and channels as they are set up: written step by step, read in a scope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, any_, exists, not_, select, update
from sqlalchemy.exc import IntegrityError

from compliance.errors import InputError, NotFound
from compliance.model.sites import Channel, Gateway, Instrument
from compliance.records import sites
from compliance.records import tables as t
from compliance.records.scope import Scope

POLLED_SINCE = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """How an instrument is read and by whom it was confirmed.

    channels: by id, each with what its value is told in (entry, unit, step, span).
    """

    map_name: str
    order: str | None
    confirmed: tuple[str, datetime] | None
    channels: Mapping[int, tuple[object, ...]]

    def read_otherwise(self, before: Reads) -> tuple[int, ...]:
        """The channels that were read in another way before."""
        whole = (self.map_name, self.order) != (before.map_name, before.order)
        return tuple(
            channel
            for channel, way in before.channels.items()
            if whole or self.channels.get(channel, way) != way
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SetUp:
    """An instrument as far as it is set up, and where it stands."""

    instrument: Instrument
    gateway: Gateway
    how: str | None
    point: str
    place: str
    industrial_user: str
    zone: str
    channels: tuple[Channel, ...]


def reads(db: Connection, instrument_id: int) -> Reads | None:
    """How an instrument is read; None where there is none of that id."""
    i, c = t.instrument.c, t.channel.c
    row = db.execute(select(t.instrument).where(i.id == instrument_id)).mappings().first()
    if row is None:
        return None
    ways = db.execute(
        select(c.id, c.entry, c.unit, c.resolution, c.span_low, c.span_high)
        .where(c.instrument_id == instrument_id, c.is_read)
        .order_by(c.id)
    )
    confirmed = (row["confirmed_by"], row["confirmed_at"]) if row["confirmed_by"] else None
    return Reads(
        map_name=row["map_name"],
        order=row["byte_order"],
        confirmed=confirmed,
        channels={
            channel: (entry, unit, Decimal(step), *span)
            for channel, entry, unit, step, *span in ways
        },
    )


def lock(db: Connection, instrument_id: int) -> None:
    """Let nobody else change an instrument until the transaction ends; wait for who does."""
    i = t.instrument.c
    db.execute(select(i.id).where(i.id == instrument_id).with_for_update())


def behind(db: Connection, gateway_id: int, unit_id: int) -> int | None:
    """The instrument with a unit id behind a gateway; None where there is none."""
    i = t.instrument.c
    return db.scalar(select(i.id).where(i.gateway_id == gateway_id, i.unit_id == unit_id))


def confirm(db: Connection, instrument_id: int, *, by: str, at: datetime, how: str) -> None:
    """Write who compared an instrument with its display."""
    _update(db, instrument_id, confirmed_by=by, confirmed_at=at, confirmed_how=how)


def unconfirm(db: Connection, instrument_id: int) -> None:
    """What was compared holds no more; what counted until now stays on record."""
    _update(db, instrument_id, confirmed_by=None, confirmed_at=None, confirmed_how=None)


def set_map(db: Connection, instrument_id: int, *, map_name: str, order: str | None) -> None:
    """Have an instrument read by another map, or in another order."""
    _update(db, instrument_id, map_name=map_name, byte_order=order)


def _update(db: Connection, instrument_id: int, **values: object) -> None:
    db.execute(update(t.instrument).where(t.instrument.c.id == instrument_id).values(**values))


def add_gateway(db: Connection, gateway: Gateway) -> int:
    """Write a gateway down; its id. Raises: InputError where its name or address stands already."""
    values = {key: getattr(gateway, key) for key in ("name", "host", "port", "transport")}
    try:
        with db.begin_nested():
            made = db.scalar(t.gateway.insert().values(**values).returning(t.gateway.c.id))
    except IntegrityError:
        raise InputError(
            f"a gateway {gateway.name}, or one at {gateway.host}:{gateway.port}, is here already; "
            "choose it from the list, or give another name and address"
        ) from None
    return int(made or 0)


def add_instrument(
    db: Connection, *, gateway_id: int, point_id: int, unit_id: int, map_name: str
) -> int:
    """Write an instrument down; its id.

    Raises: InputError where its unit id is taken, or the gateway is a remote site's and its token
    does not cover the point: two workers would poll it.
    """
    if behind(db, gateway_id, unit_id) is not None:
        raise InputError(
            f"unit {unit_id} behind this gateway is set up already; choose another unit id, "
            "or open that instrument"
        )
    remote = db.execute(
        select(t.token.c.worker, t.token.c.points)
        .join(t.instrument, t.instrument.c.monitoring_point_id == any_(t.token.c.points))
        .where(t.token.c.revoked_at.is_(None), t.instrument.c.gateway_id == gateway_id)
    ).first()
    if remote is not None and point_id not in remote.points:
        raise InputError(
            f"this gateway is polled by the remote site of {remote.worker}, whose token does not "
            "cover this point; make a token that does, or choose another gateway"
        )
    row = {"gateway_id": gateway_id, "monitoring_point_id": point_id, "unit_id": unit_id}
    i = t.instrument
    return int(db.scalar(i.insert().values(**row, map_name=map_name).returning(i.c.id)) or 0)


def put_channel(
    db: Connection, of: SetUp, values: Mapping[str, Any], *, interval_ms: int, at: datetime
) -> int:
    """Write a channel of an instrument, or bring the one of the same entry up to date; its id."""
    point = select(t.instrument.c.monitoring_point_id).where(t.instrument.c.id == of.instrument.id)
    row = {
        **values,
        "instrument_id": of.instrument.id,
        "monitoring_point_id": db.scalar(point),
        "is_read": True,
    }
    channel = sites.upsert(db, t.channel, row, key=["instrument_id", "entry"])
    known = next((c for c in of.channels if c.id == channel), None)
    since = POLLED_SINCE if known is None else at
    if known is None or known.interval_ms != interval_ms:
        sites.set_cadence(db, channel, since=since, interval_ms=interval_ms)
    return channel


def stop_reading(db: Connection, channel_id: int) -> None:
    """Read a channel no more; its readings stay."""
    db.execute(update(t.channel).where(t.channel.c.id == channel_id).values(is_read=False))


def points(db: Connection, scope: Scope) -> dict[str, int]:
    """The monitoring points that a viewer may set instruments up at, by code."""
    rows = db.execute(
        select(t.monitoring_point.c.code, t.monitoring_point.c.id)
        .join(t.industrial_user)
        .where(scope.rows())
        .order_by(t.monitoring_point.c.code)
    )
    return {code: number for code, number in rows}


def gateways(db: Connection, scope: Scope) -> tuple[Gateway, ...]:
    """The gateways behind which a viewer may set up: none that serves another city's point."""
    return _gateways(db, ~_serves_others(scope))


def of_others(db: Connection, scope: Scope) -> tuple[Gateway, ...]:
    """The gateways that serve a point outside a scope."""
    return _gateways(db, _serves_others(scope))


def _serves_others(scope: Scope) -> ColumnElement[bool]:
    return exists(
        select(t.instrument.c.id)
        .join(t.monitoring_point, t.monitoring_point.c.id == t.instrument.c.monitoring_point_id)
        .join(t.industrial_user)
        .where(t.instrument.c.gateway_id == t.gateway.c.id, not_(scope.rows()))
    )


def _gateways(db: Connection, condition: ColumnElement[bool]) -> tuple[Gateway, ...]:
    rows = db.execute(select(t.gateway).where(condition).order_by(t.gateway.c.name)).mappings()
    return tuple(Gateway(**row) for row in rows)


def gateway(db: Connection, scope: Scope, gateway_id: int) -> Gateway:
    """One of those gateways. Raises: NotFound."""
    found = next((one for one in gateways(db, scope) if one.id == gateway_id), None)
    if found is None:
        raise NotFound(f"There is no gateway {gateway_id} here.")
    return found


def find(db: Connection, scope: Scope, instrument_id: int) -> SetUp:
    """One instrument in a scope. Raises: NotFound."""
    found = _set_up(db, _rows(scope).where(t.instrument.c.id == instrument_id))
    if not found:
        raise NotFound(f"There is no instrument {instrument_id} here.")
    return found[0]


def begun(db: Connection, scope: Scope) -> tuple[SetUp, ...]:
    """The instruments that are set up but not confirmed, or of which something does not count."""
    c, k = t.channel.c, t.counting.c
    counts = exists(select(k.id).where(k.channel_id == c.id, k.until.is_(None)))
    waits = exists(select(c.id).where(c.instrument_id == t.instrument.c.id, c.is_read, ~counts))
    unconfirmed = t.instrument.c.confirmed_by.is_(None)
    return _set_up(db, _rows(scope).where(unconfirmed | waits))


def _rows(scope: Scope) -> Select[Any]:
    return (
        select(
            t.instrument,
            t.gateway.c.name.label("gateway_name"),
            t.gateway.c.host,
            t.gateway.c.port,
            t.gateway.c.transport,
            t.monitoring_point.c.code.label("point"),
            t.monitoring_point.c.place,
            t.industrial_user.c.name.label("industrial_user"),
            t.city.c.zone,
        )
        .select_from(t.instrument)
        .join(t.gateway)
        .join(t.monitoring_point, t.monitoring_point.c.id == t.instrument.c.monitoring_point_id)
        .join(t.industrial_user)
        .join(t.city)
        .where(scope.rows())
        .order_by(t.monitoring_point.c.code, t.instrument.c.unit_id)
    )


def _set_up(db: Connection, query: Select[Any]) -> tuple[SetUp, ...]:
    rows = db.execute(query).mappings().all()
    read = set(db.scalars(select(t.channel.c.id).where(t.channel.c.is_read))) if rows else set()
    every = [c for c in sites.channels(db) if c.id in read] if rows else []
    return tuple(
        SetUp(
            instrument=sites.instrument_of(row),
            gateway=Gateway(
                id=row["gateway_id"],
                name=row["gateway_name"],
                host=row["host"],
                port=row["port"],
                transport=row["transport"],
            ),
            how=row["confirmed_how"],
            point=row["point"],
            place=row["place"],
            industrial_user=row["industrial_user"],
            zone=row["zone"],
            channels=tuple(c for c in every if c.instrument_id == row["id"]),
        )
        for row in rows
    )
