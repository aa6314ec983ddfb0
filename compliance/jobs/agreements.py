"""The 10 % test of every user from its year of days and results: once a day, or when asked."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import structlog
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

from compliance.errors import InsufficientData, NotInForce
from compliance.judging.agreements import LOADS, Design, LoadDay, Reach, Share, Trigger, shares
from compliance.model.parameters import Parameter
from compliance.model.periods import Window, add_months, day_of, midnight
from compliance.model.samples import SampleType
from compliance.records import days, health, outbox, samples, sites, triggers
from compliance.rules import book
from compliance.rules.effective import in_force
from compliance.rules.schema import FactorRule, FactorVersion, ShareRule
from compliance.sampling.takings import civil_day

log = structlog.get_logger(__name__)

PROCESS = "work"
LONGEST_FAULT = 500
EVENT = {Reach.APPROACHING: "trigger.approaching", Reach.REACHED: "trigger.reached"}


def watch_agreements(engine: Engine, *, now: datetime) -> int:
    """Bring the shares of all users up to date; how many states changed. Safe to run again.

    A user whose figures cannot be worked keeps the shares it had, with the day they are of; the
    others go on, and the fault is noted.
    """
    changed = 0
    with engine.begin() as db:
        cities = {city.id: city for city in sites.cities(db)}
        for user in days.users(db):
            try:
                with db.begin_nested():
                    changed += _watch(db, user, cities[user.city_id], now=now)
            except OperationalError:
                raise  # the database is away: there is nowhere to go on
            except Exception as error:
                _note_fault(db, user, error, now=now)
    return changed


def _note_fault(db: Connection, user: days.User, error: Exception, *, now: datetime) -> None:
    """Write down what stopped a user's test, once a day: the test is made each minute."""
    about = f"the 10 % test of {user.name} (user {user.id}) was not made"
    known = health.faults(db, since=now - timedelta(days=1))
    if any(fault.what.startswith(about) for fault in known):
        return
    log.error("agreements", user=user.name, fault=str(error))
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    health.fault(db, PROCESS, f"{about}: {reason}"[:LONGEST_FAULT])


def _watch(db: Connection, user: days.User, city: sites.City, *, now: datetime) -> int:
    """One user's four tests, where its city has such a clause and a plant on record."""
    rules = {
        rule.parameter: rule for name in city.rulebooks for rule in book.book(name).of(ShareRule)
    }
    first = next(iter(rules.values()), None)
    plant = sites.plant(db, city.id)
    zone = ZoneInfo(city.zone)
    as_of = day_of(now, zone)
    if first is None or plant is None:
        return 0
    try:
        version = in_force(first.id, first.versions, as_of)
        found = shares(
            _load_days(db, user, city, as_of=as_of, months=version.months),
            _design(plant),
            pound_factor=_factor(city, as_of),
            trigger=Trigger(
                at_least=version.at_least,
                approaching=version.approaching,
                months=version.months,
            ),
        )
    except (InsufficientData, NotInForce):
        return 0
    return sum(
        _note(db, user, city, rules[share.parameter], share, as_of=found.as_of)
        for share in found.shares
        if share.parameter in rules and share.text is not None
    )


def _load_days(
    db: Connection, user: days.User, city: sites.City, *, as_of: date, months: int
) -> list[LoadDay]:
    """The days of a user up to yesterday, with the strengths of the composites taken on them."""
    since = add_months(as_of, -months)
    zone = ZoneInfo(city.zone)
    strengths: dict[date, dict[Parameter, Decimal]] = defaultdict(dict)
    window = Window(start=midnight(since, zone), end=midnight(as_of + timedelta(days=1), zone))
    found = samples.in_window(db, user.id, window)
    for one in found:
        if one.sample.sample_type is SampleType.COMPOSITE and one.result.parameter in LOADS:
            below = one.result.qualifier == "<"
            strengths[civil_day(one.sample, zone)][one.result.parameter] = (
                Decimal(0) if below else one.result.value
            )
    return [
        LoadDay(
            day=day.day,
            flow_gpd=day.flow_gal,
            sanitary_gpd=day.sanitary_gal or Decimal(0),
            strengths=strengths.get(day.day, {}),
        )
        for day in days.days(db, user.id, since=since, until=as_of)
    ]


def _design(plant: sites.Plant) -> Design:
    figures = plant.average_design
    return Design(
        flow_mgd=figures["flow_mgd"],
        loads_lb_day={
            parameter: figures[f"{parameter.value}_lb_day"]
            for parameter in LOADS
            if f"{parameter.value}_lb_day" in figures
        },
        source=plant.source,
    )


def _factor(city: sites.City, day: date) -> Decimal:
    """The pound factor of the rulebooks that bind in a city.

    Raises: InsufficientData when none has one: a number of law is never ours.
    """
    for name in city.rulebooks:
        for rule in book.book(name).of(FactorRule):
            version = book.book(name).in_force(rule.id, day)
            if isinstance(version, FactorVersion):
                return version.factor
    raise InsufficientData(f"no rulebook that binds in {city.name} has a pound factor")


def _note(
    db: Connection,
    user: days.User,
    city: sites.City,
    rule: ShareRule,
    share: Share,
    *,
    as_of: date,
) -> int:
    """Keep a share; tell of it once, when its state is another than before. 1 when it is."""
    was = triggers.newest(db, user.id, rule.id)
    triggers.put(
        db,
        user.id,
        rule_id=rule.id,
        as_of=as_of,
        state=share.reach.value,
        share=share.text or "",
        working=share.working,
    )
    if was == share.reach.value:
        return 0
    if share.reach in EVENT:
        data = {"rule": rule.id, "user": user.id, "share_percent": share.text, "as_of": as_of}
        outbox.put(db, EVENT[share.reach], data, city_id=city.id)
    return 1
