"""Detections with their evidence and the decision on them; violations that people opened."""

from __future__ import annotations

from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection

from app import auth
from app.binding import others_that_bind
from app.deps import Db, Now, Pool, SignedIn, Visible
from app.evidence import Line, around, papers_of
from app.inputs import Id, Storable
from app.laid import Laid, laid
from app.pages.board import told
from app.pages.points import span
from app.templating import page
from app.wording import ending, is_running
from compliance.enforcing.decisions import DECIDED, Decision
from compliance.errors import Refused
from compliance.jobs import decide
from compliance.records import casefile, people, places, samplers
from compliance.records.casefile import Analysis, Case
from compliance.records.places import Signal
from compliance.records.samplers import Stored
from compliance.records.scope import Scope

router = APIRouter()

AROUND = timedelta(hours=1)
STATES = ("detected", "waiting", "opened", "explained", "joined", "withdrawn")


@router.get("/detections")
def queue(
    request: Request,
    scope: Visible,
    db: Db,
    state: Literal["", "detected", "waiting", "opened", "explained", "joined", "withdrawn"] = "",
    before: Id | None = None,
) -> Response:
    """Detections, the newest event first."""
    states = (state,) if state else ()
    found = casefile.cases(db, scope, states=states, before_id=before, limit=50)
    return page(
        request,
        "detections.html",
        {
            "cases": [told(one) for one in found],
            "state": state,
            "states": STATES,
            "zone": places.zone(db, scope),
            "next": found[-1].id if len(found) == 50 else None,
        },
    )


@router.get("/detections/{detection_id}")
def detection(
    request: Request, viewer: SignedIn, scope: Visible, db: Db, at: Now, detection_id: Id
) -> Response:
    """One detection with its evidence; those who may decide find the form."""
    case = casefile.case(db, scope, detection_id)
    context = {"problem": "", "reason": "", "office": people.office(db, viewer.person_id)}
    return page(request, "detection.html", {**_laid_out(db, scope, case, at=at), **context})


@router.post("/detections/{detection_id}")
def decided(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    detection_id: Id,
    decision: Annotated[Literal["open", "explain", "wait"], Form()],
    reason: Annotated[Storable, Form(max_length=5000)] = "",
    despite_approval: Annotated[bool, Form()] = False,
) -> Response:
    """A person's decision; the answer leads to what it made, or says what is missing."""
    with engine.connect() as db:
        case = casefile.case(db, scope, detection_id)
        office = people.office(db, viewer.person_id)
    auth.require(viewer, "decide")
    try:
        if decision == "open":
            number = decide.open_violation(
                engine,
                detection_id=detection_id,
                viewer=viewer,
                reason=reason,
                capacity=office,
                now=at,
                despite_approval=despite_approval,
            )
            return RedirectResponse(f"/violations/{number}", HTTPStatus.SEE_OTHER)
        verb = Decision.EXPLAIN if decision == "explain" else Decision.WAIT
        decide.decide(
            engine, decision=verb, detection_id=detection_id, viewer=viewer, reason=reason, now=at
        )
    except Refused as error:
        with engine.connect() as db:
            context = {"problem": str(error), "reason": reason, "office": office}
            shown = {**_laid_out(db, scope, case, at=at), **context}
        return page(request, "detection.html", shown, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    return RedirectResponse(f"/detections/{detection_id}", HTTPStatus.SEE_OTHER)


@router.get("/violations")
def violations(request: Request, scope: Visible, db: Db) -> Response:
    """What people opened, newest first."""
    context = {"violations": casefile.violations(db, scope), "zone": places.zone(db, scope)}
    return page(request, "violations.html", context)


@router.get("/violations/{number}")
def violation(request: Request, scope: Visible, db: Db, at: Now, number: str) -> Response:
    """One violation with the evidence of its detection."""
    opened = casefile.violation(db, scope, number)
    case = casefile.case(db, scope, opened.detection_id)
    return page(
        request, "violation.html", {**_laid_out(db, scope, case, at=at), "violation": opened}
    )


def _laid_out(db: Connection, scope: Scope, case: Case, *, at: datetime) -> dict[str, Any]:
    """A case with its chart, readings, papers and history."""
    signal = next(
        (
            one
            for one in places.at_point(db, scope, case.point)
            if one.channel_id == case.channel_id
        ),
        None,
    )
    lines: tuple[Line, ...] = ()
    chart: dict[str, Any] = {"signal": None}
    analysis = casefile.analysis(db, case.result_id) if case.result_id else None
    if signal is not None:
        since, until = case.starts_at - AROUND, min(case.ends_at + AROUND, max(at, case.ends_at))
        chart = span(db, scope, signal, since=since, until=until)
        lines = around(db, signal, case.worst_at)
    return {
        **chart,
        **told(case),
        "zone": case.zone,
        "lines": lines,
        "analysis": analysis,
        "composites_of_day": _composites(db, scope, case, analysis),
        "ending": ending(case),
        "running": is_running(case),
        "papers": papers_of(db, case.channel_id, at=case.worst_at, zone=case.zone)
        if case.channel_id
        else None,
        "story": casefile.story(db, case),
        "laid_over": _laid_over(db, signal, case),
        "decided": case.is_withdrawn or case.state in DECIDED,
        **others_that_bind(db, case),
    }


def _laid_over(db: Connection, signal: Signal | None, case: Case) -> Laid | None:
    """What was laid over the readings of a finding, up to a minute on either side."""
    if signal is None:
        return None
    near = timedelta(minutes=1)
    return laid(db, signal, since=case.starts_at - near, until=case.ends_at + near)


def _composites(
    db: Connection, scope: Scope, case: Case, analysis: Analysis | None
) -> tuple[Stored, ...]:
    """The composites of the sampler that a result of a composite stands on."""
    if analysis is None or analysis.day is None or analysis.sample_type != "composite":
        return ()
    return samplers.of_days(db, scope, case.point, first=analysis.day, last=analysis.day)
