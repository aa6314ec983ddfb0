"""A user's half-year: counts beside limits, the worksheet, and what was determined of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Depends, File, Form, UploadFile
from fastapi.requests import Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection

from app import auth, papers
from app.deps import Db, Now, Pool, SignedIn, Visible
from app.inputs import Day, Id, Storable
from app.pages.declarations import signed
from app.snc import sheets
from app.snc.form import DeterminationForm
from app.templating import page
from app.uploads import LARGEST
from compliance.errors import InputError, NotFound
from compliance.jobs import noncompliance as counting
from compliance.jobs.determine import Paper
from compliance.judging.worksheet import rows, told
from compliance.model.noncompliance import FEDERAL, PLAIN, Criterion, Status
from compliance.model.periods import add_months, day_of, quarter
from compliance.model.sites import Role
from compliance.records import noncompliance, places, samples
from compliance.records.places import User
from compliance.records.scope import Scope

router = APIRouter()

Text = Annotated[Storable, Form(max_length=2000)]
SHOWN: Mapping[Status, str] = {
    Status.SIGNIFICANT: "■ Meets the arithmetic, not determined",
    Status.NONCOMPLIANCE: "▲ Over the limit, no criterion met",
    Status.NO_EXCEEDANCE: "● Nothing over the limit",
    Status.NO_DATA: "◇ No data",
}


def filled(  # noqa: PLR0913 - the fields of the form
    criterion: Text = "",
    quarter_end: Text = "",
    verdict: Text = "",
    decided_on: Text = "",
    signed_by: Text = "",
    reference: Text = "",
    words: Text = "",
) -> DeterminationForm:
    """The form as it was sent."""
    return DeterminationForm(
        criterion=criterion,
        quarter_end=quarter_end,
        verdict=verdict,
        decided_on=decided_on,
        signed_by=signed_by[:200],
        reference=reference[:200],
        words=words,
    )


Filled = Annotated[DeterminationForm, Depends(filled)]


@router.get("/users/{slug}/noncompliance")
def half_year(  # noqa: PLR0913 - what a request brings
    request: Request, scope: Visible, db: Db, at: Now, slug: str, as_of: Day | None = None
) -> Response:
    """The six months that end with the quarter of a day; of today, where none is named."""
    user, day = user_of(db, scope, slug), _day(db, scope, slug, as_of, at)
    return _page(request, db, user, day, DeterminationForm())


@router.get("/users/{slug}/noncompliance.csv")
def worksheet(scope: Visible, db: Db, at: Now, slug: str, as_of: Day | None = None) -> Response:
    """The worksheet: each result beside its limit."""
    user, day = user_of(db, scope, slug), _day(db, scope, slug, as_of, at)
    found = counting.half_year(db, user.id, as_of=day)
    name = f"noncompliance-{user.slug}-{found.last}.csv"
    told_as = f"attachment; filename*=UTF-8''{quote(name)}"
    text = sheets.text([one.tally for one in found.seen], found.rule)
    return Response(text, media_type="text/csv", headers={"content-disposition": told_as})


@router.post("/users/{slug}/noncompliance")
def record(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    slug: str,
    form: Filled,
    file: Annotated[UploadFile | None, File()] = None,
) -> Response:
    """Write down what the control authority determined; the form again where something lacks."""
    with engine.connect() as db:
        user = user_of(db, scope, slug)
        auth.require(viewer, "record noncompliance")
        authority, _ = noncompliance.authority(db, user.id)
        today, by = _day(db, scope, slug, None, at), signed(db, viewer)
    paper = _sent(form, file)
    said = form.said(authority)
    if said is not None:
        try:
            counting.record(
                engine,
                said,
                user_id=user.id,
                by=by,
                is_director=viewer.role is Role.DIRECTOR,
                now=at,
                file=paper,
            )
        except InputError as error:
            form.place(str(error))
    if form.faults or said is None:
        with engine.connect() as db:
            return _page(request, db, user, form.day or today, form)
    where = f"/users/{quote(slug)}/noncompliance?as_of={said.quarter_end}#determined"
    return RedirectResponse(where, HTTPStatus.SEE_OTHER)


@router.post("/noncompliance/{snc_id}/withdraw")
def withdraw(  # noqa: PLR0913 - what a request brings
    viewer: SignedIn, scope: Visible, engine: Pool, at: Now, snc_id: Id, reason: Text = ""
) -> Response:
    """Take a determination back that was entered wrongly."""
    with engine.connect() as db:
        slug, one = noncompliance.one(db, scope, snc_id)
        auth.require(viewer, "record noncompliance")
        by = signed(db, viewer)
    counting.withdraw(engine, snc_id, by=by, why=reason, now=at)
    where = f"/users/{quote(slug)}/noncompliance?as_of={one.said.quarter_end}#determined"
    return RedirectResponse(where, HTTPStatus.SEE_OTHER)


@router.get("/noncompliance/{snc_id}/file")
def file_of(scope: Visible, db: Db, snc_id: Id) -> Response:
    """The control authority's letter, to be saved."""
    name, content = noncompliance.document(db, scope, snc_id)
    told_as = f"attachment; filename*=UTF-8''{quote(name)}"
    return Response(
        content, media_type="application/octet-stream", headers={"content-disposition": told_as}
    )


def user_of(db: Connection, scope: Scope, slug: str) -> User:
    """A user by its name in addresses. Raises: NotFound."""
    for one in places.users(db, scope):
        if one.slug == slug:
            return one
    raise NotFound(f"There is no industrial user {slug[:60]} here.")


def theirs(scope: Visible, engine: Pool, slug: str) -> User:
    """The user that an address names, looked for before anything else. Raises: NotFound."""
    with engine.connect() as db:
        return user_of(db, scope, slug)


Theirs = Annotated[User, Depends(theirs)]


def _day(db: Connection, scope: Scope, slug: str, as_of: date | None, at: datetime) -> date:
    if as_of is not None:
        return as_of
    user = user_of(db, scope, slug)
    return day_of(at, ZoneInfo(samples.owner(db, user.id).zone))


def _sent(form: DeterminationForm, file: UploadFile | None) -> Paper | None:
    try:
        return papers.sent(file)
    except InputError as error:
        form.faults["file"] = str(error)
        return None


def _page(
    request: Request, db: Connection, user: User, day: date, form: DeterminationForm
) -> Response:
    found = counting.half_year(db, user.id, as_of=day)
    form.quarter_end = form.quarter_end or found.last.isoformat()
    measured = [one for one in found.seen if one.tally.n]
    context: dict[str, Any] = {
        "user": user,
        "found": found,
        "measured": measured,
        "unmeasured": [one for one in found.seen if not one.tally.n],
        "rows": list(rows([one.tally for one in measured], found.rule)),
        "told": told,
        "shown": SHOWN,
        "plain": PLAIN,
        "federal": FEDERAL,
        "criteria": list(Criterion),
        "earlier": quarter(found.last).start - timedelta(days=1),
        "later": add_months(quarter(found.last).start, 3),
        "form": form,
        "accept": papers.ACCEPT,
        "largest": LARGEST,
        "zone": samples.owner(db, user.id).zone,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.faults else HTTPStatus.OK
    return page(request, "noncompliance.html", context, status=status)
