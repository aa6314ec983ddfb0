"""Questions to instruments: a worker answers them, since this program may stand elsewhere."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from app import auth, field, laying
from app.deps import Config, Db, Now, SignedIn, Visible
from app.inputs import Id, Storable
from app.once import Key, digest
from compliance.errors import InputError
from compliance.model.endpoints import parse
from compliance.model.reach import Reach
from compliance.model.sites import Gateway
from compliance.records import library, people, questions, setting_up
from compliance.records.questions import Asks, Question
from compliance.records.scope import Scope

router = APIRouter(tags=["instruments"])

Unit = Annotated[int, Field(ge=0, le=255)]
MOST_UNITS = 32


class Asked(BaseModel):
    """A question: of an instrument that is set up, or of a unit (a first and a last one to scan)
    at an address such as rtu+tcp://10.0.0.7:502 or behind a gateway that is on file."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["scan", "read"] = "read"
    instrument: Id | None = None
    gateway: Id | None = None
    address: Annotated[Storable, Field(max_length=200)] = ""
    unit: Unit | None = None
    last_unit: Unit | None = None
    map: Annotated[Storable, Field(max_length=100)] = ""
    order: Literal["ABCD", "CDAB", "BADC", "DCBA"] | None = None


@router.post("/field-questions", status_code=HTTPStatus.CREATED)
def ask(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    db: Db,
    settings: Config,
    asked: Asked,
    idempotency_key: Key = None,
) -> Response:
    """Ask; the answer is fetched under the number that comes back. It expires after 30 seconds."""
    auth.require(viewer, "commission")
    sent = digest(request, [asked.model_dump_json()])
    known = people.answered(db, viewer.person_id, idempotency_key, request_sha256=sent)
    if known is not None:
        return JSONResponse(known, HTTPStatus.CREATED)
    if asked.instrument is not None:
        of = setting_up.find(db, scope, asked.instrument)
        number = laying.ask(db, of, person_id=viewer.person_id)
    else:
        number = questions.ask(
            db,
            person_id=viewer.person_id,
            asks=Asks(asked.kind),
            gateway=_gateway(db, scope, asked, Reach.of(settings.field_places)),
            units=_units(asked),
            map_name=library.one(db, asked.map).map.name if asked.kind == "read" else None,
            order=asked.order,
        )
    said = {"question": number, "href": f"/api/v1/field-questions/{number}"}
    people.answer(db, viewer.person_id, idempotency_key, said, request_sha256=sent)
    return JSONResponse(said, HTTPStatus.CREATED)


def _units(asked: Asked) -> tuple[int, int]:
    first = 1 if asked.unit is None else asked.unit
    last = first if asked.last_unit is None else asked.last_unit
    if asked.kind == "read" and last != first or not first <= last < first + MOST_UNITS:
        raise InputError(
            f"units are {first} to {last}; expected one to read, up to {MOST_UNITS} to scan"
        )
    return first, last


def _gateway(db: Connection, scope: Scope, asked: Asked, reach: Reach) -> Gateway:
    if asked.gateway is not None:
        return setting_up.gateway(db, scope, asked.gateway)
    place = parse(asked.address)
    kind, _, options = asked.address.partition("?")
    transport = place.transport.value + (f"?{options}" if options else "")
    wanted = Gateway(id=0, name=kind, host=place.host, port=place.port, transport=transport)
    field.require(db, scope, wanted, reach=reach)
    return wanted


@router.get("/field-questions/{question_id}")
def answer(
    viewer: SignedIn, scope: Visible, db: Db, at: Now, question_id: Id, instrument: Id | None = None
) -> dict[str, Any]:
    """A question of your own: waiting, answered, or why it was not.

    instrument: whose channels to show the values as, shares in their spans.
    """
    found = questions.find(db, question_id, person_id=viewer.person_id)
    told = _told(found)
    if instrument is not None and found.answer is not None:
        of = setting_up.find(db, scope, instrument)
        known = library.published(db).get(of.instrument.map_name)
        told |= laying.live(of, known.map if known else None, found, now=at)
    return told


def _told(found: Question) -> dict[str, Any]:
    state = "waiting" if found.is_open else "failed" if found.problem else "answered"
    return {
        "question": found.id,
        "kind": found.asks.value,
        "state": state,
        "asked_at": found.asked_at.isoformat(),
        "taken_by": found.taken_by,
        "answered_at": found.answered_at.isoformat() if found.answered_at else None,
        "problem": found.problem,
        "answer": found.answer,
    }
