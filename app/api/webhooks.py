"""Webhook deliveries."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter

from app import auth
from app.deps import Db, SignedIn
from app.messages import seen
from compliance.records import outbox

router = APIRouter(tags=["webhooks"])


@router.get("/webhooks/deliveries")
def deliveries(
    viewer: SignedIn, db: Db, state: Literal["", "waiting", "delivered", "dead"] = ""
) -> dict[str, Any]:
    """The newest deliveries of the city's events, each with its attempts."""
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
            for one in (seen(viewer, every) for every in found)
        ]
    }
