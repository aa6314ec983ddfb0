"""What of a point deserves a second look: for its coordinator and director alone."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app import auth
from app.deps import Db, Now, SignedIn, Visible
from app.templating import page
from app.tiles import ordered
from compliance.errors import NotFound
from compliance.jobs.second_look import second_look
from compliance.records import places

router = APIRouter()


@router.get("/points/{code}/second-look")
def looked(
    request: Request, viewer: SignedIn, scope: Visible, db: Db, at: Now, code: str
) -> Response:
    """Run the detectors now; nothing of what they see is kept."""
    signals = ordered(places.at_point(db, scope, code))
    if not signals:
        raise NotFound(f"There is no instrument at {code[:40]} here.")
    auth.require(viewer, "take a second look")
    found = second_look(db, signals, now=at)
    context = {"found": found, "signal": signals[0], "zone": signals[0].zone}
    return page(request, "second_look.html", context)
