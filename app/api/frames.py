"""The door for remote sites: whole frames by HTTPS, each stored once; what to poll, by token."""

from __future__ import annotations

import hashlib
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Request
from fastapi.responses import Response
from sqlalchemy import Engine
from starlette.exceptions import HTTPException

from app.deps import Pool
from compliance.errors import InputError, Refused
from compliance.records import arrivals, health, maps, plans, tokens, tuples
from compliance.records.batch import BadFrame, Frame, Kind, TornFrame, batch_id, decode
from compliance.records.tokens import Token

router = APIRouter(prefix="/frames", tags=["frames"])

LARGEST = 8 * 1024 * 1024
LARGEST_MAP = 1024 * 1024
LONGEST_FAULT = 2000


def _sender(engine: Pool, authorization: Annotated[str, Header()] = "") -> Token:
    """The token a request came with. Raises: HTTPException, 401."""
    scheme, _, secret = authorization.partition(" ")
    if scheme.casefold() == "bearer" and secret:
        with engine.connect() as db:
            found = tokens.known(db, hashlib.sha256(secret.strip().encode()).hexdigest())
        if found is not None:
            return found
    raise HTTPException(
        HTTPStatus.UNAUTHORIZED,
        "This needs the token of a remote site, as pretreat token add printed it.",
        {"www-authenticate": "Bearer"},
    )


Sender = Annotated[Token, Depends(_sender)]


@router.get("/plan")
def plan(engine: Pool, sender: Sender) -> Response:
    """What the worker of this token polls."""
    with engine.connect() as db:
        found = plans.of_points(db, sender.points)
    return Response(plans.encoded(found), media_type="application/json")


@router.post("/map", status_code=HTTPStatus.NO_CONTENT, max_body_size=LARGEST_MAP)
def publish(engine: Pool, sender: Sender, content: Annotated[dict[str, Any], Body()]) -> None:
    """A register map that the worker of this token reads its instruments by, for pages to show.

    403 for a map that none of its instruments is read by, 422 for what is no map of this release.
    """
    found = maps.decoded(content)
    with engine.begin() as db:
        if found.name not in maps.behind(db, sender.points):
            raise Refused(f"No instrument of worker {sender.worker} is read by map {found.name}.")
        maps.publish(
            db,
            name=found.name,
            sha256=maps.sha256(found),
            content=content,
            published_by=sender.worker,
        )


@router.post("/beat", status_code=HTTPStatus.NO_CONTENT, max_body_size=256 * 1024)
def beat(engine: Pool, sender: Sender, detail: Annotated[dict[str, Any], Body()]) -> None:
    """The worker of this token lives, and how it is."""
    with engine.begin() as db:
        health.beat(db, f"ingest {sender.worker}", detail)


@router.post("/fault", status_code=HTTPStatus.NO_CONTENT, max_body_size=64 * 1024)
def fault(engine: Pool, sender: Sender, what: Annotated[str, Body(embed=True)]) -> None:
    """Something that should not have happened there."""
    with engine.begin() as db:
        health.fault(db, f"ingest {sender.worker}", what[:LONGEST_FAULT])


async def _content(request: Request) -> bytes:
    """The body, read no further than the door is wide. Raises: HTTPException, 413."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > LARGEST:
            raise HTTPException(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"The frames have more than {LARGEST} bytes; send fewer at once.",
            )
    return bytes(content)


@router.post("")
def take(
    engine: Pool, sender: Sender, content: Annotated[bytes, Depends(_content)]
) -> dict[str, int]:
    """Store whole frames, one after another; again the same frames change nothing.

    401 without a token, 403 for a channel that is not the token's, 409 for another frame under a
    sequence that was used, 413 over 8 MiB, 422 for what is no sound frame of this worker.
    """
    frames = _frames(content)
    for one in frames:
        _check(one, sender)
    return _stored(engine, sender, frames)


def _frames(content: bytes) -> list[Frame]:
    found, at = [], 0
    try:
        while at < len(content):
            one, at = decode(content, at)
            found.append(one)
    except (BadFrame, TornFrame) as error:
        raise InputError(f"{error}; send the frame again as it is in the spool") from None
    if not found:
        raise InputError("the body is empty; expected frames")
    return found


def _check(frame: Frame, sender: Token) -> None:
    """Believe nothing that a frame says of itself. Raises: InputError."""
    place = f"frame {frame.sequence}"
    if frame.batch_id != batch_id(sender.worker, frame.sequence):
        raise InputError(f"{place} is not one of worker {sender.worker}, whose token this is")
    if frame.kind is Kind.GAP:
        return
    rows, rest = tuples.split(frame.content)
    if rest or len(rows) != frame.count:
        raise InputError(f"{place} has {len(rows)} whole readings; expected {frame.count}")
    for row in rows:
        key = tuples.key(row)
        if (
            key is None
            or key.batch_id != frame.batch_id
            or key.channel_id not in frame.channels
            or not frame.since_us <= key.at_us < frame.until_us
        ):
            raise InputError(f"{place} has a reading that its header does not cover")


def _stored(engine: Engine, sender: Token, frames: list[Frame]) -> dict[str, int]:
    with engine.begin() as db:
        foreign = {c for one in frames for c in one.channels} - tokens.channels(db, sender)
        if foreign:
            raise Refused(
                f"Channel {min(foreign)} is not one that worker {sender.worker} may send."
            )
        other = arrivals.other_content(db, frames, worker=sender.worker)
        if other is not None:
            raise HTTPException(
                HTTPStatus.CONFLICT, f"Frame {other} came before with another number of readings."
            )
        arrived = arrivals.store(db, frames, worker=sender.worker)
    return {
        "stored": arrived.stored,
        "quarantined": arrived.quarantined,
        "sequence": frames[-1].sequence,
    }
