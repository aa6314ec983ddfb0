"""Determinations of readings: made by people, through their programs too."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import JSONResponse, Response

from app import auth, laid, papers
from app.deps import Db, Here, Now, Pool, SignedIn
from app.inputs import Instant, Storable
from app.once import Key, digest
from app.pages.declarations import signed
from compliance.errors import InputError
from compliance.jobs import determine as determining
from compliance.jobs.determine import Wanted
from compliance.model.determinations import Verdict
from compliance.records import determinations, people

router = APIRouter(tags=["points"])

ALL = timedelta(days=5 * 366)


@router.get("/channels/{channel_id}/determinations")
def listed(
    here: Here,
    db: Db,
    at: Now,
    since: Instant | None = None,
    until: Instant | None = None,
) -> dict[str, Any]:
    """What people determined of a channel's readings, the newest first; of two the later holds."""
    channel_id = here.channel_id
    start, end = aware(since, "since") or at - ALL, aware(until, "until") or at
    found = determinations.of(db, [channel_id], since=start, until=end)
    return {"channel": channel_id, "determinations": laid.on_record(found)}


@router.get("/channels/{channel_id}/determinations/foreseen")
def foreseen(  # noqa: PLR0913 - what a request brings
    viewer: SignedIn,
    here: Here,
    db: Db,
    at: Now,
    since: Instant,
    until: Instant,
    verdict: Verdict,
) -> dict[str, Any]:
    """What a determination would do to readings and findings; nothing is written."""
    auth.require(viewer, "determine")
    wanted = _wanted(here.channel_id, since, until, verdict, reason="only to be foreseen")
    return laid.told(determining.foresee(db, wanted, now=at))


@router.post("/channels/{channel_id}/determinations", status_code=HTTPStatus.CREATED)
def determine(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    here: Here,
    engine: Pool,
    at: Now,
    since: Annotated[Instant, Form(description="The first instant, with its offset.")],
    until: Annotated[Instant, Form(description="Up to this instant, which is not included.")],
    verdict: Annotated[Verdict, Form()],
    reason: Annotated[Storable, Form(max_length=2000)],
    file: Annotated[
        UploadFile | None, File(description=f"What shows why: {papers.ACCEPT}.")
    ] = None,
    idempotency_key: Key = None,
) -> Response:
    """Determine the readings of a span. The same Idempotency-Key gives the same answer again.

    ``foreseen`` in the answer is what it does to findings.
    """
    auth.require(viewer, "determine")
    channel_id, paper = here.channel_id, papers.sent(file)
    parts = (channel_id, since.isoformat(), until.isoformat(), verdict.value, reason)
    asked = digest(request, (*parts, paper.content if paper else None))
    with engine.connect() as db:
        known = people.answered(db, viewer.person_id, idempotency_key, request_sha256=asked)
        by = signed(db, viewer)
        if known is not None:
            return JSONResponse(known, HTTPStatus.CREATED)
        wanted = replace(_wanted(channel_id, since, until, verdict, reason=reason), evidence=paper)
        seen = determining.foresee(db, wanted, now=at)
    number = determining.determine(engine, wanted, person_id=viewer.person_id, by=by, now=at)
    with engine.begin() as db:
        found = determinations.of(db, [channel_id], since=wanted.since, until=wanted.until)
        mine = [one for one in found if one.number == number]
        answer = {**laid.on_record(mine)[0], "foreseen": laid.told(seen)}
        people.answer(db, viewer.person_id, idempotency_key, answer, request_sha256=asked)
    return JSONResponse(answer, HTTPStatus.CREATED)


def _wanted(
    channel_id: int, since: datetime, until: datetime, verdict: Verdict, *, reason: str
) -> Wanted:
    start, end = aware(since, "since"), aware(until, "until")
    assert start is not None and end is not None
    return Wanted(channel_id=channel_id, since=start, until=end, verdict=verdict, reason=reason)


def aware(at: datetime | None, name: str) -> datetime | None:
    """The same instant. Raises: InputError where it has no offset."""
    if at is not None and at.tzinfo is None:
        raise InputError(
            f"{name} {at.isoformat()} has no offset; write it as 2026-03-01T08:00:00-06:00"
        )
    return at
