"""What people put on record of capacity and agreements, each in one audited transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Engine

from compliance.errors import Refused
from compliance.judging.capacity import Line
from compliance.judging.documents import figures_of
from compliance.model.agreements import ServiceAgreement
from compliance.model.capacity import Determined, FacilityKind, Figure, Note
from compliance.records import agreements, audit, capacity, outbox

ON_FILE = "agreement.on_file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A service agreement as it is put on record. until: None where the paper names no end."""

    user_id: int
    since: date
    until: date | None
    capital_percent: Decimal
    conditions: str
    document: str
    file: bytes | None


def add_facility(engine: Engine, city_id: int, *, kind: FacilityKind, name: str, by: str) -> int:
    """Put a sewer or lift station on record. Raises: Refused for a name on record."""
    with engine.begin() as db:
        number = capacity.add_facility(db, city_id, kind=kind, name=name, by=by)
        detail = {"kind": kind.value, "name": name}
        audit.note(db, by=by, act="add a facility", subject=f"facility {number}", detail=detail)
    return number


def add_figure(engine: Engine, city_id: int, figure: Figure) -> int:
    """Put a figure of a document on record. Raises: NotFound."""
    with engine.begin() as db:
        number = capacity.add_figure(db, city_id, figure)
        detail = {
            "facility": figure.facility_id,
            "what": figure.what.value,
            "parameter": figure.parameter.value,
            "value": figure.value,
            "document": figure.document,
            "paper": figure.paper.value,
            "dated": figure.dated.isoformat() if figure.dated else None,
            "reserved_for": figure.reserved_for,
        }
        subject = f"capacity figure {number}"
        audit.note(db, by=figure.entered_by, act="record a figure", subject=subject, detail=detail)
    return number


def withdraw_figure(
    engine: Engine, city_id: int | None, number: int, *, by: str, why: str, now: datetime
) -> None:
    """Let a figure count no more; it stays on record. Raises: NotFound."""
    with engine.begin() as db:
        capacity.withdraw_figure(db, city_id, number, by=by, why=why, at=now)
        subject = f"capacity figure {number}"
        audit.note(db, by=by, act="withdraw a figure", subject=subject, detail={"why": why})


def govern(engine: Engine, city_id: int, note: Note) -> None:
    """Keep the Director's note on which design figure governs.

    Raises: Refused where no such figure is on record; NotFound.
    """
    with engine.begin() as db:
        figures = capacity.figures(db, city_id)
        mine = figures_of(figures, note.parameter, facility_id=note.facility_id)
        if all(one.id != note.figure_id for one in mine):
            raise Refused("That is no design figure of this facility; choose one of those listed.")
        capacity.add_note(db, city_id, note)
        detail = {
            "parameter": note.parameter.value,
            "figure": note.figure_id,
            "why": note.why,
        }
        subject = f"facility {note.facility_id} of city {city_id}"
        audit.note(db, by=note.by, act="note what governs", subject=subject, detail=detail)


def determine(
    engine: Engine, city_id: int, determined: Determined, *, lines: Sequence[Line]
) -> int:
    """Keep what the Director determined on a request, with the ledger as it stood."""
    with engine.begin() as db:
        ledger = [as_json(one) for one in lines]
        number = capacity.add_determination(db, city_id, determined, ledger=ledger)
        detail = {
            "applicant": determined.applicant,
            "asked": determined.asked,
            "finding": determined.finding,
            "why": determined.why,
        }
        subject = f"capacity determination {number}"
        audit.note(
            db, by=determined.by, act="determine on capacity", subject=subject, detail=detail
        )
    return number


def propose(engine: Engine, proposal: Proposal, *, by: str) -> int:
    """Put a proposed service agreement on record; its number."""
    with engine.begin() as db:
        file = proposal.file
        number = agreements.propose(
            db,
            proposal.user_id,
            since=proposal.since,
            until=proposal.until,
            capital_percent=proposal.capital_percent,
            conditions=proposal.conditions,
            document=proposal.document,
            sha256=None if file is None else hashlib.sha256(file).hexdigest(),
            file=file,
            by=by,
        )
        detail = {
            "user": proposal.user_id,
            "since": proposal.since.isoformat(),
            "until": proposal.until.isoformat() if proposal.until else None,
            "capital_percent": proposal.capital_percent,
            "document": proposal.document,
        }
        _note(db, by=by, act="propose a service agreement", number=number, detail=detail)
    return number


def sign(engine: Engine, agreement: ServiceAgreement, *, city_id: int, on: date, by: str) -> None:
    """Write down that an agreement was signed; it is told of. Raises: Refused."""
    if agreement.signed_on is not None or agreement.released_on is not None:
        raise Refused(f"Service agreement {agreement.id} is signed or released already.")
    with engine.begin() as db:
        agreements.sign(db, agreement.id, on=on, by=by)
        data = {"agreement": agreement.id, "user": agreement.user_id, "from": agreement.since}
        outbox.put(db, ON_FILE, data, city_id=city_id)
        detail = {"signed_on": on.isoformat()}
        _note(
            db,
            by=by,
            act="record a signed service agreement",
            number=agreement.id,
            detail=detail,
        )


def release(engine: Engine, agreement: ServiceAgreement, *, on: date, by: str, why: str) -> None:
    """Write down that a user is released from a day on. Raises: Refused."""
    if agreement.released_on is not None:
        raise Refused(f"Service agreement {agreement.id} is released already.")
    with engine.begin() as db:
        agreements.release(db, agreement.id, on=on, by=by, why=why)
        detail = {"released_on": on.isoformat(), "why": why}
        act = "release from a service agreement"
        _note(db, by=by, act=act, number=agreement.id, detail=detail)


def deduct(engine: Engine, user_id: int, *, since: date, gpd: Decimal, basis: str, by: str) -> None:
    """Leave sanitary flow out of a user's flow from a day on."""
    with engine.begin() as db:
        agreements.deduct(db, user_id, since=since, gpd=gpd, basis=basis, by=by)
        detail = {"since": since.isoformat(), "gpd": gpd, "basis": basis}
        subject = f"industrial user {user_id}"
        audit.note(db, by=by, act="deduct sanitary flow", subject=subject, detail=detail)


def as_json(line: Line) -> dict[str, Any]:
    """A line of the ledger as records and the API write it: numbers as text."""
    shown = {
        name: None if (value := getattr(line, name)) is None else f"{value:f}"
        for name in ("design", "used", "reserved", "left", "with_request")
    }
    return {
        "facility": line.facility.name,
        "kind": line.facility.kind.value,
        "parameter": line.parameter.value,
        "unit": "MGD" if line.parameter.value == "flow" else "lb/day",
        **shown,
        "sources": list(line.sources),
        "unknown": list(line.unknown),
    }


def _note(db: Connection, *, by: str, act: str, number: int, detail: Mapping[str, object]) -> None:
    subject = f"service agreement {number}"
    audit.note(db, by=by, act=act, subject=subject, detail=detail)
