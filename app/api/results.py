"""Laboratory results sent by a program."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import JSONResponse, Response

from app import auth, uploads
from app.deps import Now, Pool, SignedIn, Visible
from app.inputs import Id
from app.once import Key, digest
from app.release import RELEASE
from app.uploads import LARGEST
from compliance.jobs import receive
from compliance.records import people
from compliance.sampling import results

router = APIRouter(tags=["results"])


@router.post("/results", status_code=HTTPStatus.CREATED)
def send(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    file: Annotated[UploadFile, File(description=f"CSV, TSV or XLSX, up to {LARGEST:,} bytes.")],
    industrial_user: Annotated[
        Id | None, Form(description="Whose results; needed where you see several users.")
    ] = None,
    idempotency_key: Key = None,
) -> Response:
    """Store the good rows of a laboratory file and judge them; the same bytes count once."""
    auth.require(viewer, "upload")
    name = uploads.shown_name(file.filename)
    content = file.file.read()
    asked = digest(request, (name, industrial_user, content))
    with engine.connect() as db:
        known = people.answered(db, viewer.person_id, idempotency_key, request_sha256=asked)
        owner = uploads.whose(db, scope, industrial_user)
        report = uploads.report_of(db, scope, content, filename=name, received_at=at)
    if known is not None:
        return JSONResponse(known, HTTPStatus.CREATED)
    receipt = receive.receive(
        engine,
        report,
        content,
        filename=name,
        industrial_user_id=owner.id,
        viewer=viewer,
        now=at,
        release=RELEASE,
    )
    said = results.to_json(report)
    answer: dict[str, Any] = {
        "upload": receipt.upload_id,
        "sha256": receipt.sha256,
        "received_at": receipt.received_at.isoformat(),
        "new": receipt.is_new,
        "rows": receipt.rows,
        "stored": receipt.stored,
        "held": receipt.held,
        "rejected": said["rejected"],
        "warnings": said["warnings"],
        "detections": [one.detection_id for one in receipt.judged if one.detection_id],
    }
    with engine.begin() as db:
        people.answer(db, viewer.person_id, idempotency_key, answer, request_sha256=asked)
    return JSONResponse(answer, HTTPStatus.CREATED)
