"""Laboratory results sent by a program."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Header, UploadFile
from fastapi.responses import JSONResponse, Response

from app import auth, uploads
from app.deps import Now, Pool, SignedIn, Visible
from app.release import RELEASE
from compliance.jobs import receive
from compliance.records import people
from compliance.sampling import results

router = APIRouter(tags=["results"])


@router.post("/results", status_code=HTTPStatus.CREATED, max_body_size=uploads.LARGEST + 100_000)
def send(
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    file: Annotated[UploadFile, File()],
    industrial_user: Annotated[int | None, Form()] = None,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """Store the good rows of a laboratory file and judge them; the same bytes count once."""
    auth.require(viewer, "upload")
    name = uploads.shown_name(file.filename)
    content = file.file.read()
    with engine.connect() as db:
        known = people.answered(db, viewer.person_id, idempotency_key)
        owner = uploads.whose(db, scope, industrial_user)
        report = uploads.report_of(db, scope, content, filename=name)
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
        people.answer(db, viewer.person_id, idempotency_key, answer)
    return JSONResponse(answer, HTTPStatus.CREATED)
