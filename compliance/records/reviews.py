"""Days that changed after they were billed: noted once, kept up to date, settled by a person."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from psycopg.types.range import DateRange
from sqlalchemy import ARRAY, Connection, Integer, Select, any_, cast, func, select, update
from sqlalchemy.dialects.postgresql import insert

from compliance.model.parameters import Parameter
from compliance.model.periods import Period
from compliance.model.reviews import DayFigure, Review, What
from compliance.records import tables as t
from compliance.records.scope import Scope

MEASURED = (Parameter.FLOW.value, Parameter.VOLUME.value)
"""What bills speak of beside the city's water and the laboratory's results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Billed:
    """An issued bill, its period, and a channel that measures what its user discharges."""

    bill_id: int
    channel_id: int
    period: Period


def billed(
    db: Connection, channels: Collection[int], *, since: date, until: date
) -> tuple[Billed, ...]:
    """The issued bills over days in ``[since, until)``, with those of the channels they bear on."""
    b, c = t.bill.c, t.channel.c
    rows = db.execute(
        select(b.id, c.id.label("channel_id"), b.period)
        .select_from(t.channel)
        .join(t.monitoring_point, t.monitoring_point.c.id == c.monitoring_point_id)
        .join(t.bill, b.industrial_user_id == t.monitoring_point.c.industrial_user_id)
        .where(
            c.id == any_(cast(list(channels), ARRAY(Integer))),
            c.parameter.in_(MEASURED),
            b.state == "issued",
            b.period.op("&&")(DateRange(since, until, "[)")),
        )
        .order_by(b.id, c.id)
    )
    return tuple(
        Billed(
            bill_id=row.id,
            channel_id=row.channel_id,
            period=Period(start=row.period.lower, end=row.period.upper),
        )
        for row in rows
    )


def put(db: Connection, of: Billed, day: date, *, was: DayFigure, now: DayFigure) -> None:
    """Note that a billed day is another now; one that is open keeps what it was at first."""
    statement = insert(t.bill_review).values(
        bill_id=of.bill_id,
        channel_id=of.channel_id,
        day=day,
        what=now.what.value,
        unit=now.unit.value,
        was=was.value,
        now=now.value,
        was_working=was.working,
        now_working=now.working,
    )
    r, new = t.bill_review.c, statement.excluded
    db.execute(
        statement.on_conflict_do_update(
            index_elements=[r.bill_id, r.channel_id, r.day],
            index_where=r.settled_at.is_(None),
            set_={
                "now": new.now,
                "now_working": new.now_working,
                "version": r.version + 1,
                "changed_at": func.now(),
            },
        )
    )


def of_bill(db: Connection, scope: Scope, number: str) -> tuple[Review, ...]:
    """The reviews of a bill, those open first, then by day."""
    r = t.bill_review.c
    order = (r.settled_at.is_not(None), r.day, r.channel_id, r.id)
    return _read(db, _reviews().where(scope.rows(), t.bill.c.number == number).order_by(*order))


def open_of(db: Connection, scope: Scope) -> dict[str, int]:
    """How many days wait to be looked at, by bill; one without any is left out."""
    rows = db.execute(
        select(t.bill.c.number, func.count())
        .select_from(t.bill_review)
        .join(t.bill, t.bill.c.id == t.bill_review.c.bill_id)
        .join(t.industrial_user, t.industrial_user.c.id == t.bill.c.industrial_user_id)
        .where(scope.rows(), t.bill_review.c.settled_at.is_(None))
        .group_by(t.bill.c.number)
        .order_by(t.bill.c.number)
    )
    return {number: count for number, count in rows}


def locked(db: Connection, number: str, ids: Collection[int]) -> tuple[Review, ...]:
    """Those of the reviews that are of a bill, held until the transaction ends."""
    mine = (t.bill.c.number == number) & t.bill_review.c.id.in_(ids)
    return _read(
        db, _reviews().where(mine).order_by(t.bill_review.c.id).with_for_update(of=t.bill_review)
    )


def settle(db: Connection, ids: Sequence[int], *, by: str, why: str, at: datetime) -> None:
    """Settle open reviews; from then on they stay as they are."""
    r = t.bill_review.c
    done = {"settled_at": at, "settled_by": by, "settled_why": why}
    db.execute(update(t.bill_review).where(r.id.in_(ids), r.settled_at.is_(None)).values(**done))


def _reviews() -> Select[Any]:
    names = tuple(
        name for name in Review.__slots__ if name not in ("bill", "point", "parameter", "entry")
    )
    return (
        select(
            *(t.bill_review.c[name] for name in names),
            t.bill.c.number.label("bill"),
            t.monitoring_point.c.code.label("point"),
            t.channel.c.parameter,
            t.channel.c.entry,
        )
        .select_from(t.bill_review)
        .join(t.bill, t.bill.c.id == t.bill_review.c.bill_id)
        .join(t.industrial_user, t.industrial_user.c.id == t.bill.c.industrial_user_id)
        .join(t.channel, t.channel.c.id == t.bill_review.c.channel_id)
        .join(t.monitoring_point, t.monitoring_point.c.id == t.channel.c.monitoring_point_id)
    )


def _read(db: Connection, query: Select[Any]) -> tuple[Review, ...]:
    return tuple(_review(row) for row in db.execute(query).mappings())


def _review(row: Mapping[Any, Any]) -> Review:
    return Review(**{**row, "what": What(row["what"])})
