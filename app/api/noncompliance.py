"""Significant noncompliance of a user, counted and determined."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import JSONResponse, Response

from app import auth, papers
from app.deps import Db, Now, Pool, SignedIn, Visible
from app.inputs import Day, Storable
from app.once import Key, digest
from app.pages.declarations import signed
from app.pages.noncompliance import Theirs
from app.snc.form import DeterminationForm
from compliance.errors import InputError
from compliance.jobs import noncompliance as counting
from compliance.jobs.noncompliance import HalfYear, Seen
from compliance.judging.worksheet import told
from compliance.model.noncompliance import Criterion, SaidOnFile
from compliance.model.periods import day_of
from compliance.model.sites import Role
from compliance.records import noncompliance, people, samples

router = APIRouter(tags=["users"])


@router.get("/users/{slug}/noncompliance")
def counted(user: Theirs, db: Db, at: Now, as_of: Day | None = None) -> dict[str, Any]:
    """The six months that end with the quarter of ``as_of`` (today where it is left out).

    Each limit's count is arithmetic; ``determined`` is what the control authority said of it.
    """
    day = as_of or day_of(at, ZoneInfo(samples.owner(db, user.id).zone))
    return _half_year(counting.half_year(db, user.id, as_of=day))


@router.post("/users/{slug}/noncompliance", status_code=HTTPStatus.CREATED)
def record(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    user: Theirs,
    criterion: Annotated[Criterion, Form()],
    quarter_end: Annotated[Day, Form(description="The half-year's last day.")],
    verdict: Annotated[Literal["snc", "not"], Form()],
    decided_on: Annotated[Day, Form(description="The day of the letter or the decision.")],
    signed_by: Annotated[Storable, Form(max_length=200)],
    words: Annotated[Storable, Form(max_length=2000)],
    reference: Annotated[Storable, Form(max_length=200)] = "",
    file: Annotated[UploadFile | None, File(description=f"The letter: {papers.ACCEPT}.")] = None,
    idempotency_key: Key = None,
) -> Response:
    """Record what the control authority determined. The same Idempotency-Key gives the same answer.

    Where the city is not the control authority, ``reference`` names that authority's letter.
    """
    auth.require(viewer, "record noncompliance")
    form = DeterminationForm(
        criterion=criterion.value,
        quarter_end=quarter_end.isoformat(),
        verdict=verdict,
        decided_on=decided_on.isoformat(),
        signed_by=signed_by,
        reference=reference,
        words=words,
    )
    with engine.connect() as db:
        paper = papers.sent(file)
        asked = digest(request, (*_parts(form), paper.content if paper else None))
        known = people.answered(db, viewer.person_id, idempotency_key, request_sha256=asked)
        if known is not None:
            return JSONResponse(known, HTTPStatus.CREATED)
        authority, by = noncompliance.authority(db, user.id)[0], signed(db, viewer)
    said = form.said(authority)
    if said is None:
        raise InputError(next(iter(form.faults.values())))
    is_director = viewer.role is Role.DIRECTOR
    number = counting.record(
        engine, said, user_id=user.id, by=by, is_director=is_director, now=at, file=paper
    )
    with engine.begin() as db:
        answer = determination(noncompliance.one(db, scope, number)[1])
        people.answer(db, viewer.person_id, idempotency_key, answer, request_sha256=asked)
    return JSONResponse(answer, HTTPStatus.CREATED)


def _parts(form: DeterminationForm) -> tuple[str, ...]:
    return (
        form.criterion, form.quarter_end, form.verdict, form.decided_on, form.signed_by,
        form.reference, form.words,
    )  # fmt: skip


def _half_year(found: HalfYear) -> dict[str, Any]:
    return {
        "window": {"from": found.window.start.isoformat(), "to": found.last.isoformat()},
        "provisional": found.provisional,
        "rules": found.rule.id,
        "control_authority": found.authority,
        "counts": [_count(one) for one in found.seen],
        "determined": [determination(one) for one in found.determined],
        "left_out": list(found.left_out),
    }


def _count(one: Seen) -> dict[str, Any]:
    tally = one.tally
    return {
        "point": tally.limit.point,
        "parameter": tally.limit.parameter.value,
        "basis": tally.limit.basis.value,
        "rule": tally.limit.source,
        "n": tally.n,
        "exceed": tally.exceed,
        "trc": tally.trc,
        "chronic_snc": tally.chronic_snc,
        "trc_snc": tally.trc_snc,
        "status": tally.status.value,
        "says": told(tally),
        "only_on_published_data": one.published,
        "working": list(tally.working),
        "outlook": [each.says for each in one.outlooks] if tally.n else [],
    }


def determination(one: SaidOnFile) -> dict[str, Any]:
    """A recorded determination as machines are told it."""
    said = one.said
    return {
        "id": one.id,
        "criterion": said.criterion.value,
        "quarter_end": said.quarter_end.isoformat(),
        "is_snc": said.is_snc,
        "authority": said.authority,
        "decided_on": said.decided_on.isoformat(),
        "signed_by": said.signed_by,
        "reference": said.reference,
        "words": said.words,
        "document": one.document_name,
        "document_sha256": one.document_sha256,
        "entered_by": one.entered_by,
        "entered_at": one.entered_at.isoformat(),
        "withdrawn": _withdrawn(one),
    }


def _withdrawn(one: SaidOnFile) -> dict[str, str | None] | None:
    if one.withdrawn_at is None:
        return None
    return {
        "at": one.withdrawn_at.isoformat(),
        "by": one.withdrawn_by,
        "why": one.withdrawn_why,
    }
