"""Bills, each line with its working; what was measured since one was issued, and settling that."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection

from app import auth
from app.deps import Db, Now, Pool, SignedIn, Visible
from app.inputs import Storable
from app.pages.declarations import signed
from app.templating import page
from compliance.errors import InputError, NotFound, Refused
from compliance.jobs import reviews as settling
from compliance.records import board, places, reviews
from compliance.records.scope import Scope

router = APIRouter()

Text = Annotated[Storable, Form(max_length=2000)]
Chosen = Annotated[list[Storable], Form()]
MOST = 10_000


@router.get("/bills")
def bills(request: Request, viewer: SignedIn, scope: Visible, db: Db) -> Response:
    """Every bill a viewer may see, the newest period first."""
    auth.require(viewer, "read bills")
    context = {"bills": board.bills(db, scope), "changed": reviews.open_of(db, scope)}
    return page(request, "bills.html", context)


@router.get("/bills/{number}")
def bill(request: Request, viewer: SignedIn, scope: Visible, db: Db, number: str) -> Response:
    """One bill; every line opens into its sum."""
    found = board.bill(db, scope, number)
    auth.require(viewer, "read bills")
    return _page(request, db, scope, found)


@router.post("/bills/{number}/settle")
def settle(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    number: str,
    day: Chosen = [],  # noqa: B006 - the framework copies it
    reason: Text = "",
) -> Response:
    """Settle the chosen days that changed since; the page again where something is missing.

    day: ``REVIEW.VERSION``, as the form has it.
    """
    with engine.connect() as db:
        found = board.bill(db, scope, number)
        auth.require(viewer, "settle")
        by = signed(db, viewer)
    try:
        settling.settle(engine, number, _seen(day), reason=reason, by=by, now=at)
    except (InputError, NotFound, Refused) as error:
        with engine.connect() as db:
            return _page(request, db, scope, found, problem=str(error), reason=reason)
    return RedirectResponse(f"/bills/{number}", HTTPStatus.SEE_OTHER)


def _seen(chosen: list[str]) -> dict[int, int]:
    """The versions of reviews that a form was sent with. Raises: InputError."""
    seen: dict[int, int] = {}
    for one in chosen[:MOST]:
        number, _, version = one.partition(".")
        if not (_is_number(number) and _is_number(version)):
            raise InputError(
                f"The form has {one[:40]!r} for a day, expected a number, a dot and a number: "
                "open the bill again and choose from its list."
            )
        seen[int(number)] = int(version)
    return seen


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10


def _page(  # noqa: PLR0913 - what the page needs
    request: Request,
    db: Connection,
    scope: Scope,
    found: board.Bill,
    *,
    problem: str = "",
    reason: str = "",
) -> Response:
    measured = reviews.of_bill(db, scope, found.number)
    context = {
        "bill": found,
        "zone": places.zone(db, scope),
        "waiting": [one for one in measured if one.is_open],
        "settled": [one for one in measured if not one.is_open],
        "problem": problem,
        "reason": reason,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return page(request, "bill.html", context, status=status)
