"""Webhook deliveries, and whether everything is all right."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from app import apidocs, auth, messages
from app.concerns import concern
from app.deps import Db, Now, SignedIn, Visible
from app.pages.board import NO_SIGN_OF_LIFE, newest_tiles
from app.templating import page
from compliance.records import outbox, places, timescale

router = APIRouter()

WATCHED = timedelta(days=7)


@router.get("/webhooks")
def webhooks(
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    db: Db,
    state: Literal["", "waiting", "delivered", "dead"] = "",
) -> Response:
    """Receivers and deliveries, each attempt with what was sent and what came back."""
    auth.require(viewer, "operate")
    ends = outbox.endpoints(db, city_id=viewer.city_id)
    found = outbox.deliveries(db, city_id=viewer.city_id, state=state or None)
    context = {
        "zone": places.zone(db, scope),
        "endpoints": [(one, messages.receiver(viewer, one)) for one in ends],
        "deliveries": [messages.seen(viewer, one) for one in found],
        "counts": outbox.counts(db, city_id=viewer.city_id),
        "state": state,
    }
    return page(request, "webhooks.html", context)


@router.get("/health")
def all_right(request: Request, viewer: SignedIn, scope: Visible, db: Db, at: Now) -> Response:
    """Is everything all right? Processes, newest reading, faults, quarantine, database.

    A city's people are shown what concerns their city.
    """
    auth.require(viewer, "operate")
    found = concern(db, viewer, scope, since=at - WATCHED)
    tiles = newest_tiles(db, scope, at)
    newest = max((one.at for one in tiles.values() if one.at), default=None)
    counts = outbox.counts(db, city_id=viewer.city_id)
    late = [one for one in found.beats if at - one.at > NO_SIGN_OF_LIFE]
    context: dict[str, Any] = {
        "zone": places.zone(db, scope),
        "now": at,
        "beats": [(one, one in late) for one in found.beats],
        "newest": newest,
        "silent": sum(one.silent for one in tiles.values()),
        "channels": len(tiles),
        "held": sum(one.held is not None for one in tiles.values()),
        "faults": found.faults,
        "others": found.others,
        "quarantined": found.quarantined,
        "counts": counts,
        "edition": timescale.edition(db),
        "well": bool(found.beats)
        and not (late or found.faults or found.quarantined or counts.get("dead")),
    }
    return page(request, "health.html", context)


@router.get("/api/docs")
def docs(request: Request) -> Response:
    """The API's routes, readable."""
    described = request.app.openapi()
    fields = {
        (path, method): apidocs.fields(described, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    }
    return page(request, "api.html", {"paths": described["paths"], "fields": fields})


@router.get("/api/openapi.json")
def openapi(request: Request) -> Response:
    """The API's description for machines."""
    return JSONResponse(request.app.openapi())
