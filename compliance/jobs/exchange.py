"""A person notes that a meter was exchanged, or takes such a note back. One transaction each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from sqlalchemy import Connection, Engine

from compliance.errors import InputError
from compliance.jobs.totals import counter, stored_total
from compliance.model.sites import Channel, Viewer
from compliance.records import audit, meters, readings

SHORTEST_REASON = 8
AROUND = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What a person says of an exchange: the old meter's last read, the new one's first."""

    at: datetime
    final: Decimal
    initial: Decimal
    reason: str


def note(
    engine: Engine, said: Exchange, *, total: Channel, point: str, viewer: Viewer, now: datetime
) -> int:
    """Keep a note of an exchange and compute anew what rests on that total; its number.

    Raises: InputError where it cannot be so, by the readings around it.
    """
    _check(said, total, now)
    with engine.begin() as db:
        made = meters.note(
            db,
            total.id,
            at=said.at,
            final=said.final,
            initial=said.initial,
            reason=said.reason.strip(),
            person_id=viewer.person_id,
        )
        found = stored_total(db, total, since=said.at - AROUND, until=said.at + AROUND)
        if found.problem:
            raise InputError(found.problem)
        _touch(db, total, said.at)
        audit.note(
            db,
            by=viewer.name,
            act="note a meter exchanged",
            subject=f"{point} {total.entry}",
            detail={
                "person": viewer.person_id,
                "note": made,
                "at": said.at,
                "final": said.final,
                "initial": said.initial,
                "unit": total.unit.value,
                "reason": said.reason.strip(),
            },
        )
    return made


def withdraw(
    engine: Engine, note_id: int, *, total: Channel, point: str, viewer: Viewer, now: datetime
) -> datetime:
    """Take a note back; it stays to be read. The instant of the exchange it spoke of.

    Raises: NotFound.
    """
    with engine.begin() as db:
        at = meters.withdraw(db, note_id, channels=[total.id], person_id=viewer.person_id, now=now)
        _touch(db, total, at)
        audit.note(
            db,
            by=viewer.name,
            act="withdraw a note of a meter exchanged",
            subject=f"{point} {total.entry}",
            detail={"person": viewer.person_id, "note": note_id, "at": at},
        )
    return at


def _check(said: Exchange, total: Channel, now: datetime) -> None:
    modulus = counter(total).modulus
    if said.at > now:
        raise InputError("the exchange lies in the future; note it when it is done")
    if len(said.reason.strip()) < SHORTEST_REASON:
        raise InputError(
            f"the reason is too short; write at least {SHORTEST_REASON} characters, such as why "
            "and by whom the meter was exchanged"
        )
    for name, value in (("last read", said.final), ("first read", said.initial)):
        if not 0 <= value < modulus:
            raise InputError(
                f"the {name} is {value} {total.unit.value}; expected a number from 0 up to "
                f"{modulus:f}, where this total goes on from zero"
            )


def _touch(db: Connection, total: Channel, at: datetime) -> None:
    """What rests on the total around an instant is computed anew."""
    readings.mark_dirty(
        db, [total.id], since=at - AROUND, until=at + AROUND, why="a meter exchanged"
    )
