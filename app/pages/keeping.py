"""How long readings are kept: the city's schedule, holds on them, and what was destroyed."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection

from app import auth
from app.deps import Db, Now, Pool, SignedIn, Visible
from app.holding import Choice, HoldForm, choices
from app.inputs import Id, Storable
from app.pages.declarations import signed
from app.templating import page
from compliance.enforcing.decisions import SHORTEST_REASON
from compliance.errors import Refused
from compliance.jobs import holds as holding
from compliance.model.sites import Viewer
from compliance.records import destructions, holds, places, schedules, sites
from compliance.records.scope import Scope

router = APIRouter()

Text = Annotated[Storable, Form(max_length=2000)]
SHOWN = 50
"""So many records of destruction are listed."""
DAY = timedelta(days=1)


@router.get("/holds")
def kept(request: Request, viewer: SignedIn, scope: Visible, db: Db) -> Response:
    """The schedule, the holds, and what was destroyed; those who may hold find the form."""
    auth.require(viewer, "operate")
    return _page(request, db, viewer, scope, HoldForm())


@router.post("/holds")
def place(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    over: Text = "",
    since: Text = "",
    until: Text = "",
    reason: Text = "",
) -> Response:
    """Place a hold; the form again where something is missing."""
    auth.require(viewer, "hold")
    form = HoldForm(over=over, since=since, until=until, reason=reason)
    with engine.connect() as db:
        by = signed(db, viewer)
        wanted = form.wanted(_choices(db, viewer, scope), places.zone(db, scope))
        if wanted is None:
            return _page(request, db, viewer, scope, form)
    holding.place(
        engine,
        wanted.over,
        since=wanted.since,
        until=wanted.until,
        reason=wanted.reason,
        by=by,
        now=at,
    )
    return RedirectResponse("/holds", HTTPStatus.SEE_OTHER)


@router.post("/holds/{hold_id}/lift")
def lift(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    hold_id: Id,
    reason: Text = "",
) -> Response:
    """Lift a hold; it stays on record."""
    with engine.connect() as db:
        holds.one(db, scope, hold_id)
        auth.require(viewer, "hold")
        by = signed(db, viewer)
    form = HoldForm()
    if len(reason.strip()) < SHORTEST_REASON:
        said = f"Write at least {SHORTEST_REASON} characters: why nothing needs it any more."
        form.faults[f"lift-{hold_id}"] = said
    else:
        try:
            holding.lift(engine, hold_id, city_id=scope.city_id, by=by, why=reason.strip(), now=at)
        except Refused as error:
            form.faults[f"lift-{hold_id}"] = str(error)
    if form.faults:
        with engine.connect() as db:
            return _page(request, db, viewer, scope, form)
    return RedirectResponse("/holds", HTTPStatus.SEE_OTHER)


def _choices(db: Connection, viewer: Viewer, scope: Scope) -> tuple[Choice, ...]:
    if viewer.city_id is None:
        raise Refused("A hold belongs to a city; this account belongs to none.")
    return choices(viewer.city_id, places.signals(db, scope))


def _page(
    request: Request, db: Connection, viewer: Viewer, scope: Scope, form: HoldForm
) -> Response:
    own = [one for one in sites.cities(db) if scope.city_id in (None, one.id)]
    loaded = schedules.in_force(db)
    found = holds.of_city(db, scope.city_id)
    context: dict[str, Any] = {
        "zone": places.zone(db, scope),
        "schedules": [(city, loaded.get(city.id)) for city in own],
        "holds": [one for one in found if one.lifted_at is None],
        "lifted": [one for one in found if one.lifted_at is not None],
        "destroyed": destructions.newest(db, scope, most=SHOWN),
        "choices": _choices(db, viewer, scope) if auth.may(viewer, "hold") else (),
        "form": form,
        "one_day": DAY,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.faults else HTTPStatus.OK
    return page(request, "keeping.html", context, status=status)
