"""Bills with their lines."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from app import auth
from app.deps import Db, SignedIn, Visible
from compliance.records import board
from compliance.records.board import Bill

router = APIRouter(tags=["bills"])


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
