"""Users' shares of the plant's design, service agreements, and what is left out as sanitary."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection, Engine

from app import auth, papers
from app.deps import Db, Now, Pool, SignedIn, Visible
from app.inputs import Id, Storable
from app.pages.declarations import signed
from app.sheets import Sheet
from app.standing import Standing, standings
from app.templating import page
from compliance.errors import InputError, Refused
from compliance.jobs import capacity as acts
from compliance.jobs.capacity import Proposal
from compliance.model.agreements import ServiceAgreement
from compliance.model.periods import day_of
from compliance.model.sites import Viewer
from compliance.records import agreements, places
from compliance.records.scope import Scope

router = APIRouter()

Text = Annotated[Storable, Form(max_length=2000)]
ALL = Decimal(100)


@router.get("/shares")
def listed(request: Request, viewer: SignedIn, scope: Visible, db: Db, at: Now) -> Response:
    """Every user's shares with their working, months before, documents and agreements."""
    return _page(request, db, viewer, scope, at=at, sheet=Sheet())


@router.post("/shares/agreements")
def propose(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    user: Text = "",
    since: Text = "",
    until: Text = "",
    capital: Text = "",
    conditions: Text = "",
    document: Text = "",
    file: Annotated[UploadFile | None, File()] = None,
) -> Response:
    """Put a proposed service agreement on record; the form again where something is missing."""
    auth.require(viewer, "record capacity")
    typed = {
        "user": user,
        "since": since,
        "until": until,
        "capital": capital,
        "conditions": conditions,
        "document": document,
    }
    sheet = Sheet(typed=typed)
    with engine.connect() as db:
        by, users = signed(db, viewer), _users(db, scope)
    paper = None
    try:
        paper = papers.sent(file)
    except InputError as error:
        sheet.problems["file"] = str(error)
    begins, ends = sheet.day("since"), sheet.day("until", needed=False)
    if begins and ends and ends <= begins:
        sheet.problems["until"] = "It ends before it begins; write a later day, or none."
    chosen = sheet.choice("user", users)
    percent = sheet.number("capital", most=ALL)
    said = sheet.reason("conditions", "what the user agrees to")
    name = paper.name if paper else sheet.words("document", "how the paper is called")
    if sheet.problems or begins is None:
        return _again(request, engine, viewer, scope, at=at, sheet=sheet)
    proposal = Proposal(
        user_id=int(chosen),
        since=begins,
        until=ends,
        capital_percent=percent,
        conditions=said,
        document=name,
        file=paper.content if paper else None,
    )
    acts.propose(engine, proposal, by=by)
    return _done()


@router.post("/shares/agreements/{agreement_id}/sign")
def sign(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    agreement_id: Id,
    signed_on: Text = "",
) -> Response:
    """Write down that an agreement was signed."""
    found, by, city_id, zone = _one(engine, viewer, scope, agreement_id)
    field = f"sign-{agreement_id}"
    sheet = Sheet(typed={field: signed_on})
    on = sheet.day(field)
    if on is not None and on > day_of(at, ZoneInfo(zone)):
        sheet.problems[field] = "That day is not yet; write it down when it is signed."
    if sheet.problems or on is None:
        return _again(request, engine, viewer, scope, at=at, sheet=sheet)
    try:
        acts.sign(engine, found, city_id=city_id, on=on, by=by)
    except Refused as error:
        sheet.problems[field] = str(error)
        return _again(request, engine, viewer, scope, at=at, sheet=sheet)
    return _done()


@router.post("/shares/agreements/{agreement_id}/release")
def release(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    agreement_id: Id,
    released_on: Text = "",
    why: Text = "",
) -> Response:
    """Write down that a user is released; the agreement stays on record."""
    found, by, _, _ = _one(engine, viewer, scope, agreement_id)
    field, reason = f"release-{agreement_id}", f"why-{agreement_id}"
    sheet = Sheet(typed={field: released_on, reason: why})
    on, said = sheet.day(field), sheet.reason(reason, "why the user is released")
    if sheet.problems or on is None:
        return _again(request, engine, viewer, scope, at=at, sheet=sheet)
    try:
        acts.release(engine, found, on=on, by=by, why=said)
    except Refused as error:
        sheet.problems[field] = str(error)
        return _again(request, engine, viewer, scope, at=at, sheet=sheet)
    return _done()


@router.get("/shares/agreements/{agreement_id}/paper")
def paper(scope: Visible, db: Db, agreement_id: Id) -> Response:
    """The file of an agreement, to be saved."""
    name, content = agreements.paper(db, scope, agreement_id)
    told = f"attachment; filename*=UTF-8''{quote(name)}"
    return Response(
        content, media_type="application/octet-stream", headers={"content-disposition": told}
    )


@router.post("/shares/deductions")
def deduct(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    deduct_user: Text = "",
    deduct_since: Text = "",
    gpd: Text = "",
    basis: Text = "",
) -> Response:
    """Leave sanitary flow out of a user's flow from a day on."""
    auth.require(viewer, "record capacity")
    typed = {"deduct_user": deduct_user, "deduct_since": deduct_since, "gpd": gpd, "basis": basis}
    sheet = Sheet(typed=typed)
    with engine.connect() as db:
        by, users = signed(db, viewer), _users(db, scope)
    chosen, begins = sheet.choice("deduct_user", users), sheet.day("deduct_since")
    gallons = sheet.number("gpd")
    said = sheet.reason("basis", "how the sanitary flow was found")
    if sheet.problems or begins is None:
        return _again(request, engine, viewer, scope, at=at, sheet=sheet)
    acts.deduct(engine, int(chosen), since=begins, gpd=gallons, basis=said, by=by)
    return _done()


def _one(
    engine: Engine, viewer: Viewer, scope: Scope, agreement_id: int
) -> tuple[ServiceAgreement, str, int, str]:
    """An agreement to act on, who acts, and its city. Raises: NotFound, Refused."""
    with engine.connect() as db:
        found = agreements.one(db, scope, agreement_id)
        auth.require(viewer, "record capacity")
        city_id = agreements.city_of(db, found.user_id)
        return found, signed(db, viewer), city_id, places.zone(db, scope)


def _users(db: Connection, scope: Scope) -> dict[str, str]:
    return {str(one.id): one.name for one in places.users(db, scope)}


def _done() -> Response:
    return RedirectResponse("/shares", HTTPStatus.SEE_OTHER)


def _again(
    request: Request, engine: Engine, viewer: Viewer, scope: Scope, *, at: datetime, sheet: Sheet
) -> Response:
    with engine.connect() as db:
        return _page(request, db, viewer, scope, at=at, sheet=sheet)


def _page(
    request: Request, db: Connection, viewer: Viewer, scope: Scope, *, at: datetime, sheet: Sheet
) -> Response:
    zone = places.zone(db, scope)
    found = standings(db, scope, now=at)
    on = day_of(at, ZoneInfo(zone))
    context: dict[str, Any] = {
        "zone": zone,
        "today": on,
        "standings": [(one, json.dumps(chart(one))) for one in found],
        "agreements": [
            (one, one.state(on).value, one.ends_soon(on))
            for one in agreements.agreements(db, scope)
        ],
        "users": _users(db, scope),
        "typed": sheet.typed,
        "problems": sheet.problems,
        "accept": papers.ACCEPT,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if sheet.problems else HTTPStatus.OK
    return page(request, "shares.html", context, status=status)


def chart(one: Standing) -> dict[str, Any]:
    """The rolling shares as the plot reads them: days, a line for each test, the two marks."""
    history: Sequence[Any] = one.outlook.history if one.outlook else ()
    return {
        "days": [found.as_of.isoformat() for found in history],
        "lines": {
            share.parameter.value: [
                None if (value := found.shares[place].percent) is None else round(float(value), 4)
                for found in history
            ]
            for place, share in enumerate(one.worked.found.shares if one.worked else ())
        },
        "marks": [float(one.trigger.approaching), float(one.trigger.at_least)],
    }
