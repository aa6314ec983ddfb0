"""`pretreat seed`, for the demo: cities, people, a year of days and results, a quarter of readings.

Everything is made by the simulator's pure functions and stored by the paths of real data: the site
document, the backfill, the laboratory upload, the bill run.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from sqlalchemy import Connection, Engine

from app import labfiles
from app.commands.seed_history import day_volumes, fill
from app.demo import laboratory, plan
from app.release import RELEASE
from compliance import settings
from compliance.jobs import agreements, bill, composites
from compliance.jobs.evaluate import evaluate
from compliance.jobs.receive import receive
from compliance.jobs.slugs import screen_slugs
from compliance.model.periods import Period, add_months, day_of, quarter
from compliance.records import days, sites
from compliance.records.engine import opened
from compliance.sampling import results
from ingest import scenario as scenarios

command = typer.Typer(hidden=True, add_completion=False)

HISTORY = timedelta(days=92)


@command.callback(invoke_without_command=True)
def seed(
    started_at: Annotated[datetime, typer.Option(formats=["%Y-%m-%dT%H:%M:%S%z"])],
    scenario: Annotated[str, typer.Option()] = "demo",
) -> None:
    """Fill a migrated, empty database with the demo's history up to an instant."""
    started_at = started_at.astimezone(UTC)
    world = scenarios.load(scenarios.find(scenario))
    demo = plan.load()
    with opened(settings.load()) as engine:
        _days_and_water(engine, world, demo, started_at)
        _laboratory(engine, world, demo, started_at)
        fill(engine, world, since=started_at - HISTORY, until=started_at)
        while evaluate(engine, now=datetime.now(UTC), release=RELEASE).readings:
            pass
        screen_slugs(engine, now=datetime.now(UTC), release=RELEASE)
        agreements.watch_agreements(engine, now=datetime.now(UTC))
        composites.compose(engine, now=datetime.now(UTC), release=RELEASE)
        _bills(engine, demo, started_at)


def _days_and_water(
    engine: Engine, world: scenarios.Scenario, demo: plan.Plan, started_at: datetime
) -> None:
    """A year of daily flows, and the metered water of the last complete quarter."""
    today = day_of(started_at, world.zone)
    first = add_months(today, -12)
    billed = last_quarter(today)
    with engine.begin() as db:
        owners = {user.name: user for user in days.users(db)}
        for manhole in world.started(started_at):
            owner = owners[manhole.user]
            volumes = day_volumes(manhole, first=first, last=today - timedelta(days=1))
            days.put_days(
                db, owner.points[manhole.point], volumes, source="totalizer (simulated history)"
            )
            user = next(user for user in demo.users if user.name == owner.name)
            discharged = sum(
                (gallons for day, gallons in volumes.items() if billed.holds(day)), Decimal(0)
            )
            _water(db, owner.id, gallons=discharged * user.water, period=billed)


def _water(db: Connection, owner: int, *, gallons: Decimal, period: Period) -> None:
    used = gallons.quantize(Decimal(1000))
    opening = Decimal(12_400_000 + 1000 * owner)
    reads = {
        "from": {"on": period.start.isoformat(), "read": str(opening)},
        "to": {"on": period.end.isoformat(), "read": str(opening + used)},
    }
    days.put_water(db, owner, period=period, gallons=used, reads=reads)


def _laboratory(
    engine: Engine, world: scenarios.Scenario, demo: plan.Plan, started_at: datetime
) -> None:
    """A year of laboratory files, each received as an upload is."""
    today = day_of(started_at, world.zone)
    with engine.connect() as db:
        owners = {user.name: user.id for user in days.users(db)}
    for user in demo.users:
        point = next(m.point for m in world.manholes if m.user == user.name)
        first, last = add_months(today, -12), today - timedelta(days=8)
        for name, text in laboratory.files(user, point=point, first=first, last=last):
            content = text.encode()
            sheet = labfiles.sheet(content, filename=name)
            receive(
                engine,
                results.read(sheet, zone=world.zone),
                content,
                filename=name,
                industrial_user_id=owners[user.name],
                viewer=None,
                now=started_at,
                release=RELEASE,
            )


def _bills(engine: Engine, demo: plan.Plan, started_at: datetime) -> None:
    for city in demo.cities:
        with engine.connect() as db:
            zone = sites.city(db, city["slug"]).zone
        period = last_quarter(day_of(started_at, ZoneInfo(zone)))
        bill.run(engine, city=city["slug"], period=period, now=datetime.now(UTC))


def last_quarter(day: date) -> Period:
    """The last complete calendar quarter before a day."""
    return quarter(quarter(day).start - timedelta(days=1))
