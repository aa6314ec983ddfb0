"""Bills over a manhole's days, and the total of its meter."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

from sqlalchemy import Engine, insert, select

from compliance.jobs.rollup import roll_up
from compliance.model.billing import Bill
from compliance.model.periods import Period
from compliance.model.reviews import DayFigure, Review, What
from compliance.model.units import Unit
from compliance.records import bills, reviews
from compliance.records import tables as t
from compliance.records.scope import Scope
from tests.support.manhole import Manhole

EVERYBODY = Scope(city_id=None, industrial_user_id=None)
ISSUED = datetime(2026, 10, 2, 15, tzinfo=UTC)


def billed(mh: Manhole, period: Period, *, number: str = "B-1", state: str = "issued") -> str:
    """A bill of a period, issued long ago; its number."""
    made = Bill(
        period=period,
        tariff="prescott-placeholder",
        tariff_sha256="f" * 64,
        lines=(),
        notes=(),
        due_on=date(2026, 11, 15),
    )
    with mh.engine.begin() as db:
        user = db.scalar(select(t.industrial_user.c.id)) or 0
        bills.put(db, made, industrial_user_id=user, number=number, state=state, now=ISSUED)
    return number


def with_total(mh: Manhole) -> int:
    """A totalizer beside the manhole's flow, in gallons; its channel."""
    with mh.engine.begin() as db:
        beside = db.execute(select(t.channel).where(t.channel.c.id == mh.flow)).mappings().one()
        row = {
            "monitoring_point_id": beside["monitoring_point_id"],
            "instrument_id": beside["instrument_id"],
            "entry": "totalizer_1",
            "parameter": "volume",
            "unit": "gal",
            "resolution": "1",
        }
        made = db.scalar(insert(t.channel).values(**row).returning(t.channel.c.id)) or 0
        since = datetime(2026, 1, 1, tzinfo=UTC)
        db.execute(
            insert(t.channel_cadence).values(channel_id=made, since=since, interval_ms=60_000)
        )
        db.execute(insert(t.counting).values(channel_id=made, since=since, by="Ana", how="seen"))
    return int(made)


def summed(mh: Manhole) -> None:
    """All that came is judged and summed."""
    mh.judge()
    while roll_up(mh.engine):
        pass


def of(mh: Manhole, number: str = "B-1") -> tuple[Review, ...]:
    """The reviews of a bill."""
    with mh.engine.connect() as db:
        return reviews.of_bill(db, EVERYBODY, number)


def reviewed(engine: Engine, number: str, channel: int, day: date) -> Review:
    """A review of a bill's day: nothing was measured, then 144,000 gal."""
    was, now = (
        DayFigure(what=What.VOLUME, unit=Unit.GAL, value=value, working=working)
        for value, working in (
            (None, "nothing was measured"),
            (Decimal(144_000), "flow rate times time: 144,000 gal, from 100 % of the day"),
        )
    )
    with engine.begin() as db:
        row = db.execute(select(t.bill).where(t.bill.c.number == number)).mappings().one()
        period = Period(start=row["period"].lower, end=row["period"].upper)
        one = reviews.Billed(bill_id=row["id"], channel_id=channel, period=period)
        reviews.put(db, one, day, was=was, now=now)
        return next(
            each
            for each in reviews.of_bill(db, EVERYBODY, number)
            if each.day == day and each.is_open
        )
