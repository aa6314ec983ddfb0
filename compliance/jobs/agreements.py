"""The 10 % test of every user from its year of days and results: once a day, or when asked."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import structlog
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

from compliance.errors import InsufficientData, NotInForce
from compliance.jobs import shares as working
from compliance.judging.agreements import Reach, Share
from compliance.model.periods import day_of
from compliance.records import agreements, days, health, outbox, sites, triggers
from compliance.rules.schema import ShareRule

log = structlog.get_logger(__name__)

PROCESS = "work"
LONGEST_FAULT = 500
EVENT = {
    Reach.APPROACHING: "trigger.approaching",
    Reach.UNSETTLED: "trigger.approaching",
    Reach.REACHED: "trigger.reached",
}
ENDING = "agreement.expiring"


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
    changed = _tell_of_ends(db, user, city, now=now)
    on = day_of(now, ZoneInfo(city.zone))
    try:
        of = working.test(city, on)
        if of is None:
            return changed
        plant = working.plant(db, city.id)
        worked = working.worked(db, user, city, of=of, plant=plant, now=now)
    except (InsufficientData, NotInForce):
        return changed
    if worked is None:
        return changed
    return changed + sum(
        _note(db, user, city, of.rules[share.parameter], share, as_of=worked.found.as_of)
        for share in worked.found.shares
        if share.parameter in of.rules and share.text is not None
    )


def _tell_of_ends(db: Connection, user: days.User, city: sites.City, *, now: datetime) -> int:
    """Tell once of each agreement that ends within the time of warning."""
    on = day_of(now, ZoneInfo(city.zone))
    ending = [one for one in agreements.of_user(db, user.id) if one.ends_soon(on)]
    told = [one for one in ending if agreements.told(db, one.id, on=on)]
    for one in told:
        data = {"agreement": one.id, "user": user.id, "ends_on": one.until}
        outbox.put(db, ENDING, data, city_id=city.id)
    return len(told)


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
