"""Webhook deliveries."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from app import auth
from app.deps import Db, SignedIn
from compliance.records import outbox

router = APIRouter(tags=["webhooks"])


@router.get("/webhooks/deliveries")
def deliveries(viewer: SignedIn, db: Db, state: str = "") -> dict[str, Any]:
    """The newest deliveries, each with its attempts."""
    auth.require(viewer, "operate")
    found = outbox.deliveries(db, city_id=viewer.city_id, state=state or None)
    return {
        "deliveries": [
            {
                "delivery": one.id,
                "message": one.message_id,
                "type": one.type,
                "at": one.at.isoformat(),
                "url": one.url,
                "state": one.state,
                "next_at": one.next_at.isoformat() if one.state == "waiting" else None,
                "attempts": [
                    {
                        "at": tried.at.isoformat(),
                        "status": tried.status,
                        "milliseconds": tried.milliseconds,
                    }
                    for tried in one.attempts
                ],
            }
            for one in found
        ]
    }
