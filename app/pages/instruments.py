"""Instruments: how each is, the windows declared over it and its calibrations."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from app import auth
from app.checkup import checkup
from app.deps import Db, Now, SignedIn, Visible
from app.inputs import Id
from app.instruments import lines
from app.maps import laid_out
from app.templating import page
from compliance.records import instruments, places

router = APIRouter()


@router.get("/instruments")
def listed(request: Request, viewer: SignedIn, scope: Visible, db: Db, at: Now) -> Response:
    """Every instrument in a line; for the city's people what its register map rests on, too."""
    inside = auth.may(viewer, "operate")
    context = {
        "zone": places.zone(db, scope),
        "now": at,
        "inside": inside,
        "lines": lines(db, scope, at=at, inside=inside),
    }
    return page(request, "instruments.html", {**context, **(_maps(db) if inside else {})})


def _maps(db: Connection) -> dict[str, object]:
    published = places.register_maps(db)
    return {
        "maps": {name: laid_out(content) for name, (_, content) in published.items()},
        "hashes": {name: sha256 for name, (sha256, _) in published.items()},
    }


@router.get("/instruments/{instrument_id}")
def instrument(  # noqa: PLR0913 - what a request brings
    request: Request, viewer: SignedIn, scope: Visible, db: Db, at: Now, instrument_id: Id
) -> Response:
    """One instrument: each channel, its gaps, its clock, its windows, its calibrations."""
    device = instruments.one(db, scope, instrument_id)
    inside = auth.may(viewer, "operate")
    found = checkup(db, scope, device, at=at, inside=inside)
    context = {"zone": device.zone, "now": at, "inside": inside, "check": found, "device": device}
    return page(request, "instrument.html", context)
