"""Laboratory results: choose a file, see what it says, accept; nothing is written before that."""

from __future__ import annotations

import base64
import binascii
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import Response
from sqlalchemy import Connection

from app import auth, uploads
from app.deps import Db, Now, Pool, SignedIn, Visible
from app.inputs import Id
from app.release import RELEASE
from app.sizes import ENCODED
from app.templating import page
from compliance.errors import InputError
from compliance.jobs import receive
from compliance.records import places
from compliance.records.scope import Scope

router = APIRouter()


@router.get("/upload")
def choose(request: Request, viewer: SignedIn, scope: Visible, db: Db) -> Response:
    """The form for a file."""
    auth.require(viewer, "upload")
    return _form(request, db, scope)


@router.post("/upload/check")
def check(
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    db: Db,
    at: Now,
    file: Annotated[UploadFile, File()],
    user: Annotated[Id | None, Form()] = None,
) -> Response:
    """What accepting a file would do. Nothing is written."""
    auth.require(viewer, "upload")
    name = uploads.shown_name(file.filename)
    content = file.file.read()
    try:
        owner = uploads.whose(db, scope, user)
        report = uploads.report_of(db, scope, content, filename=name, received_at=at)
    except InputError as error:
        return _form(request, db, scope, problem=str(error))
    known = set(places.point_codes(db, Scope(city_id=None, industrial_user_id=owner.id)))
    fits = known | {None} if len(known) == 1 else known
    foreign = [one for one in report.accepted if one.sample.point not in fits]
    context = {
        "filename": name,
        "owner": owner,
        "report": report,
        "groups": uploads.grouped(report.rejected),
        "foreign": foreign,
        "storable": len(report.accepted) - len(foreign),
        "points": sorted(known),
        "content": base64.b64encode(content).decode(),
        "zone": places.zone(db, scope),
        "cautions": uploads.cautions(db, owner.id, report, zone=places.zone(db, scope)),
    }
    return page(request, "upload_check.html", context)


@router.post("/upload", form_limits={"max_part_size": ENCODED})
def accept(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    content: Annotated[str, Form()],
    filename: Annotated[str, Form()],
    user: Annotated[Id, Form()],
) -> Response:
    """Store the good rows and judge them; sent twice, it gives the same receipt."""
    auth.require(viewer, "upload")
    name = uploads.shown_name(filename)
    with engine.connect() as db:
        owner = uploads.whose(db, scope, user)
        report = uploads.report_of(db, scope, _decoded(content), filename=name, received_at=at)
        zone = places.zone(db, scope)
    receipt = receive.receive(
        engine,
        report,
        _decoded(content),
        filename=name,
        industrial_user_id=owner.id,
        viewer=viewer,
        now=at,
        release=RELEASE,
    )
    context = {"receipt": receipt, "owner": owner, "zone": zone}
    return page(request, "receipt.html", context, status=HTTPStatus.CREATED)


def _form(request: Request, db: Connection, scope: Scope, *, problem: str = "") -> Response:
    context: dict[str, Any] = {
        "users": places.users(db, scope),
        "points": places.point_codes(db, scope),
        "problem": problem,
        "largest": uploads.LARGEST,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return page(request, "upload.html", context, status=status)


def _decoded(content: str) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise InputError("the file did not arrive whole; choose it again") from None
