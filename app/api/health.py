"""For machines that watch machines: is the process up, is it ready, a few counters."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from sqlalchemy.exc import SQLAlchemyError

from app import auth
from app.deps import Db, Now, Pool, signed_in
from compliance.errors import StorageError
from compliance.records import health, outbox, schema, timescale

router = APIRouter()

LATE = timedelta(seconds=60)
"""How long a process may give no sign of life before this installation counts as degraded."""
LATER = {"retry-after": "5"}
HERE = frozenset({"127.0.0.1", "::1"})


@router.get("/healthz", include_in_schema=False)
def alive() -> Response:
    """The process answers."""
    return JSONResponse({"status": "ok"})


@router.get("/readyz", include_in_schema=False)
def ready(engine: Pool, at: Now) -> Response:
    """The database answers, its schema is this release's, and the other processes live."""
    try:
        schema.require(engine)
        with engine.connect() as db:
            beats, edition = health.beats(db), timescale.edition(db)
    except (StorageError, SQLAlchemyError) as error:
        reason = str(error) if isinstance(error, StorageError) else "the database does not answer"
        return JSONResponse(
            {"status": "not ready", "reason": reason}, HTTPStatus.SERVICE_UNAVAILABLE, LATER
        )
    late = [one.process for one in beats if at - one.at > LATE]
    return JSONResponse(
        {"status": "degraded" if late else "ok", "late": late, "edition": edition},
        HTTPStatus.SERVICE_UNAVAILABLE if late else HTTPStatus.OK,
        LATER if late else None,
    )


@router.get("/metrics", include_in_schema=False)
def metrics(request: Request, engine: Pool, db: Db, at: Now) -> Response:
    """A few counters in the text form that monitoring systems read; nothing of any user.

    For whoever asks from this very machine, not through a proxy, or is signed in.
    """
    if not _from_here(request):
        auth.require(signed_in(request, engine, at), "operate")
    counts = outbox.counts(db)
    lines = [
        "# HELP pretreat_deliveries Webhook deliveries by state.",
        "# TYPE pretreat_deliveries gauge",
        *(
            f'pretreat_deliveries{{state="{state}"}} {counts.get(state, 0)}'
            for state in ("waiting", "delivered", "dead")
        ),
        "# HELP pretreat_heartbeat_age_seconds Seconds since a process last said it lives.",
        "# TYPE pretreat_heartbeat_age_seconds gauge",
        *(
            f'pretreat_heartbeat_age_seconds{{process="{_label(one.process)}"}} '
            f"{(at - one.at).total_seconds():.1f}"
            for one in health.beats(db)
        ),
        "# HELP pretreat_faults_day Faults noted in the last 24 hours.",
        "# TYPE pretreat_faults_day gauge",
        f"pretreat_faults_day {len(health.faults(db, since=at - timedelta(days=1)))}",
    ]
    return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")


def _from_here(request: Request) -> bool:
    forwarded = any(name in request.headers for name in ("forwarded", "x-forwarded-for"))
    host = request.client.host if request.client else ""
    return host in HERE and not forwarded


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
