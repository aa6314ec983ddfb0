"""Bills with their lines."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from app import auth
from app.deps import Db, Now, Pool, SignedIn, Visible
from app.inputs import Storable
from app.pages.declarations import signed
from compliance.jobs import reviews as settling
from compliance.model.reviews import Review
from compliance.records import board, reviews
from compliance.records.board import Bill

router = APIRouter(tags=["bills"])

Number = Annotated[int, Field(ge=1, le=2**31 - 1)]


class Seen(BaseModel):
    """A review as it was seen: it is settled only while nothing has changed since."""

    model_config = ConfigDict(extra="forbid")

    review: Number
    version: Number


class Settling(BaseModel):
    """Which changed days of a bill are settled, and why."""

    model_config = ConfigDict(extra="forbid")

    reviews: Annotated[list[Seen], Field(min_length=1, max_length=10_000)]
    reason: Annotated[Storable, Field(max_length=2000, description="Why the bill may stand.")]


def _here(scope: Visible, engine: Pool, number: str) -> Bill:
    """The bill that an address names, looked for before anything else. Raises: NotFound."""
    with engine.connect() as db:
        return board.bill(db, scope, number)


Here = Annotated[Bill, Depends(_here)]


@router.get("/bills")
def bills(viewer: SignedIn, scope: Visible, db: Db) -> dict[str, Any]:
    """Bills without their lines, the newest period first."""
    auth.require(viewer, "read bills")
    return {"bills": [_bill(one) for one in board.bills(db, scope)]}


@router.get("/bills/{number}")
def bill(viewer: SignedIn, scope: Visible, db: Db, number: str) -> dict[str, Any]:
    """One bill; money is text, so that no reader makes a float of it."""
    found = board.bill(db, scope, number)
    auth.require(viewer, "read bills")
    lines = [
        {
            "code": line.code,
            "description": line.description,
            "quantity": line.quantity,
            "unit": line.unit,
            "rate": line.rate,
            "amount": str(line.amount),
            "working": line.working,
            "sources": line.sources,
            "samples": line.samples,
        }
        for line in found.lines
    ]
    return {**_bill(found), "lines": lines}


@router.get("/bills/{number}/reviews")
def changed(viewer: SignedIn, scope: Visible, db: Db, here: Here) -> dict[str, Any]:
    """Days of a bill that were measured otherwise since it was issued, those to settle first.

    The bill rests on the city's water and on laboratory results, and may be right as it is.
    """
    auth.require(viewer, "read bills")
    found = reviews.of_bill(db, scope, here.number)
    return {"bill": here.number, "reviews": [_review(one) for one in found]}


@router.post("/bills/{number}/reviews")
def settle(  # noqa: PLR0913 - what a request brings
    viewer: SignedIn, scope: Visible, engine: Pool, at: Now, here: Here, sent: Settling
) -> dict[str, Any]:
    """Settle some of them, all of the list or none; the bill is not changed by it."""
    auth.require(viewer, "settle")
    with engine.connect() as db:
        by = signed(db, viewer)
    seen = {one.review: one.version for one in sent.reviews}
    settling.settle(engine, here.number, seen, reason=sent.reason, by=by, now=at)
    with engine.connect() as db:
        found = reviews.of_bill(db, scope, here.number)
    return {"bill": here.number, "reviews": [_review(one) for one in found if one.id in seen]}


def _review(one: Review) -> dict[str, Any]:
    return {
        "review": one.id,
        "version": one.version,
        "channel": one.channel_id,
        "point": one.point,
        "parameter": one.parameter,
        "day": one.day.isoformat(),
        "what": one.what.value,
        "unit": one.unit,
        "was": None if one.was is None else f"{one.was:f}",
        "now": None if one.now is None else f"{one.now:f}",
        "working": [f"was: {one.was_working}", f"is: {one.now_working}"],
        "opened_at": one.opened_at.isoformat(),
        "changed_at": one.changed_at.isoformat(),
        "settled_at": one.settled_at.isoformat() if one.settled_at else None,
        "settled_by": one.settled_by,
        "settled_why": one.settled_why,
    }


def _bill(one: Bill) -> dict[str, Any]:
    return {
        "bill": one.number,
        "industrial_user": one.industrial_user,
        "from": one.first.isoformat(),
        "to": one.last.isoformat(),
        "tariff": one.tariff,
        "total": str(one.total),
        "due_on": one.due_on.isoformat() if one.due_on else None,
        "state": one.state,
        "notes": one.notes,
    }
