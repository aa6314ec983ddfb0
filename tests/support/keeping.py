"""A manhole whose readings of 2020 are old enough, and a schedule that lets them go."""

from __future__ import annotations

import random
from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Engine, select

from compliance.jobs import prune
from compliance.jobs.cross import check_totals
from compliance.jobs.rollup import roll_up
from compliance.jobs.screen import screen_readings
from compliance.jobs.slugs import screen_slugs
from compliance.model.keeping import Line, Schedule, month_of
from compliance.model.periods import Window
from compliance.records import destructions, holds, schedules, sites
from compliance.records import tables as t
from tests.support.manhole import Manhole, manhole

START = datetime(2020, 2, 1, 6, tzinfo=UTC)
"""Midnight in Prescott."""
STEP = timedelta(hours=1)
NOW = datetime(2029, 1, 1, 12, tzinfo=UTC)
SEVEN = Line(name="WW-1", years=7, citation="Wis. Stat. § 19.21")
DAY = 24
"""Readings of a day."""
MARCH = 31 * DAY - 1
"""Of the month in which clocks go forward."""
MAY_2027 = datetime(2027, 5, 2, tzinfo=UTC)
"""When February, March and April of 2020 are seven years old, and May is not."""
KEPT = ("rollup_day", "rollup_quarter", "exceedance", "exceedance_history", "flagged_span",
        "fold_hour", "fold_state", "detection")  # fmt: skip
MONTHS = [f"2020-0{month}" for month in (2, 3, 4, 5)]


def window(name: str) -> Window:
    """A civil month in Prescott, such as 2020-03."""
    return month_of(date.fromisoformat(f"{name}-01")).window(ZoneInfo("America/Chicago"))


def old_manhole(engine: Engine, *, end: str = "2020-05", left_out: Collection[int] = ()) -> Manhole:
    """Readings every hour from February on, now and then beyond; all of them judged.

    left_out: numbers of readings that do not come.
    """
    mh = manhole(engine)
    with engine.begin() as db:
        for channel in (mh.ph, mh.flow):
            sites.set_cadence(
                db, channel, since=datetime(2000, 1, 1, tzinfo=UTC), interval_ms=3_600_000
            )
    put(mh, [n for n in numbers(MONTHS[0], end) if n not in left_out], worker="first")
    settle(mh)
    return mh


def numbers(first: str, last: str) -> range:
    """The numbers of the readings in some months."""
    start, end = window(first).start - START, window(last).end - START
    return range(-(-start // STEP), -(-end // STEP))


def put(mh: Manhole, of: Collection[int], *, worker: str) -> None:
    """Readings by their number since the start; each number has always the same value."""
    for channel, value in ((mh.ph, ph), (mh.flow, flow)):
        minutes = {60 * n: value(n) for n in of}
        mh.put(minutes, channel=channel, worker=f"{worker}{channel}", start=START)


def ph(n: int) -> float:
    """About one reading in fifty lies under 6.0, three of them beside each other."""
    dice = random.Random(n // 3)
    return round((5.0 if dice.random() < 0.02 else 6.5) + random.Random(n).random(), 2)


def flow(n: int) -> float:
    """Calm, with a surge about once a week."""
    surge = random.Random(n).random() < 0.006
    return round((900 if surge else 100) + 20 * random.Random(n).random(), 1)


def settle(mh: Manhole) -> None:
    """Let every duty do what waits, a stretch at a time."""
    while mh.count("dirty"):
        mh.judge()
        roll_up(mh.engine)
        screen_readings(mh.engine)
        screen_slugs(mh.engine, now=START + timedelta(days=400), release="test")
        check_totals(mh.engine, now=NOW)


def decided(mh: Manhole) -> Manhole:
    """Everything that was detected is decided, long ago, so that only the schedule speaks."""
    at = datetime(2020, 4, 2, tzinfo=UTC)
    with mh.engine.begin() as db:
        db.execute(t.detection.update().values(state="explained", detected_at=at))
        db.execute(t.exceedance_history.update().values(at=at))
    return mh


def adopt(engine: Engine, *lines: Line) -> int:
    """Give the city a schedule."""
    made = Schedule(
        adopted_on=date(2026, 11, 3), adopted_by="Common Council", lines=lines or (SEVEN,)
    )
    with engine.begin() as db:
        city = sites.city(db, "prescott").id
        return schedules.put(db, city, made, file="s.yaml", sha256="0" * 64, by="test")


def destroyed(engine: Engine, channel: int, span: Window) -> int:
    """Destroy the readings of a channel in a span as if it were a month; how many there were."""
    number = adopt(engine)
    with engine.begin() as db:
        count = destructions.remove(db, channel, since=span.start, until=span.end)
        destructions.add(
            db, channel, month=span, span=span, rows=count, sha256="0" * 64, schedule_id=number,
            line=SEVEN, by="test",
        )  # fmt: skip
    return count


def held(mh: Manhole, month: str) -> None:
    """Hold a month of the whole city."""
    with mh.engine.begin() as db:
        over = holds.Over(city_id=sites.city(db, "prescott").id)
        span = window(month)
        holds.place(
            db, over, since=span.start, until=span.end, reason="a lawsuit", by="Dan", at=NOW
        )


def pruned(mh: Manhole, *, now: datetime = NOW) -> dict[str, list[str]]:
    """Prune; the months that went, by channel's parameter."""
    return going(prune.prune(mh.engine, now=now, by="account ana"))


def planned(mh: Manhole, *, now: datetime = NOW) -> tuple[prune.CityPlan, ...]:
    with mh.engine.connect() as db:
        return prune.plan(db, now=now)


def going(plans: tuple[prune.CityPlan, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item in (item for one in plans for item in one.going):
        found.setdefault(item.place.parameter.value, []).append(f"{item.month.start:%Y-%m}")
    return found


def reasons(plans: tuple[prune.CityPlan, ...], parameter: str = "ph") -> dict[str, tuple[str, ...]]:
    """Why the months of a parameter stay."""
    return {
        f"{item.month.start:%Y-%m}": item.fate.why
        for one in plans
        for item in one.staying
        if item.place.parameter.value == parameter
    }


def rows(mh: Manhole, table: str, *without: str) -> list[dict[str, Any]]:
    """All of a table in order of its key, without some columns."""
    made = t.metadata.tables[table]
    with mh.engine.connect() as db:
        found = db.execute(select(made).order_by(*made.primary_key)).mappings()
        return [{k: v for k, v in row.items() if k not in without} for row in found]


def kept(mh: Manhole) -> dict[str, list[dict[str, Any]]]:
    """All that stays for ever, and what folds go on from."""
    return {name: rows(mh, name) for name in KEPT}


def stored(mh: Manhole, month: str) -> int:
    """How many readings of pH a month has."""
    with mh.engine.connect() as db:
        span = window(month)
        return destructions.count(db, mh.ph, since=span.start, until=span.end)
