"""A point's volume by civil days, its meter's exchanges, and the composites of its sampler."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Engine

from app import auth, volumes
from app.deps import Db, Now, Pool, SignedIn, Visible
from app.inputs import Day, Id, Instant, Storable
from app.templating import page
from compliance.errors import InputError
from compliance.jobs import exchange
from compliance.model.periods import day_of
from compliance.model.sites import Channel
from compliance.records import places
from compliance.records.scope import Scope

router = APIRouter()

PLAIN = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")
Text = Annotated[Storable, Form(max_length=1000)]


@router.get("/points/{code}/volume")
def volume(  # noqa: PLR0913 - what a request brings
    request: Request,
    scope: Visible,
    db: Db,
    at: Now,
    code: str,
    first: Annotated[Day | None, Query(alias="from")] = None,
    last: Annotated[Day | None, Query(alias="to")] = None,
    entry: str = "",
) -> Response:
    """One civil day, or up to 31."""
    found = volumes.shown(db, scope, code, first=first, last=last, entry=entry, now=at)
    return _page(request, found, code, at)


@router.post("/points/{code}/meter")
def note_exchange(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    now: Now,
    code: str,
    at: Annotated[Instant | None, Form()] = None,
    entry: Text = "",
    final: Text = "",
    initial: Text = "",
    reason: Text = "",
) -> Response:
    """Note that a meter was exchanged; what rests on its total is computed anew."""
    total, zone = _total(engine, scope, code, entry)
    auth.require(viewer, "decide")
    typed = {"at": at, "final": final, "initial": initial, "reason": reason}
    day = day_of(_aware(at, zone), zone) if at else day_of(now, zone)
    try:
        if at is None:
            raise InputError("there is no instant; give the day and time of the exchange")
        said = exchange.Exchange(
            at=_aware(at, zone),
            final=_number(final, "last read of the old meter"),
            initial=_number(initial, "first read of the new meter"),
            reason=reason,
        )
        exchange.note(engine, said, total=total, point=code, viewer=viewer, now=now)
    except InputError as error:
        with engine.connect() as db:
            found = volumes.shown(db, scope, code, first=day, last=day, entry=total.entry, now=now)
        return _page(request, found, code, now, problem=str(error), typed=typed)
    return _to(code, day, total.entry)


@router.post("/points/{code}/meter/{note_id}/withdraw")
def withdraw_exchange(  # noqa: PLR0913 - what a request brings
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    now: Now,
    code: str,
    note_id: Id,
    entry: Text = "",
) -> Response:
    """Take such a note back; it stays to be read."""
    total, zone = _total(engine, scope, code, entry)
    auth.require(viewer, "decide")
    at = exchange.withdraw(engine, note_id, total=total, point=code, viewer=viewer, now=now)
    return _to(code, day_of(at, zone), total.entry)


def _total(engine: Engine, scope: Scope, code: str, entry: str) -> tuple[Channel, ZoneInfo]:
    with engine.connect() as db:
        signals = places.at_point(db, scope, code)
        found = volumes.channels(db, signals, entry)[1] if signals else None
    if found is None:
        raise InputError(f"{code} has no total whose meter could be exchanged")
    return found, ZoneInfo(signals[0].zone)


def _to(code: str, day: date, entry: str) -> Response:
    where = f"/points/{quote(code)}/volume?from={day}&to={day}&entry={quote(entry)}#meter"
    return RedirectResponse(where, HTTPStatus.SEE_OTHER)


def _aware(at: datetime, zone: ZoneInfo) -> datetime:
    return at if at.tzinfo else at.replace(tzinfo=zone)


def _number(text: str, name: str) -> Decimal:
    plain = text.strip().replace(",", "")
    if not PLAIN.fullmatch(plain):
        raise InputError(
            f"the {name} is {text.strip()[:40]!r}; expected the number on its display, such as "
            "48210 or 48210.5"
        )
    return Decimal(plain)


def _page(  # noqa: PLR0913 - a page and what was typed in it
    request: Request,
    found: volumes.Shown | None,
    code: str,
    now: datetime,
    *,
    problem: str = "",
    typed: dict[str, Any] | None = None,
) -> Response:
    if found is None:
        return page(request, "point_empty.html", {"code": code})
    bars, tallest = volumes.bars(found.volume.pieces)
    today = day_of(now, found.zone)
    length = (found.last - found.first).days + 1
    context = {
        "found": found,
        "zone": found.signal.zone,
        "plot": {
            "bars": bars,
            "tallest": tallest,
            "width": volumes.WIDTH,
            "height": volumes.HEIGHT,
        },
        "before": found.first - timedelta(days=length),
        "after": found.last + timedelta(days=1) if found.last < today else None,
        "length": timedelta(days=length - 1),
        "spans": {
            "Today": (today, today),
            "Yesterday": (today - timedelta(days=1), today - timedelta(days=1)),
            "7 days": (today - timedelta(days=6), today),
            "31 days": (today - timedelta(days=30), today),
        },
        "problem": problem,
        "typed": typed or {},
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return page(request, "volume.html", context, status=status)
