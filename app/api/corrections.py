"""Corrected readings: stored beside the first ones, all of a list or none."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from app import auth, laid
from app.api.determinations import aware
from app.deps import Db, Here, Now, Pool, SignedIn
from app.inputs import Instant, Storable
from app.once import Key, digest
from app.pages.declarations import signed
from compliance.errors import InputError
from compliance.jobs import correct as correcting
from compliance.model.corrections import MOST, QUALITIES, Corrected
from compliance.model.parameters import PHYSICAL_RANGE, Parameter
from compliance.model.readings import grade
from compliance.records import corrections, people
from compliance.records.overlay import Correction
from compliance.records.places import Signal

router = APIRouter(tags=["points"])

WEEK = timedelta(days=7)


class One(BaseModel):
    """A reading as it is now known to have been."""

    model_config = ConfigDict(extra="forbid")

    at: Annotated[Instant, Field(description="The instant of a stored reading, with its offset.")]
    value: Annotated[
        float | None,
        Field(strict=True, description="In the channel's unit; null with quality missing."),
    ] = None
    quality: Literal["good", "suspect", "bad", "missing"] | None = None


class Corrections(BaseModel):
    """Corrected readings of a channel, and why."""

    model_config = ConfigDict(extra="forbid")

    reason: Annotated[Storable, Field(max_length=2000, description="It is read at a hearing.")]
    corrections: Annotated[list[One], Field(min_length=1, max_length=MOST)]


@router.get("/channels/{channel_id}/corrections")
def listed(
    here: Here,
    db: Db,
    at: Now,
    since: Instant | None = None,
    until: Instant | None = None,
) -> dict[str, Any]:
    """The corrected readings of a channel, each with what was read first; seven days if unsaid."""
    channel_id = here.channel_id
    end = aware(until, "until") or at
    found = corrections.of(db, [channel_id], since=aware(since, "since") or end - WEEK, until=end)
    return {"channel": channel_id, "corrections": [_told(one) for one in found]}


@router.post("/channels/{channel_id}/corrections", status_code=HTTPStatus.CREATED)
def correct(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    here: Here,
    engine: Pool,
    at: Now,
    sent: Corrections,
    idempotency_key: Key = None,
) -> Response:
    """Correct stored readings, all of the list or none.

    ``foreseen`` in the answer is what it does to findings. The same Idempotency-Key gives the same
    answer again.
    """
    auth.require(viewer, "correct")
    channel_id, asked = here.channel_id, digest(request, [sent.model_dump_json()])
    with engine.connect() as db:
        known = people.answered(db, viewer.person_id, idempotency_key, request_sha256=asked)
        by = signed(db, viewer)
    if known is not None:
        return JSONResponse(known, HTTPStatus.CREATED)
    wanted = [_correction(n, one, here) for n, one in enumerate(sent.corrections)]
    correcting.check(wanted, reason=sent.reason)
    seen = correcting.foresee(engine, channel_id, wanted, now=at)
    count = correcting.correct(engine, channel_id, wanted, reason=sent.reason, by=by)
    answer = {
        "channel": channel_id,
        "corrected": count,
        "reason": sent.reason.strip(),
        "by": by,
        "foreseen": laid.told(seen),
    }
    with engine.begin() as db:
        people.answer(db, viewer.person_id, idempotency_key, answer, request_sha256=asked)
    return JSONResponse(answer, HTTPStatus.CREATED)


def _correction(place: int, one: One, signal: Signal) -> Correction:
    """One of the list. Raises: InputError naming its place in it."""
    where = f"corrections[{place}]"
    at: datetime | None = aware(one.at, f"{where}.at")
    assert at is not None
    quality = one.quality or "good"  # a value that was forgotten is no missing reading
    if (one.value is None) != (quality == "missing"):
        raise InputError(
            f"{where} has the value {one.value} and the quality {quality}; expected null with "
            "missing, and a number with any other"
        )
    lowest, highest = PHYSICAL_RANGE.get(Parameter(signal.parameter), (-math.inf, math.inf))
    if one.value is not None and not (math.isfinite(one.value) and lowest <= one.value <= highest):
        raise InputError(
            f"{where}.value is {one.value}; expected a number in {signal.unit} that "
            f"{signal.parameter} can have"
        )
    return Correction(read_at=at, value=one.value, quality=QUALITIES[quality])


def _told(one: Corrected) -> dict[str, Any]:
    return {
        "at": one.read_at.isoformat(),
        "first": one.first,
        "first_quality": grade(one.first_quality).value,
        "value": one.value,
        "quality": grade(one.quality).value,
        "version": one.version,
        "reason": one.reason,
        "by": one.by,
        "corrected_at": one.at.isoformat(),
    }
