"""Holds on readings."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from app import auth
from app.deps import Db, SignedIn, Visible
from compliance.model.keeping import Hold
from compliance.records import holds

router = APIRouter(tags=["holds"])


@router.get("/holds")
def listed(viewer: SignedIn, scope: Visible, db: Db) -> dict[str, Any]:
    """Every hold, those in force first; ``from`` and ``to`` are null where it has no bound.

    While a hold is in force nothing that it covers is destroyed, whatever the records schedule.
    """
    auth.require(viewer, "operate")
    return {"holds": [_hold(one) for one in holds.of_city(db, scope.city_id)]}


def _hold(one: Hold) -> dict[str, Any]:
    return {
        "hold": one.id,
        "over": one.over,
        "from": one.since.isoformat() if one.since else None,
        "to": one.until.isoformat() if one.until else None,
        "reason": one.reason,
        "placed_by": one.placed_by,
        "placed_at": one.placed_at.isoformat(),
        "lifted_by": one.lifted_by,
        "lifted_at": one.lifted_at.isoformat() if one.lifted_at else None,
        "lifted_why": one.lifted_why,
    }
