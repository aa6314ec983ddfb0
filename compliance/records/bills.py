"""Bills and what they rest on: users, water reads, daily flows. A bill covers a day only once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from psycopg.types.range import DateRange
from sqlalchemy import Connection, func, insert, select

from compliance.model.billing import Bill, SampleUsed
from compliance.model.periods import Period
from compliance.records import tables as t


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An industrial user as the bill sees it."""

    id: int
    slug: str
    name: str
    category: str
    water_meter: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WaterUse:
    """Metered water of some days of the city's record. reads: the meter's readings in words."""

    period: Period
    gallons: Decimal
    reads: str | None
    estimated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A bill that stands."""

    number: str
    total: Decimal


def accounts(db: Connection, city_id: int) -> tuple[Account, ...]:
    """The industrial users of a city, by name."""
    c = t.industrial_user.c
    rows = db.execute(
        select(c.id, c.slug, c.name, c.category, c.water_meter)
        .where(c.city_id == city_id)
        .order_by(c.name)
    ).mappings()
    return tuple(Account(**row) for row in rows)


def water(db: Connection, industrial_user_id: int, period: Period) -> tuple[WaterUse, ...]:
    """The records of metered water inside a period, in order; their ends are half-open."""
    c = t.water_use.c
    rows = db.execute(
        select(c.period_from, c.period_to, c.gallons, c.reads, c.estimated)
        .where(
            c.industrial_user_id == industrial_user_id,
            c.period_from >= period.start,
            c.period_to <= period.end,
        )
        .order_by(c.period_from)
    )
    return tuple(
        WaterUse(
            period=Period(start=row.period_from, end=row.period_to),
            gallons=row.gallons,
            reads=_reads(row.reads),
            estimated=row.estimated,
        )
        for row in rows
    )


def _reads(reads: Any) -> str | None:
    """``{from: {on, read}, to: {on, read}}`` as a sentence."""
    try:
        first, last = reads["from"], reads["to"]
        return f"Meter {first['read']} on {first['on']}, {last['read']} on {last['on']}"
    except (KeyError, TypeError):
        return None


def flows(
    db: Connection, industrial_user_id: int, period: Period
) -> dict[tuple[int, date], Decimal | None]:
    """Gallons discharged by point and day; None: no record of that day."""
    f, p = t.day_fact.c, t.monitoring_point.c
    rows = db.execute(
        select(f.monitoring_point_id, f.day, f.flow_gal)
        .join(t.monitoring_point, p.id == f.monitoring_point_id)
        .where(
            p.industrial_user_id == industrial_user_id,
            f.day >= period.start,
            f.day < period.end,
        )
    )
    return {(row.monitoring_point_id, row.day): row.flow_gal for row in rows}


def lock(db: Connection, industrial_user_id: int) -> None:
    """Hold a user's bills until the transaction ends: a second run waits here."""
    db.execute(select(func.pg_advisory_xact_lock(470500, industrial_user_id)))


def covering(db: Connection, industrial_user_id: int, period: Period) -> Stored | None:
    """The first bill that covers a day of the period."""
    row = db.execute(
        select(t.bill.c.number, t.bill.c.total)
        .where(
            t.bill.c.industrial_user_id == industrial_user_id,
            t.bill.c.period.op("&&")(DateRange(period.start, period.end, "[)")),
        )
        .order_by(t.bill.c.number)
    ).first()
    return Stored(number=row.number, total=row.total) if row else None


def _sample(one: SampleUsed) -> dict[str, Any]:
    """A sample as a bill keeps it: numbers are text."""
    return {
        "day": one.day.isoformat(),
        "sample": one.label,
        "point": one.point,
        "mg_l": f"{one.mg_l:f}",
        "non_detect": one.is_non_detect,
        "flow_gal": None if one.flow_gal is None else f"{one.flow_gal:f}",
    }


def put(
    db: Connection, made: Bill, *, industrial_user_id: int, number: str, state: str, now: datetime
) -> int:
    """Write a bill with its lines; its id. The database refuses a second for any of its days."""
    bill_id = db.scalar(
        insert(t.bill)
        .values(
            industrial_user_id=industrial_user_id,
            number=number,
            period=DateRange(made.period.start, made.period.end, "[)"),
            tariff=made.tariff,
            tariff_sha256=made.tariff_sha256,
            total=made.total,
            due_on=made.due_on,
            state=state,
            notes=list(made.notes),
            made_at=now,
        )
        .returning(t.bill.c.id)
    )
    rows = [
        {
            "bill_id": bill_id,
            "position": position,
            "code": line.code,
            "description": line.description,
            "quantity": f"{line.quantity:f}",
            "unit": line.unit,
            "rate": f"{line.rate:f}",
            "unrounded": f"{line.unrounded:f}",
            "amount": line.amount,
            "working": list(line.working),
            "sources": list(line.sources),
            "samples": [_sample(one) for one in line.samples],
        }
        for position, line in enumerate(made.lines, start=1)
    ]
    if rows:
        db.execute(insert(t.bill_line), rows)
    return int(bill_id or 0)
