"""Shares of the plant's design, service agreements, and the capacity ledger."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from fastapi import APIRouter

from app import auth, standing
from app.deps import Db, Now, SignedIn, Visible
from app.ledger import Asked, Page
from compliance.jobs.capacity import as_json
from compliance.model.periods import day_of
from compliance.records import agreements, places, sites

router = APIRouter(tags=["capacity"])


@router.get("/shares")
def shares(scope: Visible, db: Db, at: Now) -> dict[str, Any]:
    """Each user's shares of the plant's average-day design, with working and agreements.

    ``required`` says that the figures reach 10 %; the Director determines.
    """
    on = day_of(at, ZoneInfo(places.zone(db, scope)))
    return {
        "users": [standing.as_json(one) for one in standing.standings(db, scope, now=at)],
        "agreements": [
            {
                "agreement": one.id,
                "user": one.user_id,
                "from": one.since.isoformat(),
                "to": one.until.isoformat() if one.until else None,
                "capital_percent": f"{one.capital_percent:f}",
                "conditions": one.conditions,
                "document": one.document,
                "sha256": one.sha256,
                "state": one.state(on).value,
                "ends_soon": one.ends_soon(on),
            }
            for one in agreements.agreements(db, scope)
        ],
    }


@router.get("/capacity")
def capacity(viewer: SignedIn, scope: Visible, db: Db, at: Now) -> dict[str, Any]:
    """The ledger of each city: design, used, reserved, left, and what is not known."""
    auth.require(viewer, "operate")
    own = [one for one in sites.cities(db) if scope.city_id in (None, one.id)]
    return {
        "cities": [
            {
                "city": city.slug,
                "ledger": [
                    as_json(line)
                    for lines in Page.of(db, city, Asked(), now=at).lines.values()
                    for line in lines
                ],
            }
            for city in own
        ]
    }
