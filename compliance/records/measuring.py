"""A made-up plant in an empty database, to measure ingest with, and what came of its readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select, text

from compliance.model.parameters import Parameter
from compliance.model.units import Unit
from compliance.records import tables as t

_SINCE = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A channel that every instrument of the plant has."""

    entry: str
    parameter: Parameter
    unit: Unit
    resolution: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Readings of some channels in some time. p50, p99: how long after their slots they were asked
    for, in ms; None where there are none. with_value: those that are no flagged gap."""

    rows: int
    with_value: int
    p50: float | None
    p99: float | None


def add_plant(
    db: Connection, ports: Sequence[int], signals: Sequence[Signal], *, units: int, map_name: str
) -> None:
    """Gateways on this machine, each with so many instruments, read once a second.

    Ids count from 1: those of channels gateway by gateway, unit by unit, signal by signal.
    """
    _add_point(db)
    gateways: list[dict[str, Any]] = [
        {"id": n, "name": f"g{n}", "host": "127.0.0.1", "port": port}
        for n, port in enumerate(ports, 1)
    ]
    instruments: list[dict[str, Any]] = [
        {
            "id": (g["id"] - 1) * units + unit,
            "gateway_id": g["id"],
            "monitoring_point_id": 1,
            "unit_id": unit,
            "map_name": map_name,
        }
        for g in gateways
        for unit in range(1, units + 1)
    ]
    channels = _channels(instruments, signals)
    cadences = [{"channel_id": c["id"], "since": _SINCE, "interval_ms": 1000} for c in channels]
    for table, rows in (
        (t.gateway, gateways),
        (t.instrument, instruments),
        (t.channel, channels),
        (t.channel_cadence, cadences),
    ):
        db.execute(insert(table), rows)


def _add_point(db: Connection) -> None:
    """One point of one user, which all instruments stand at."""
    db.execute(
        insert(t.city).values(
            id=1,
            slug="bench",
            name="Bench",
            zone="UTC",
            rulebooks=[],
            control_authority="none",
            ordinance_authority="none",
            billing_authority="none",
        )
    )
    db.execute(
        insert(t.industrial_user).values(
            id=1,
            city_id=1,
            slug="bench",
            name="Bench",
            makes="readings",
            is_significant=False,
            category="A",
            water_meter="1 in",
        )
    )
    point = {"id": 1, "industrial_user_id": 1, "code": "BENCH", "place": "none"}
    db.execute(insert(t.monitoring_point).values(**point))


def _channels(
    instruments: Sequence[dict[str, Any]], signals: Sequence[Signal]
) -> list[dict[str, Any]]:
    return [
        {
            "id": (i["id"] - 1) * len(signals) + at,
            "monitoring_point_id": 1,
            "instrument_id": i["id"],
            "entry": signal.entry,
            "parameter": signal.parameter,
            "unit": signal.unit,
            "resolution": signal.resolution,
        }
        for i in instruments
        for at, signal in enumerate(signals, 1)
    ]


def tally(db: Connection, *, channels: tuple[int, int], since: datetime, until: datetime) -> Tally:
    """What is stored of the channels from one id to another, at slots in ``[since, until)``."""
    r = t.reading.c
    found = db.execute(
        select(
            func.count(),
            func.count(r.value),
            func.percentile_disc(0.5).within_group(r.offset_ms),
            func.percentile_disc(0.99).within_group(r.offset_ms),
        ).where(r.channel_id.between(*channels), r.read_at >= since, r.read_at < until)
    ).one()
    return Tally(rows=found[0], with_value=found[1], p50=found[2], p99=found[3])


def analyze(db: Connection) -> None:
    """Have the server know how large the plant is."""
    db.execute(text("ANALYZE gateway, instrument, channel, channel_cadence"))
