"""Detections and violations; opening one is a person's act."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from app import auth
from app.deps import Db, Now, Pool, SignedIn, Visible
from app.inputs import SHORT, Id, Storable
from app.once import Key, digest
from app.wording import headline, is_running
from compliance.enforcing.decisions import SHORTEST_REASON
from compliance.jobs import decide
from compliance.records import casefile, people
from compliance.records.casefile import Case, Opened

router = APIRouter(tags=["findings"])


def _long_enough(reason: str) -> str:
    if len(reason.strip()) < SHORTEST_REASON:
        raise PydanticCustomError(
            SHORT,
            "{found} is too short; write at least {least} characters, it is read at a hearing",
            {"found": repr(reason.strip()), "least": SHORTEST_REASON},
        )
    return reason


class Opening(BaseModel):
    """What opens a violation: the detection, and why."""

    model_config = ConfigDict(extra="forbid")

    detection: Annotated[Id, Field(description="The number of the detection.")]
    reason: Annotated[
        Storable,
        Field(max_length=5000, description="Why, in a sentence: it is read at a hearing."),
        AfterValidator(_long_enough),
    ]
    despite_approval: Annotated[
        bool, Field(description="It is opened although a Director's approval covers it.")
    ] = False


@router.get("/detections")
def detections(
    scope: Visible,
    db: Db,
    state: Literal["", "detected", "waiting", "opened", "explained", "joined", "withdrawn"] = "",
    cursor: Id | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> dict[str, Any]:
    """Detections, the newest event first; ``next`` is the cursor of the following page."""
    states = (state,) if state else ()
    found = casefile.cases(db, scope, states=states, before_id=cursor, limit=limit)
    return {
        "detections": [_case(one) for one in found],
        "next": found[-1].id if len(found) == limit else None,
    }


@router.get("/detections/{detection_id}")
def detection(scope: Visible, db: Db, detection_id: Id) -> dict[str, Any]:
    """One detection with its evidence."""
    found = casefile.case(db, scope, detection_id)
    return {**_case(found), "working": found.working, "evidence": found.evidence}


@router.get("/violations")
def violations(scope: Visible, db: Db) -> dict[str, Any]:
    """Violations that people opened, newest first."""
    return {"violations": [_opened(one) for one in casefile.violations(db, scope)]}


@router.get("/violations/{number}")
def violation(scope: Visible, db: Db, number: str) -> dict[str, Any]:
    """One violation."""
    return _opened(casefile.violation(db, scope, number))


@router.post("/violations", status_code=HTTPStatus.CREATED)
def open_violation(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    opening: Opening,
    idempotency_key: Key = None,
) -> Response:
    """Open a violation from a detection. The same Idempotency-Key gives the same answer again."""
    despite = (True,) if opening.despite_approval else ()
    asked = digest(request, (opening.detection, opening.reason, *despite))
    with engine.connect() as db:
        casefile.case(db, scope, opening.detection)
        office = people.office(db, viewer.person_id)
        known = people.answered(db, viewer.person_id, idempotency_key, request_sha256=asked)
    auth.require(viewer, "decide")
    if known is not None:
        return JSONResponse(known, HTTPStatus.CREATED)
    number = decide.open_violation(
        engine,
        detection_id=opening.detection,
        viewer=viewer,
        reason=opening.reason,
        capacity=office,
        now=at,
        despite_approval=opening.despite_approval,
    )
    with engine.begin() as db:
        answer = _opened(casefile.violation(db, scope, number))
        people.answer(db, viewer.person_id, idempotency_key, answer, request_sha256=asked)
    return JSONResponse(answer, HTTPStatus.CREATED)


def _case(one: Case) -> dict[str, Any]:
    return {
        "detection": one.id,
        "state": one.stands,
        "withdrawn": _withdrawn(one),
        "says": headline(one),
        "industrial_user": one.industrial_user,
        "point": one.point,
        "rule": one.rule_id,
        "effective": one.effective.isoformat() if one.effective else None,
        "kind": one.kind,
        "parameter": one.parameter,
        "side": one.side,
        "starts_at": one.starts_at.isoformat(),
        "ends_at": one.ends_at.isoformat(),
        "seconds": one.seconds,
        "seconds_beyond": one.seconds_beyond,
        "runs": one.runs,
        "worst": one.worst,
        "limit": one.limit,
        "unit": one.unit,
        "readings": one.readings,
        "open_ended": one.open_ended,
        "review": one.review,
        "settled": one.settled,
        "running": is_running(one),
        "citation": one.citation,
        "authority": one.authority,
        "violation": one.violation,
    }


def _withdrawn(one: Case) -> dict[str, str | None] | None:
    """When and why the program withdrew it, and the state it had; null where it stands."""
    if one.superseded_at is None:
        return None
    return {"at": one.superseded_at.isoformat(), "why": one.superseded_why, "was": one.state}


def _opened(one: Opened) -> dict[str, Any]:
    return {
        "violation": one.number,
        "state": one.state,
        "reason": one.reason,
        "capacity": one.capacity,
        "opened_at": one.opened_at.isoformat(),
        "detection": one.detection_id,
        "industrial_user": one.industrial_user,
        "finding_withdrawn": {"at": one.superseded_at.isoformat(), "why": one.superseded_why}
        if one.superseded_at
        else None,
        "differs": one.differs,
    }
