"""Where each user stands against the plant's design: what pages and the API show of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from compliance.errors import InsufficientData
from compliance.jobs import shares
from compliance.jobs.shares import Outlook, Worked
from compliance.judging.agreements import Share, Shares, Trigger
from compliance.model.periods import day_of
from compliance.records import days, sites
from compliance.records.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One user's shares. worked: None where they cannot be worked, and why says the reason."""

    user_id: int
    user: str
    city: str
    trigger: Trigger
    worked: Worked | None
    outlook: Outlook | None
    why: str = ""


def standings(db: Connection, scope: Scope, *, now: datetime) -> tuple[Standing, ...]:
    """Each user of a scope whose city's law has the test, worked from the records as they are."""
    found: list[Standing] = []
    for city in sites.cities(db):
        of = shares.known(city, day_of(now, ZoneInfo(city.zone)))
        if of is None:
            continue
        plant = shares.plant(db, city.id)
        for user in days.users(db):
            if user.city_id == city.id and _sees(scope, user):
                found.append(_standing(db, user, city, of=of, plant=plant, now=now))
    return tuple(found)


def _sees(scope: Scope, user: days.User) -> bool:
    return scope.industrial_user_id in (None, user.id) and scope.city_id in (None, user.city_id)


def _standing(
    db: Connection,
    user: days.User,
    city: sites.City,
    *,
    of: shares.Test,
    plant: shares.Plant,
    now: datetime,
) -> Standing:
    worked, outlook, why = None, None, ""
    try:
        worked = shares.worked(db, user, city, of=of, plant=plant, now=now)
        why = "" if worked else "no design flow of the plant is on record"
        outlook = shares.outlook(db, user, city, of=of, plant=plant, now=now) if worked else None
    except (InsufficientData, ArithmeticError, ValueError) as error:
        worked, why = None, str(error) or "its figures cannot be worked"
    return Standing(
        user_id=user.id,
        user=user.name,
        city=city.name,
        trigger=of.trigger,
        worked=worked,
        outlook=outlook,
        why=why,
    )


def as_json(one: Standing) -> dict[str, Any]:
    """A standing as the API writes it; shares as text, null where not known."""
    head: dict[str, Any] = {"user": one.user_id, "name": one.user, "why": one.why or None}
    if one.worked is None:
        return {**head, "required": False, "projected": False, "shares": None}
    found = one.worked.found
    return {
        **head,
        "required": found.required,
        "projected": found.projected,
        "by": [of.value for of in found.by],
        "from": found.since.isoformat(),
        "to": found.as_of.isoformat(),
        "days": found.days,
        "shares": {of.parameter.value: _share(one, of) for of in found.shares},
        "early_warning": _early(one.outlook),
    }


def _share(one: Standing, share: Share) -> dict[str, Any]:
    documents = one.worked.documents[share.parameter] if one.worked else ()
    ahead = one.outlook.forecasts[share.parameter] if one.outlook else None
    return {
        "percent": share.text,
        "state": share.reach.value,
        "samples": share.samples,
        "weekdays": list(share.weekdays),
        "working": list(share.working),
        "by_document": [
            {
                "document": by.figure.document,
                "paper": by.figure.paper.value,
                "design": f"{by.figure.value:f}",
                "percent": by.text,
            }
            for by in documents
        ],
        "forecast": None if ahead is None else _forecast(ahead.on, ahead.says),
    }


def _forecast(on: Any, says: str) -> dict[str, Any]:
    return {"on": on.isoformat() if on else None, "says": says}


def _early(outlook: Outlook | None) -> list[dict[str, Any]]:
    pairs: dict[int, Shares] = dict(outlook.early) if outlook else {}
    return [
        {
            "days": length,
            "with_record": found.days,
            "shares": {one.parameter.value: one.text for one in found.shares},
        }
        for length, found in pairs.items()
    ]
