"""The evidence of a finding as one file: for whoever may see its page."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response
from sqlalchemy import Connection

from app import packing
from app.deps import Pool, SignedIn, Visible
from app.inputs import Id
from compliance.jobs.explain import explain
from compliance.records import casefile
from compliance.records.engine import reading
from compliance.records.scope import Scope

router = APIRouter()


@router.get("/detections/{detection_id}/evidence.zip")
def of_detection(_: SignedIn, scope: Visible, engine: Pool, detection_id: Id) -> Response:
    """The evidence pack of a detection."""
    with reading(engine) as db:
        case = casefile.case(db, scope, detection_id)
        return _pack(db, scope, str(case.id), f"detection-{case.id}")


@router.get("/violations/{number}/evidence.zip")
def of_violation(_: SignedIn, scope: Visible, engine: Pool, number: str) -> Response:
    """The evidence pack of the detection that a violation was opened from."""
    with reading(engine) as db:
        opened = casefile.violation(db, scope, number)
        return _pack(db, scope, str(opened.detection_id), opened.number)


def _pack(db: Connection, scope: Scope, name: str, called: str) -> Response:
    content = packing.pack(packing.gather(db, explain(db, scope, name)))
    return Response(
        content,
        media_type="application/zip",
        headers={
            "Content-Disposition": f'attachment; filename="evidence-{called}.zip"',
            "Cache-Control": "private, no-store",
        },
    )
