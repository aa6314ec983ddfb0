"""Setting up an instrument: gateway, scan, map and point, channels, display, confirmation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection, Engine
from starlette.exceptions import HTTPException

from app import auth, field, laying
from app.deps import Config, Now, Pool, SignedIn, Visible
from app.inputs import Id
from app.templating import page
from compliance.errors import InputError, NotFound, Refused
from compliance.jobs import commission, comparing
from compliance.jobs.commission import Act, BadField
from compliance.model.reach import Reach
from compliance.model.sites import Viewer
from compliance.records import counting, health, questions, setting_up
from compliance.records.questions import Asks
from compliance.records.scope import Scope

router = APIRouter()

LONGEST = 2000
MOST_FIELDS = 500
MOST_UNITS = 32
"""A silent unit costs a second: so many are looked at in the time that a question has."""
DONE = HTTPStatus.SEE_OTHER


async def _typed(request: Request) -> dict[str, str]:
    """What was typed into a form. Raises: HTTPException, 400 or 422."""
    async with request.form(max_fields=MOST_FIELDS) as form:
        found = {name: text for name, text in form.items() if isinstance(text, str)}
    if any("\x00" in part for pair in found.items() for part in pair):
        detail = "A NUL character stands in the form; send it without."
        raise HTTPException(HTTPStatus.BAD_REQUEST, detail)
    if any(len(text) > LONGEST for text in found.values()):
        detail = f"A field has more than {LONGEST} letters; say it shorter."
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Who is at work, on what database, and what he typed."""

    viewer: Viewer
    scope: Scope
    engine: Engine
    at: datetime
    typed: Mapping[str, str]
    reach: Reach

    @property
    def act(self) -> Act:
        """His next act. Raises: Refused where he may not set up instruments."""
        auth.require(self.viewer, "commission")
        return Act(by=self.viewer.name, scope=self.scope, at=self.at)


def _desk(  # noqa: PLR0913 - what a request brings
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    settings: Config,
    typed: Annotated[dict[str, str], Depends(_typed)],
) -> Desk:
    reach = Reach.of(settings.field_places)
    return Desk(viewer=viewer, scope=scope, engine=engine, at=at, typed=typed, reach=reach)


AtWork = Annotated[Desk, Depends(_desk)]
Problems = Mapping[str, str]
"""What is wrong with a form, by field; under the empty name what concerns all of it."""


def _problems(error: BadField | Refused | NotFound) -> dict[str, str]:
    return {error.field if isinstance(error, BadField) else "": str(error)}


@router.get("/instruments/new")
def begin(request: Request, desk: AtWork) -> Response:
    """What was begun, the gateways there are, and a form for another."""
    return _begin(request, desk, {})


def _begin(request: Request, desk: Desk, problems: Problems) -> Response:
    auth.require(desk.viewer, "commission")
    with desk.engine.connect() as db:
        begun = setting_up.begun(db, desk.scope)
        channels = [channel.id for one in begun for channel in one.channels]
        context = {
            "begun": begun,
            "counted": counting.counts(db, channels, at=desk.at),
            "gateways": setting_up.gateways(db, desk.scope),
        }
    return _page(request, "instrument_new.html", desk, context, problems)


@router.post("/instruments/new")
def gateway(request: Request, desk: AtWork) -> Response:
    """Write down a gateway and go on to what is behind it."""
    act = desk.act
    try:
        with desk.engine.begin() as db:
            may = partial(field.require, db, desk.scope, reach=desk.reach)
            made = commission.add_gateway(db, act, desk.typed, allowed=may)
    except BadField as error:
        return _begin(request, desk, _problems(error))
    return RedirectResponse(f"/instruments/new/{made}", DONE)


@router.get("/instruments/new/{gateway_id}")
def behind(request: Request, desk: AtWork, gateway_id: Id) -> Response:
    """Scan a gateway, then say which unit stands at which point and which map reads it."""
    return _behind(request, desk, gateway_id, {})


def _behind(request: Request, desk: Desk, gateway_id: int, problems: Problems) -> Response:
    with desk.engine.connect() as db:
        found = setting_up.gateway(db, desk.scope, gateway_id)
        auth.require(desk.viewer, "commission")
        context = {
            "gateway": found,
            "scan": questions.newest(db, gateway=found, asks=Asks.SCAN),
            "points": setting_up.points(db, desk.scope),
            "maps": laying.choices(db),
            "unusable": health.unusable_maps(db),
        }
    return _page(request, "instrument_gateway.html", desk, context, problems)


@router.post("/instruments/new/{gateway_id}/scan")
def scan(request: Request, desk: AtWork, gateway_id: Id) -> Response:
    """Ask a worker which units answer."""
    try:
        with desk.engine.begin() as db:
            found = setting_up.gateway(db, desk.scope, gateway_id)
            first, last = _units(desk.act, desk.typed)
            person = desk.viewer.person_id
            _asked(
                lambda: questions.ask(
                    db, person_id=person, asks=Asks.SCAN, gateway=found, units=(first, last)
                ),
                "last",
            )
    except BadField as error:
        return _behind(request, desk, gateway_id, _problems(error))
    return RedirectResponse(f"/instruments/new/{gateway_id}#scan", DONE)


def _asked(ask: Callable[[], int], at: str) -> None:
    """Put a question; what is refused is told beside a field. Raises: BadField."""
    try:
        ask()
    except InputError as error:
        raise BadField(at, str(error)) from None


def _units(act: Act, typed: Mapping[str, str]) -> tuple[int, int]:
    first, last = (commission.whole(typed, name, low=0, high=255) for name in ("first", "last"))
    if not first <= last < first + MOST_UNITS:
        said = f"units are {first} to {last}; expected up to {MOST_UNITS} at a time, upwards"
        raise BadField("last", said)
    return first, last


@router.post("/instruments/new/{gateway_id}")
def instrument(request: Request, desk: AtWork, gateway_id: Id) -> Response:
    """Write down an instrument and go on to its channels."""
    try:
        with desk.engine.begin() as db:
            found = setting_up.gateway(db, desk.scope, gateway_id)
            made = commission.add_instrument(db, desk.act, found, desk.typed)
    except BadField as error:
        return _behind(request, desk, gateway_id, _problems(error))
    return RedirectResponse(f"/instruments/{made}/commission", DONE)


@router.get("/instruments/{instrument_id}/commission")
def commissioning(request: Request, desk: AtWork, instrument_id: Id) -> Response:
    """An instrument's channels, its live values beside the display, and its confirmation."""
    return _commissioning(request, desk, instrument_id, {})


def _commissioning(
    request: Request, desk: Desk, instrument_id: int, problems: Problems
) -> Response:
    with desk.engine.connect() as db:
        found = setting_up.find(db, desk.scope, instrument_id)
        auth.require(desk.viewer, "commission")
        context = laying.commissioning(db, found)
    return _page(request, "commission.html", desk, context, problems)


Work = Callable[[Connection, Act, setting_up.SetUp], None]


def _do(
    request: Request, desk: Desk, instrument_id: int, work: Work, *, then: str = ""
) -> Response:
    """Do one thing to an instrument, in one transaction; what is refused is said on its page."""
    try:
        with desk.engine.begin() as db:
            setting_up.find(db, desk.scope, instrument_id)
            act = desk.act
            setting_up.lock(db, instrument_id)  # whoever comes second sees what the first did
            work(db, act, setting_up.find(db, desk.scope, instrument_id))
    except BadField as error:
        return _commissioning(request, desk, instrument_id, _problems(error))
    return RedirectResponse(f"/instruments/{instrument_id}/commission{then}", DONE)


@router.post("/instruments/{instrument_id}/commission/map")
def change(request: Request, desk: AtWork, instrument_id: Id) -> Response:
    """Read it by another map, or in another order: what counted counts no more."""

    def work(db: Connection, act: Act, found: setting_up.SetUp) -> None:
        commission.change_map(db, act, found, desk.typed)

    return _do(request, desk, instrument_id, work)


@router.post("/instruments/{instrument_id}/commission/channels")
def channel(request: Request, desk: AtWork, instrument_id: Id) -> Response:
    """Read an entry as a channel, or change how it is told."""

    def work(db: Connection, act: Act, found: setting_up.SetUp) -> None:
        commission.put_channel(db, act, found, desk.typed)

    return _do(request, desk, instrument_id, work, then="#channels")


@router.post("/instruments/{instrument_id}/commission/stop")
def stop(request: Request, desk: AtWork, instrument_id: Id) -> Response:
    """Read a channel no more."""

    def work(db: Connection, act: Act, found: setting_up.SetUp) -> None:
        commission.stop_reading(db, act, found, desk.typed)

    return _do(request, desk, instrument_id, work, then="#channels")


@router.post("/instruments/{instrument_id}/commission/read")
def read(request: Request, desk: AtWork, instrument_id: Id) -> Response:
    """Ask a worker to read the instrument once; for browsers without scripts."""

    def work(db: Connection, act: Act, found: setting_up.SetUp) -> None:
        _asked(lambda: laying.ask(db, found, person_id=desk.viewer.person_id), "question")

    return _do(request, desk, instrument_id, work, then="#values")


@router.post("/instruments/{instrument_id}/commission/compare")
def compare(request: Request, desk: AtWork, instrument_id: Id) -> Response:
    """Compare what was read with what the display shows."""

    def work(db: Connection, act: Act, found: setting_up.SetUp) -> None:
        number = commission.whole(desk.typed, "question", low=1, high=2**31 - 1)
        try:
            asked = questions.find(db, number, person_id=desk.viewer.person_id)
            comparing.compare_with_display(db, act, found, asked, desk.typed)
        except (Refused, NotFound) as error:
            raise BadField("question", str(error)) from None

    return _do(request, desk, instrument_id, work, then="#compared")


@router.post("/instruments/{instrument_id}/commission/confirm")
def confirm(request: Request, desk: AtWork, instrument_id: Id) -> Response:
    """Let the point count from now on."""

    def work(db: Connection, act: Act, found: setting_up.SetUp) -> None:
        try:
            comparing.confirm(db, act, found, desk.typed)
        except Refused as error:
            raise BadField("confirm", str(error)) from None

    return _do(request, desk, instrument_id, work, then="#top")


def _page(
    request: Request, name: str, desk: Desk, context: Mapping[str, Any], problems: Problems
) -> Response:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problems else HTTPStatus.OK
    every = {"typed": desk.typed, "problems": problems, "now": desk.at, **context}
    return page(request, name, every, status=status)
