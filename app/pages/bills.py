"""Bills, each line with its working."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app import auth
from app.deps import Db, SignedIn, Visible
from app.templating import page
from compliance.records import board, places

router = APIRouter()


@router.get("/bills")
def bills(request: Request, viewer: SignedIn, scope: Visible, db: Db) -> Response:
    """Every bill a viewer may see, the newest period first."""
    auth.require(viewer, "read bills")
    return page(request, "bills.html", {"bills": board.bills(db, scope)})


@router.get("/bills/{number}")
def bill(request: Request, viewer: SignedIn, scope: Visible, db: Db, number: str) -> Response:
    """One bill; every line opens into its sum."""
    found = board.bill(db, scope, number)
    auth.require(viewer, "read bills")
    context = {"bill": found, "zone": places.zone(db, scope)}
    return page(request, "bill.html", context)
