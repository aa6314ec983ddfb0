"""The capacity ledger: facilities, figures with their documents, a request, the Director's word."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection, Engine

from app import auth
from app.deps import Db, Now, Pool, SignedIn, Visible
from app.inputs import Id, Storable
from app.ledger import Asked, Page, request_of, unsettled
from app.pages.declarations import signed
from app.sheets import Sheet
from app.templating import page
from compliance.enforcing.decisions import SHORTEST_REASON
from compliance.errors import NotFound, Refused
from compliance.jobs import capacity as acts
from compliance.jobs.shares import factor
from compliance.judging.capacity import ledger
from compliance.model.capacity import (
    FINDINGS,
    TESTED,
    Determined,
    FacilityKind,
    Figure,
    Note,
    Paper,
    What,
)
from compliance.model.parameters import Parameter
from compliance.model.periods import day_of
from compliance.model.sites import Viewer
from compliance.records import capacity, places, sites
from compliance.records.scope import Scope

router = APIRouter()

Text = Annotated[Storable, Form(max_length=2000)]
Word = Annotated[Storable, Query(max_length=200)]
ENTERED = tuple(one.value for one in Paper if one is not Paper.SITE)


def asked_in_address(  # noqa: PLR0913 - what somebody asks for
    applicant: Word = "",
    flow_gpd: Word = "",
    bod5_mg_l: Word = "",
    tss_mg_l: Word = "",
    tp_mg_l: Word = "",
    through: Annotated[list[Word] | None, Query()] = None,
) -> Asked:
    """A request as an address holds it."""
    given = {
        "applicant": applicant,
        "flow_gpd": flow_gpd,
        "bod5_mg_l": bod5_mg_l,
        "tss_mg_l": tss_mg_l,
        "tp_mg_l": tp_mg_l,
    }
    return Asked(typed=given, through=tuple(through or ()))


def asked_in_form(  # noqa: PLR0913 - what somebody asks for
    applicant: Text = "",
    flow_gpd: Text = "",
    bod5_mg_l: Text = "",
    tss_mg_l: Text = "",
    tp_mg_l: Text = "",
    through: Annotated[list[Storable] | None, Form()] = None,
) -> Asked:
    """A request as a form holds it."""
    given = {
        "applicant": applicant,
        "flow_gpd": flow_gpd,
        "bod5_mg_l": bod5_mg_l,
        "tss_mg_l": tss_mg_l,
        "tp_mg_l": tp_mg_l,
    }
    return Asked(typed=given, through=tuple(through or ()))


@router.get("/capacity")
def shown(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    db: Db,
    at: Now,
    asked: Annotated[Asked, Depends(asked_in_address)],
) -> Response:
    """The ledger of a city, with and without a request."""
    auth.require(viewer, "operate")
    return _page(request, db, viewer, scope, at=at, asked=asked, sheet=Sheet())


@router.post("/capacity/facilities")
def add_facility(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    kind: Text = "",
    name: Text = "",
) -> Response:
    """Put a sewer or lift station on record."""
    city_id, by = _actor(engine, viewer, "record capacity")
    sheet = Sheet(typed={"kind": kind, "name": name})
    chosen = sheet.choice("kind", (FacilityKind.SEWER.value, FacilityKind.LIFT_STATION.value))
    called = sheet.words("name", "how the city calls it")
    if not sheet.problems:
        try:
            acts.add_facility(engine, city_id, kind=FacilityKind(chosen), name=called[:200], by=by)
            return _done()
        except Refused as error:
            sheet.problems["name"] = str(error)
    return _again(request, engine, viewer, scope, at=at, sheet=sheet)


@router.post("/capacity/figures")
def add_figure(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    facility: Text = "",
    what: Text = "",
    parameter: Text = "",
    value: Text = "",
    document: Text = "",
    paper: Text = "",
    dated: Text = "",
    reserved_for: Text = "",
) -> Response:
    """Put a figure of a document on record."""
    city_id, by = _actor(engine, viewer, "record capacity")
    sheet = Sheet(
        typed={
            "facility": facility,
            "what": what,
            "parameter": parameter,
            "value": value,
            "document": document,
            "paper": paper,
            "dated": dated,
            "reserved_for": reserved_for,
        }
    )
    with engine.connect() as db:
        known = [str(one.id) for one in capacity.facilities(db, city_id)]
    figure = _figure(sheet, known, by=by, today=at)
    if figure is None:
        return _again(request, engine, viewer, scope, at=at, sheet=sheet)
    acts.add_figure(engine, city_id, figure)
    return _done()


def _figure(sheet: Sheet, facilities: list[str], *, by: str, today: datetime) -> Figure | None:
    where = sheet.choice("facility", facilities)
    what = sheet.choice("what", set(What))
    parameter = sheet.choice("parameter", [one.value for one in TESTED])
    value = sheet.number("value")
    document = sheet.words("document", "the paper's name and part")
    paper = sheet.choice("paper", ENTERED)
    dated = sheet.day("dated")
    whom = sheet.typed["reserved_for"].strip()
    if what == What.RESERVED and not whom:
        sheet.problems["reserved_for"] = "Write for whom it is reserved."
    if dated is not None and dated > today.date():
        sheet.problems["dated"] = "That day is not yet; write the day of the document."
    if sheet.problems:
        return None
    return Figure(
        id=0,
        facility_id=int(where),
        what=What(what),
        parameter=Parameter(parameter),
        value=value,
        document=document,
        paper=Paper(paper),
        dated=dated,
        reserved_for=whom if what == What.RESERVED else "",
        entered_by=by,
    )


@router.post("/capacity/figures/{figure_id}/withdraw")
def withdraw(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    figure_id: Id,
    why: Text = "",
) -> Response:
    """Let a figure count no more; it stays on record."""
    with engine.connect() as db:
        if scope.industrial_user_id is not None:
            raise NotFound(f"There is no figure {figure_id} here.")
        city_id = capacity.city_of_figure(db, scope.city_id, figure_id)
    _, by = _actor(engine, viewer, "record capacity")
    field = f"withdraw-{figure_id}"
    sheet = Sheet(typed={field: why})
    said = sheet.reason(field, "why it counts no more")
    if sheet.problems:
        return _again(request, engine, viewer, scope, at=at, sheet=sheet)
    acts.withdraw_figure(engine, city_id, figure_id, by=by, why=said, now=at)
    return _done()


@router.post("/capacity/notes")
def govern(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    governs: Text = "",
    governs_why: Text = "",
) -> Response:
    """Keep the Director's note on which of several design figures governs.

    governs: facility, parameter and figure, with colons between.
    """
    city_id, by = _actor(engine, viewer, "determine capacity")
    sheet = Sheet(typed={"governs": governs, "governs_why": governs_why})
    with engine.connect() as db:
        known = {key for one in unsettled(db, city_id) for key, _ in one.choices}
    chosen = sheet.choice("governs", known)
    said = sheet.reason("governs_why", "why that document governs")
    if sheet.problems:
        return _again(request, engine, viewer, scope, at=at, sheet=sheet)
    facility, parameter, figure = chosen.split(":")
    note = Note(
        facility_id=int(facility),
        parameter=Parameter(parameter),
        figure_id=int(figure),
        why=said,
        by=by,
        at=at,
    )
    acts.govern(engine, city_id, note)
    return _done()


@router.post("/capacity/determinations")
def determine(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    asked: Annotated[Asked, Depends(asked_in_form)],
    finding: Text = "",
    finding_why: Text = "",
) -> Response:
    """Keep what the Director determined on a request, with the ledger as it stood."""
    city_id, by = _actor(engine, viewer, "determine capacity")
    sheet = Sheet(typed={"finding": finding, "finding_why": finding_why})
    chosen = sheet.choice("finding", FINDINGS)
    said = sheet.reason("finding_why", "what the determination rests on")
    with engine.connect() as db:
        own = next(one for one in sites.cities(db) if one.id == city_id)
        facilities = capacity.facilities(db, city_id)
        figures, notes = capacity.figures(db, city_id), capacity.notes(db, city_id)
        pounds = factor(own, day_of(at, ZoneInfo(own.zone)))
    wanted = request_of(asked, facilities, pound_factor=pounds)
    sheet.problems |= asked.problems
    if wanted is None:
        sheet.problems.setdefault("flow_gpd", "Write what is asked for first.")
    if sheet.problems or wanted is None:
        return _again(request, engine, viewer, scope, at=at, sheet=sheet, asked=asked)
    determined = Determined(
        id=0,
        applicant=asked.typed["applicant"].strip(),
        asked={name: text.strip() for name, text in asked.typed.items() if text.strip()},
        finding=chosen,
        why=said,
        by=by,
        at=at,
    )
    lines = ledger(facilities, figures, notes, wanted)
    acts.determine(engine, city_id, determined, lines=lines)
    return _done()


def _actor(engine: Engine, viewer: Viewer, verb: str) -> tuple[int, str]:
    """The city acted for, and by whom. Raises: Refused."""
    auth.require(viewer, verb)
    if viewer.city_id is None:
        raise Refused("Capacity belongs to a city; this account belongs to none.")
    with engine.connect() as db:
        return viewer.city_id, signed(db, viewer)


def _done() -> Response:
    return RedirectResponse("/capacity", HTTPStatus.SEE_OTHER)


def _again(  # noqa: PLR0913 - what the page needs
    request: Request,
    engine: Engine,
    viewer: Viewer,
    scope: Scope,
    *,
    at: datetime,
    sheet: Sheet,
    asked: Asked | None = None,
) -> Response:
    with engine.connect() as db:
        return _page(request, db, viewer, scope, at=at, asked=asked or Asked(), sheet=sheet)


def _page(  # noqa: PLR0913 - what the page needs
    request: Request,
    db: Connection,
    viewer: Viewer,
    scope: Scope,
    *,
    at: datetime,
    asked: Asked,
    sheet: Sheet,
) -> Response:
    own = [one for one in sites.cities(db) if scope.city_id in (None, one.id)]
    context: dict[str, Any] = {
        "zone": places.zone(db, scope),
        "cities": [Page.of(db, one, asked, now=at) for one in own],
        "asked": asked,
        "typed": {**asked.typed, **sheet.typed},
        "problems": {**asked.problems, **sheet.problems},
        "kinds": (FacilityKind.SEWER.value, FacilityKind.LIFT_STATION.value),
        "whats": tuple(one.value for one in What),
        "papers": ENTERED,
        "parameters": TESTED,
        "findings": FINDINGS,
        "shortest": SHORTEST_REASON,
    }
    bad = bool(sheet.problems or asked.problems)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if bad else HTTPStatus.OK
    return page(request, "capacity.html", context, status=status)
