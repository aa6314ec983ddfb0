"""Possible slugs: the list, and of each the file with plot, bottles, notes, clocks, decision."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection

from app import auth, slug_files
from app.deps import Db, Now, Pool, SignedIn, Visible
from app.inputs import Storable
from app.moments import ComesTwice, at_plant, past
from app.pages.declarations import signed
from app.pages.points import span
from app.templating import page
from app.wording import ending, headline
from compliance.enforcing.slug_events import Outcome
from compliance.errors import InputError, Refused
from compliance.jobs import slug_events
from compliance.model.periods import day_of
from compliance.records import people, places, slugs
from compliance.records.scope import Scope

router = APIRouter()

Text = Annotated[Storable, Form(max_length=2000)]
Texts = Annotated[list[Storable] | None, Form()]
AROUND = timedelta(hours=3)
MOST_LETTERS = 2000


@dataclass(slots=True, kw_only=True)
class Sent:
    """What somebody has sent, to be shown again beside what is wrong with it."""

    faults: dict[str, str] = field(default_factory=dict)
    twice: set[str] = field(default_factory=set)
    reason: str = ""
    answers: dict[str, tuple[str, str]] = field(default_factory=dict)
    kind: str = "notice"
    at: str = ""
    fold: str = ""
    words: str = ""


@router.get("/slugs")
def listed(
    request: Request,
    scope: Visible,
    db: Db,
    outcome: Literal["", "open", "slug", "explained"] = "",
) -> Response:
    """Possible slugs, newest first."""
    found = slugs.events(db, scope, outcome=outcome)
    context = {
        "events": [(one, headline(one)) for one in found],
        "outcome": outcome,
        "zone": places.zone(db, scope),
    }
    return page(request, "slugs.html", context)


@router.get("/slugs/{exceedance_id}")
def one(
    request: Request, viewer: SignedIn, scope: Visible, db: Db, at: Now, exceedance_id: str
) -> Response:
    """The file of one possible slug."""
    office = people.office(db, viewer.person_id)
    return _page(request, db, scope, exceedance_id, at=at, sent=Sent(), office=office)


@router.post("/slugs/{exceedance_id}/notes")
def noted(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    exceedance_id: str,
    kind: Text = "",
    happened: Text = "",
    happened_fold: Text = "",
    words: Text = "",
) -> Response:
    """Write down a call, a letter or an effect; the form again where something is missing."""
    with engine.connect() as db:
        event = slugs.event(db, scope, exceedance_id)
        auth.require(viewer, "declare")
        by = signed(db, viewer)
    sent = Sent(kind=kind, at=happened, fold=happened_fold, words=words)
    try:
        when = past(at_plant(happened, event.zone, fold=happened_fold), now=at)
    except InputError as error:
        sent.faults["happened"] = str(error)
        sent.twice |= {"happened"} if isinstance(error, ComesTwice) else set()
    else:
        try:
            slug_events.note(
                engine, exceedance_id, scope=scope, kind=kind, happened_at=when, words=words,
                by=by, now=at,
            )  # fmt: skip
        except InputError as error:
            sent.faults["words" if str(error).startswith("words") else "kind"] = str(error)
    return _answer(request, viewer.person_id, engine, scope, exceedance_id, at=at, sent=sent)


@router.post("/slugs/{exceedance_id}")
def decided(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    exceedance_id: str,
    decision: Text = "",
    reason: Text = "",
    element: Texts = None,
    happened: Texts = None,
    saw: Texts = None,
) -> Response:
    """A person's decision on a possible slug."""
    with engine.connect() as db:
        slugs.event(db, scope, exceedance_id)
        auth.require(viewer, "decide")
        office = people.office(db, viewer.person_id)
    given = _answers(element, happened, saw)
    sent = Sent(reason=reason, answers=given)
    try:
        slug_events.decide(
            engine,
            exceedance_id,
            scope=scope,
            outcome=_outcome(decision),
            given=given,
            reason=reason,
            viewer=viewer,
            capacity=office,
            now=at,
        )
    except InputError as error:
        of = str(error).partition(":")[0]
        sent.faults["reason" if of == "decision" else f"saw_{of}"] = str(error)
    except Refused as error:
        sent.faults["reason"] = str(error)
    return _answer(request, viewer.person_id, engine, scope, exceedance_id, at=at, sent=sent)


def _outcome(decision: str) -> Outcome:
    try:
        return Outcome(decision)
    except ValueError:
        raise InputError(
            f"decision: found {decision[:40]!r}, expected slug or explained: press one of the "
            "buttons"
        ) from None


def _answers(
    element: list[str] | None, happened: list[str] | None, saw: list[str] | None
) -> dict[str, tuple[str, str]]:
    """Element → answer and what was seen, from three lists of equal length."""
    rows = zip(element or (), happened or (), saw or (), strict=False)
    return {key: (said, seen[:MOST_LETTERS]) for key, said, seen in rows}


def _answer(
    request: Request,
    person_id: int,
    engine: Any,
    scope: Scope,
    exceedance_id: str,
    *,
    at: datetime,
    sent: Sent,
) -> Response:
    """Back to the file, or the file with what is wrong."""
    if not sent.faults:
        return RedirectResponse(f"/slugs/{exceedance_id}", HTTPStatus.SEE_OTHER)
    with engine.connect() as db:
        office = people.office(db, person_id)
        return _page(request, db, scope, exceedance_id, at=at, sent=sent, office=office)


def _page(
    request: Request,
    db: Connection,
    scope: Scope,
    exceedance_id: str,
    *,
    at: datetime,
    sent: Sent,
    office: str,
) -> Response:
    found = slug_files.file_of(db, scope, exceedance_id)
    event = found.event
    context: dict[str, Any] = {
        "file": found,
        "event": event,
        "headline": headline(event),
        "ending": ending(event),
        "zone": event.zone,
        "today": day_of(at, ZoneInfo(event.zone)),
        "kinds": slug_events.KINDS,
        "form": sent,
        "faults": sent.faults,
        "office": office,
        "signal": None,
        **_chart(db, scope, event, at=at),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if sent.faults else HTTPStatus.OK
    return page(request, "slug.html", context, status=status)


def _chart(db: Connection, scope: Scope, event: slugs.Event, *, at: datetime) -> dict[str, Any]:
    signals = places.at_point(db, scope, event.point)
    signal = next((one for one in signals if one.channel_id == event.channel_id), None)
    if signal is None:
        return {}
    until = min(event.ends_at + AROUND, max(at, event.ends_at))
    return span(db, scope, signal, since=event.starts_at - AROUND, until=until)
