"""People place and lift holds on readings, each in one audited transaction."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Engine

from compliance.errors import Refused
from compliance.records import audit, destructions, holds
from compliance.records.holds import Over


def place(  # noqa: PLR0913 - what a hold is
    engine: Engine,
    over: Over,
    *,
    since: datetime | None,
    until: datetime | None,
    reason: str,
    by: str,
    now: datetime,
) -> int:
    """Place a hold; its number. When it is placed, nothing of what it covers is destroyed any more.

    since, until: None is without a bound.
    """
    with engine.begin() as db:
        destructions.lock(db)  # a month that is being closed is closed before the hold is placed
        number = holds.place(db, over, since=since, until=until, reason=reason, by=by, at=now)
        placed = holds.locked(db, number, city_id=over.city_id)
        detail = {"over": placed.over, "since": since, "until": until, "reason": reason}
        audit.note(db, by=by, act="place a hold", subject=f"hold {number}", detail=detail)
    return number


def lift(
    engine: Engine, number: int, *, city_id: int | None, by: str, why: str, now: datetime
) -> None:
    """Lift a hold of a city (None: of any); it stays on record.

    Raises: NotFound, Refused.
    """
    with engine.begin() as db:
        found = holds.locked(db, number, city_id=city_id)
        if found.lifted_at is not None:
            raise Refused(f"Hold {number} was lifted by {found.lifted_by} already.")
        holds.lift(db, number, by=by, at=now, why=why)
        detail = {"over": found.over, "why": why}
        audit.note(db, by=by, act="lift a hold", subject=f"hold {number}", detail=detail)
