"""Determinations: which readings are valid, invalid or an estimate, by whom, and why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, File, Form, Request, UploadFile
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection, Engine

from app import auth, papers
from app.deps import Db, Now, Pool, SignedIn, Visible
from app.forms import DeterminationForm
from app.inputs import Id, Instant, Storable
from app.laid import effects
from app.moments import typed
from app.pages.declarations import signed
from app.pages.points import chosen
from app.sizes import ENCODED
from app.templating import page
from app.tiles import ordered
from app.uploads import LARGEST
from app.wording import names
from compliance.errors import InputError
from compliance.jobs import determine as determining
from compliance.jobs.determine import Paper, Wanted
from compliance.model.determinations import SAYS, Verdict
from compliance.model.sites import Viewer
from compliance.records import determinations, places
from compliance.records.places import Signal
from compliance.records.scope import Scope

router = APIRouter()

Text = Annotated[Storable, Form(max_length=2000)]
LONG_AGO = timedelta(days=5 * 366)
"""Determinations of readings before are left out of the list."""


def filled(  # noqa: PLR0913 - the fields of the form
    channel: Text = "",
    verdict: Text = "",
    since: Text = "",
    since_fold: Text = "",
    until: Text = "",
    until_fold: Text = "",
    reason: Text = "",
) -> DeterminationForm:
    """The form as it was sent."""
    return DeterminationForm(
        channel=channel,
        verdict=verdict,
        since=since,
        since_fold=since_fold,
        until=until,
        until_fold=until_fold,
        reason=reason,
    )


Filled = Annotated[DeterminationForm, Depends(filled)]


@router.get("/points/{code}/determinations")
def listed(  # noqa: PLR0913 - what a request brings
    request: Request,
    scope: Visible,
    db: Db,
    at: Now,
    code: str,
    parameter: str = "",
    entry: str = "",
    since: Instant | None = None,
    until: Instant | None = None,
) -> Response:
    """What people determined of a point's readings; those who may determine find the form."""
    signals = ordered(places.at_point(db, scope, code))
    if not signals:
        return page(request, "point_empty.html", {"code": code})
    form = DeterminationForm(
        channel=str(chosen(signals, parameter, entry).channel_id),
        since=_typed(since, signals[0].zone),
        until=_typed(until, signals[0].zone),
    )
    return _page(request, db, signals, form, at=at)


@router.post("/points/{code}/determinations/check")
def check(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    code: str,
    form: Filled,
    file: Annotated[UploadFile | None, File()] = None,
) -> Response:
    """What a determination would do to readings and findings; nothing is written."""
    signals = _may(engine, viewer, scope, code)
    evidence = _evidence(form, file)
    wanted = form.wanted(signals, evidence=evidence, now=at)
    with engine.connect() as db:
        if wanted is None:
            return _page(request, db, signals, form, at=at)
        return _checked(request, db, signals, form, wanted, at=at)


@router.post("/points/{code}/determinations", form_limits={"max_part_size": ENCODED})
def determine(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    code: str,
    form: Filled,
    filename: Text = "",
    content: Annotated[str, Form()] = "",
    seen: Text = "",
) -> Response:
    """Write a determination down, if its effects are still those that were seen."""
    signals = _may(engine, viewer, scope, code)
    wanted = form.wanted(signals, evidence=papers.again(filename, content), now=at)
    with engine.connect() as db:
        if wanted is None:
            return _page(request, db, signals, form, at=at)
        by = signed(db, viewer)
    number = determining.determine(
        engine, wanted, person_id=viewer.person_id, by=by, now=at, seal=seen
    )
    if number is None:
        with engine.connect() as db:
            return _checked(request, db, signals, form, wanted, at=at, changed=bool(seen))
    return RedirectResponse(f"/points/{quote(code)}/determinations", HTTPStatus.SEE_OTHER)


@router.get("/determinations/{determination_id}/evidence")
def evidence(scope: Visible, db: Db, determination_id: Id) -> Response:
    """The file beside a determination, to be saved."""
    name, content = determinations.evidence(db, scope, determination_id)
    told = f"attachment; filename*=UTF-8''{quote(name)}"
    return Response(
        content, media_type="application/octet-stream", headers={"content-disposition": told}
    )


def _may(engine: Engine, viewer: Viewer, scope: Scope, code: str) -> tuple[Signal, ...]:
    """The channels of a point whose readings a viewer may determine. Raises: NotFound, Refused."""
    with engine.connect() as db:
        signals = ordered(places.at_point(db, scope, code))
    auth.require(viewer, "determine")
    if not signals:
        raise InputError(f"{code} has no channel: there is nothing to determine.")
    return tuple(signals)


def _evidence(form: DeterminationForm, file: UploadFile | None) -> Paper | None:
    try:
        return papers.sent(file)
    except InputError as error:
        form.faults["file"] = str(error)
        return None


def _typed(at: datetime | None, zone: str) -> str:
    return "" if at is None or at.tzinfo is None else typed(at, zone)


def _page(
    request: Request,
    db: Connection,
    signals: Sequence[Signal],
    form: DeterminationForm,
    *,
    at: datetime,
) -> Response:
    ids = [one.channel_id for one in signals]
    found = determinations.of(db, ids, since=at - LONG_AGO, until=at + timedelta(days=1))
    context: dict[str, Any] = {
        **_common(signals),
        "form": form,
        "found": found,
        "accept": papers.ACCEPT,
        "largest": LARGEST,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.faults else HTTPStatus.OK
    return page(request, "determinations.html", context, status=status)


def _common(signals: Sequence[Signal]) -> dict[str, Any]:
    return {
        "signals": signals,
        "signal": signals[0],
        "zone": signals[0].zone,
        "called": {channel: name.text for channel, name in names(signals).items()},
        "verdicts": {one: SAYS[one] for one in Verdict},
    }


def _checked(  # noqa: PLR0913 - what the page needs
    request: Request,
    db: Connection,
    signals: Sequence[Signal],
    form: DeterminationForm,
    wanted: Wanted,
    *,
    at: datetime,
    changed: bool = False,
) -> Response:
    foreseen = determining.foresee(db, wanted, now=at)
    paper = wanted.evidence
    context = {
        **_common(signals),
        "form": vars(form),
        "wanted": wanted,
        "foreseen": foreseen,
        "effects": effects(foreseen),
        "paper": paper,
        "content": papers.encoded(paper.content) if paper else "",
        "changed": changed,
    }
    status = HTTPStatus.CONFLICT if changed else HTTPStatus.OK
    return page(request, "determination_check.html", context, status=status)
