"""Corrected readings: a table of them is read, shown with what it would change, and taken whole."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Engine

from app import auth, correcting, papers, uploads
from app.correcting import Table
from app.deps import Now, Pool, SignedIn, Visible
from app.inputs import Storable
from app.laid import effects
from app.pages.declarations import signed
from app.pages.points import chosen
from app.sizes import ENCODED
from app.templating import page
from app.tiles import ordered
from app.wording import names
from compliance.enforcing.decisions import SHORTEST_REASON
from compliance.errors import InputError
from compliance.jobs import correct as correcting_them
from compliance.model.sites import Viewer
from compliance.records import corrections, places
from compliance.records.places import Signal
from compliance.records.scope import Scope

router = APIRouter()

Text = Annotated[Storable, Form(max_length=2000)]
LONG_AGO = timedelta(days=366)
"""Corrected readings before are left out of the list."""


@router.get("/points/{code}/corrections")
def listed(  # noqa: PLR0913 - what a request brings
    request: Request,
    scope: Visible,
    engine: Pool,
    at: Now,
    code: str,
    parameter: str = "",
    entry: str = "",
) -> Response:
    """The corrected readings of a channel; those who may correct find the form."""
    with engine.connect() as db:
        signals = ordered(places.at_point(db, scope, code))
    if not signals:
        return page(request, "point_empty.html", {"code": code})
    return _page(request, engine, signals, chosen(signals, parameter, entry), at=at)


@router.post("/points/{code}/corrections/check")
def check(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    code: str,
    channel: Text = "",
    reason: Text = "",
    file: Annotated[UploadFile | None, File()] = None,
) -> Response:
    """What a table of corrected readings would change; nothing is written."""
    signals, signal = _may(engine, viewer, scope, code, channel)
    faults = _reason_fault(reason)
    if file is None or not file.filename:
        faults["file"] = "Choose the file with the corrected readings."
        return _page(request, engine, signals, signal, at=at, faults=faults, reason=reason)
    name, content = uploads.shown_name(file.filename), file.file.read()
    try:
        table = _table(engine, signal, content, name)
    except InputError as error:
        faults["file"] = str(error)
        return _page(request, engine, signals, signal, at=at, faults=faults, reason=reason)
    if faults or table.faults:
        return _page(
            request, engine, signals, signal, at=at, faults=faults, reason=reason, table=table
        )
    sent = {"filename": name, "content": papers.encoded(content), "reason": reason.strip()}
    return _checked(request, engine, signals, signal, table, sent, at=at)


@router.post("/points/{code}/corrections", form_limits={"max_part_size": ENCODED})
def correct(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    code: str,
    channel: Text = "",
    reason: Text = "",
    filename: Text = "",
    content: Annotated[str, Form()] = "",
    seen: Text = "",
) -> Response:
    """Keep the corrected readings, all of them, if what they change is still what was seen."""
    signals, signal = _may(engine, viewer, scope, code, channel)
    table = _table(engine, signal, papers.decoded(content), uploads.shown_name(filename))
    faults = _reason_fault(reason)
    if table.faults or faults:
        return _page(
            request, engine, signals, signal, at=at, faults=faults, reason=reason, table=table
        )
    wanted = [one.correction for one in table.rows]
    with engine.connect() as db:
        by = signed(db, viewer)
    kept = correcting_them.correct(
        engine, signal.channel_id, wanted, reason=reason, by=by, seen=(seen, at)
    )
    if kept is None:
        sent = {"filename": filename, "content": content, "reason": reason.strip()}
        return _checked(request, engine, signals, signal, table, sent, at=at, changed=bool(seen))
    return RedirectResponse(names(signals)[signal.channel_id].under("corrections"),
                            HTTPStatus.SEE_OTHER)  # fmt: skip


def _may(
    engine: Engine, viewer: Viewer, scope: Scope, code: str, channel: str
) -> tuple[Sequence[Signal], Signal]:
    """The channels of a point, and the chosen one. Raises: NotFound, Refused, InputError."""
    with engine.connect() as db:
        signals = ordered(places.at_point(db, scope, code))
    auth.require(viewer, "correct")
    for one in signals:
        if str(one.channel_id) == channel:
            return signals, one
    raise InputError(f"No channel of {code} was chosen; choose whose readings you correct.")


def _table(engine: Engine, signal: Signal, content: bytes, name: str) -> Table:
    if len(content) > uploads.LARGEST:
        raise InputError(uploads.TOO_LARGE)
    with engine.connect() as db:
        return correcting.table(db, signal, content, filename=name)


def _reason_fault(reason: str) -> dict[str, str]:
    if len(reason.strip()) >= SHORTEST_REASON:
        return {}
    return {"reason": f"Write at least {SHORTEST_REASON} characters: it is read at a hearing."}


def _page(  # noqa: PLR0913 - what the page needs
    request: Request,
    engine: Engine,
    signals: Sequence[Signal],
    signal: Signal,
    *,
    at: datetime,
    faults: dict[str, str] | None = None,
    reason: str = "",
    table: Table | None = None,
) -> Response:
    with engine.connect() as db:
        found = corrections.of(
            db, [signal.channel_id], since=at - LONG_AGO, until=at + timedelta(days=1)
        )
    wrong = table.faults if table else ()
    context: dict[str, Any] = {
        **_common(signals, signal),
        "found": found[::-1],
        "faults": faults or {},
        "groups": uploads.grouped(wrong),
        "reason": reason,
        "largest": uploads.LARGEST,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if faults or wrong else HTTPStatus.OK
    return page(request, "corrections.html", context, status=status)


def _common(signals: Sequence[Signal], signal: Signal) -> dict[str, Any]:
    return {
        "signal": signal,
        "signals": [(one, names(signals)[one.channel_id]) for one in signals],
        "name": names(signals)[signal.channel_id],
        "zone": signal.zone,
    }


def _checked(  # noqa: PLR0913 - what the page needs
    request: Request,
    engine: Engine,
    signals: Sequence[Signal],
    signal: Signal,
    table: Table,
    sent: dict[str, str],
    *,
    at: datetime,
    changed: bool = False,
) -> Response:
    wanted = [one.correction for one in table.rows]
    foreseen = correcting_them.foresee(engine, signal.channel_id, wanted, now=at)
    context = {
        **_common(signals, signal),
        "table": table,
        "sent": sent,
        "foreseen": foreseen,
        "effects": effects(foreseen),
        "changed": changed,
    }
    status = HTTPStatus.CONFLICT if changed else HTTPStatus.OK
    return page(request, "correction_check.html", context, status=status)
