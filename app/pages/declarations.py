"""What people declare about an instrument: windows in which it does not count, calibrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection

from app import auth
from app.checkup import AHEAD, WEEK
from app.deps import Db, Now, Pool, SignedIn, Visible
from app.forms import CalibrationForm, WindowForm
from app.inputs import Id, Storable
from app.moments import at_plant, past
from app.templating import page
from app.wording import names
from compliance.enforcing.decisions import SHORTEST_REASON
from compliance.errors import InputError, NotFound, Refused
from compliance.jobs import calibrations as calibrating
from compliance.jobs import windows as declaring
from compliance.model.sites import Viewer
from compliance.model.windows import WindowKind, overlaps
from compliance.records import calibrations, instruments, people, places, windows
from compliance.records.instruments import Instrument
from compliance.records.places import Signal
from compliance.records.scope import Scope

router = APIRouter()

Text = Annotated[Storable, Form(max_length=2000)]
LONG_AGO = 52 * WEEK
"""Windows that ended before are left out of the list."""


@router.get("/instruments/{instrument_id}/windows")
def declared(  # noqa: PLR0913 - what a request brings
    request: Request, viewer: SignedIn, scope: Visible, db: Db, at: Now, instrument_id: Id
) -> Response:
    """The windows declared over an instrument; those who may declare find the form."""
    device = instruments.one(db, scope, instrument_id)
    return _windows(request, db, scope, device, at=at, form=WindowForm.blank(at, device.zone))


@router.post("/instruments/{instrument_id}/windows")
def declare(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    instrument_id: Id,
    over: Text = "",
    kind: Text = "",
    since: Text = "",
    since_fold: Text = "",
    until: Text = "",
    until_fold: Text = "",
    reason: Text = "",
) -> Response:
    """Declare a window, before the fact or after it; the form again where something is missing."""
    with engine.connect() as db:
        device = instruments.one(db, scope, instrument_id)
        auth.require(viewer, "declare")
        signals = at_point(db, scope, device)
        by = signed(db, viewer)
    form = WindowForm(
        over=over,
        kind=kind,
        since=since,
        since_fold=since_fold,
        until=until,
        until_fold=until_fold,
        reason=reason,
    )
    window = form.window(device, signals, by=by, now=at)
    if window is None:
        with engine.connect() as db:
            return _windows(request, db, scope, device, at=at, form=form)
    declaring.declare(engine, window)
    return RedirectResponse(f"/instruments/{instrument_id}/windows", HTTPStatus.SEE_OTHER)


@router.post("/instruments/{instrument_id}/windows/{window}/end")
def end(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    instrument_id: Id,
    window: Id,
    until: Text = "",
    until_fold: Text = "",
) -> Response:
    """Say when an open window ended."""
    device, by = _of_window(engine, viewer, scope, instrument_id, window)
    try:
        ended = past(at_plant(until, device.zone, fold=until_fold), now=at)
        declaring.end(engine, window, until=ended, by=by, now=at)
    except (InputError, Refused) as error:
        faults = {f"end-{window}": str(error)}
        return _again(request, engine, scope, device, at=at, faults=faults)
    return RedirectResponse(f"/instruments/{instrument_id}/windows", HTTPStatus.SEE_OTHER)


@router.post("/instruments/{instrument_id}/windows/{window}/withdraw")
def withdraw(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    instrument_id: Id,
    window: Id,
    reason: Text = "",
) -> Response:
    """Take a declaration back; it stays on record."""
    device, by = _of_window(engine, viewer, scope, instrument_id, window)
    try:
        declaring.withdraw(engine, window, by=by, why=_long_enough(reason), now=at)
    except (InputError, Refused) as error:
        faults = {f"withdraw-{window}": str(error)}
        return _again(request, engine, scope, device, at=at, faults=faults)
    return RedirectResponse(f"/instruments/{instrument_id}/windows", HTTPStatus.SEE_OTHER)


@router.get("/instruments/{instrument_id}/calibrations")
def calibrated(  # noqa: PLR0913 - what a request brings
    request: Request, viewer: SignedIn, scope: Visible, db: Db, at: Now, instrument_id: Id
) -> Response:
    """The calibrations of an instrument; those who may record one find the form."""
    device = instruments.one(db, scope, instrument_id)
    return _calibrations(request, db, scope, device, form=CalibrationForm.blank(at, device.zone))


@router.post("/instruments/{instrument_id}/calibrations")
def calibrate(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    instrument_id: Id,
    channel: Text = "",
    when: Text = "",
    when_fold: Text = "",
    by: Text = "",
    standard: Annotated[list[Storable] | None, Form()] = None,
    before: Annotated[list[Storable] | None, Form()] = None,
    after: Annotated[list[Storable] | None, Form()] = None,
) -> Response:
    """Record a calibration; the form again where something is missing."""
    with engine.connect() as db:
        device = instruments.one(db, scope, instrument_id)
        auth.require(viewer, "declare")
        signals = _own(at_point(db, scope, device), device)
        recorded_by = signed(db, viewer)
    form = CalibrationForm.of(
        channel=channel,
        when=when,
        when_fold=when_fold,
        by=by,
        sheet=(standard or [], before or [], after or []),
    )
    sheet = form.sheet(signals, zone=device.zone, now=at)
    if sheet is None:
        with engine.connect() as db:
            return _calibrations(request, db, scope, device, form=form)
    calibrating.record(
        engine,
        sheet.channel_id,
        at=sheet.at,
        by=sheet.by,
        standards=sheet.standards,
        recorded_by=recorded_by,
    )
    return RedirectResponse(f"/instruments/{instrument_id}/calibrations", HTTPStatus.SEE_OTHER)


def signed(db: Connection, viewer: Viewer) -> str:
    """Who declares something: name and office."""
    office = people.office(db, viewer.person_id)
    return f"{viewer.name}, {office}" if office else viewer.name


def at_point(db: Connection, scope: Scope, device: Instrument) -> tuple[Signal, ...]:
    """Every channel at an instrument's point."""
    return places.at_point(db, scope, device.point)


def _own(signals: Sequence[Signal], device: Instrument) -> tuple[Signal, ...]:
    return tuple(one for one in signals if one.instrument_id == device.id)


def _of_window(
    engine: Pool, viewer: Viewer, scope: Scope, instrument_id: int, number: int
) -> tuple[Instrument, str]:
    """The instrument of a window, and who acts. Raises: NotFound, Refused."""
    with engine.begin() as db:
        device = instruments.one(db, scope, instrument_id)
        ids = {one.channel_id for one in _own(at_point(db, scope, device), device)}
        if ids.isdisjoint(windows.locked(db, number).channels):
            raise NotFound(f"There is no declared window {number} here.")
        auth.require(viewer, "declare")
        return device, signed(db, viewer)


def _long_enough(reason: str) -> str:
    if len(reason.strip()) < SHORTEST_REASON:
        raise InputError(f"Write at least {SHORTEST_REASON} characters: it is read at a hearing.")
    return reason.strip()


def _again(  # noqa: PLR0913 - what the page needs
    request: Request,
    engine: Pool,
    scope: Scope,
    device: Instrument,
    *,
    at: datetime,
    faults: Mapping[str, str],
) -> Response:
    form = WindowForm.blank(at, device.zone)
    form.faults.update(faults)
    with engine.connect() as db:
        return _windows(request, db, scope, device, at=at, form=form)


def _windows(  # noqa: PLR0913 - what the page needs
    request: Request,
    db: Connection,
    scope: Scope,
    device: Instrument,
    *,
    at: datetime,
    form: WindowForm,
) -> Response:
    signals = at_point(db, scope, device)
    mine = _own(signals, device)
    ids = [one.channel_id for one in mine]
    found = windows.of(db, ids, since=at - LONG_AGO, until=at + AHEAD, withdrawn=True)
    context: dict[str, Any] = {
        "zone": device.zone,
        "now": at,
        "device": device,
        "windows": found,
        "on": overlaps(found),
        "called": {channel: name.text for channel, name in names(signals).items()},
        "mine": mine,
        "others": [one for one in signals if one.instrument_id != device.id],
        "kinds": list(WindowKind),
        "form": form,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.faults else HTTPStatus.OK
    return page(request, "windows.html", context, status=status)


def _calibrations(
    request: Request, db: Connection, scope: Scope, device: Instrument, *, form: CalibrationForm
) -> Response:
    signals = at_point(db, scope, device)
    mine = _own(signals, device)
    context: dict[str, Any] = {
        "zone": device.zone,
        "device": device,
        "mine": mine,
        "units": {one.channel_id: one.unit for one in mine},
        "called": {channel: name.text for channel, name in names(signals).items()},
        "calibrations": calibrations.of(db, [one.channel_id for one in mine]),
        "intervals": calibrations.intervals(db, [one.channel_id for one in mine]),
        "form": form,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.faults else HTTPStatus.OK
    return page(request, "calibrations.html", context, status=status)
