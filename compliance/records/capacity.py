"""Facilities and their figures, notes on which governs, and determinations on capacity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, insert, select, true, update
from sqlalchemy.exc import IntegrityError

from compliance.errors import NotFound, Refused
from compliance.model.capacity import (
    TESTED,
    Determined,
    Facility,
    FacilityKind,
    Figure,
    Note,
    Paper,
    What,
)
from compliance.model.parameters import Parameter
from compliance.records import sites
from compliance.records import tables as t

PLANT = 0
"""The facility that stands for the city's plant, and the figure that its site document gives."""


def facilities(db: Connection, city_id: int) -> tuple[Facility, ...]:
    """What lies downstream in a city: sewers and lift stations by name, the plant last."""
    c = t.facility.c
    rows = db.execute(select(c.id, c.kind, c.name).where(c.city_id == city_id).order_by(c.name))
    found = [Facility(id=row.id, kind=FacilityKind(row.kind), name=row.name) for row in rows]
    if (plant := sites.plant(db, city_id)) is not None:
        found.append(Facility(id=PLANT, kind=FacilityKind.PLANT, name=plant.name))
    return tuple(found)


def add_facility(db: Connection, city_id: int, *, kind: FacilityKind, name: str, by: str) -> int:
    """Put a sewer or lift station on record; its number. Raises: Refused for a name on record."""
    values = {"city_id": city_id, "kind": kind.value, "name": name, "entered_by": by}
    try:
        with db.begin_nested():
            return _number(db, insert(t.facility).values(**values).returning(t.facility.c.id))
    except IntegrityError:
        raise Refused(f"{name} is on record already; give this one a name of its own.") from None


def figures(db: Connection, city_id: int) -> tuple[Figure, ...]:
    """The figures of a city that are not withdrawn; those of the site document first."""
    c = t.capacity_figure.c
    rows = db.execute(
        select(t.capacity_figure)
        .where(c.city_id == city_id, c.withdrawn_at.is_(None))
        .order_by(c.id)
    ).mappings()
    return (
        *_of_site(db, city_id),
        *(
            Figure(
                id=row["id"],
                facility_id=row["facility_id"] or PLANT,
                what=What(row["what"]),
                parameter=Parameter(row["parameter"]),
                value=Decimal(row["value"]),
                document=row["document"],
                paper=Paper(row["paper"]),
                dated=row["dated"],
                reserved_for=row["reserved_for"],
                entered_by=row["entered_by"],
                entered_at=row["entered_at"],
            )
            for row in rows
        ),
    )


def _of_site(db: Connection, city_id: int) -> list[Figure]:
    plant = sites.plant(db, city_id)
    given = {} if plant is None else plant.average_design
    return [
        Figure(
            id=PLANT,
            facility_id=PLANT,
            what=What.DESIGN,
            parameter=parameter,
            value=given[key],
            document=plant.source,
            paper=Paper.SITE,
            dated=None,
        )
        for parameter in TESTED
        if plant is not None and (key := _key(parameter)) in given
    ]


def _key(parameter: Parameter) -> str:
    return "flow_mgd" if parameter is Parameter.FLOW else f"{parameter.value}_lb_day"


def add_figure(db: Connection, city_id: int, figure: Figure) -> int:
    """Put a figure on record; its number. The figure's own id is not looked at.

    Raises: NotFound where the facility is not the city's.
    """
    _own(db, city_id, figure.facility_id)
    row = insert(t.capacity_figure).values(
        city_id=city_id,
        facility_id=figure.facility_id or None,
        what=figure.what.value,
        parameter=figure.parameter.value,
        value=f"{figure.value:f}",
        document=figure.document,
        paper=figure.paper.value,
        dated=figure.dated,
        reserved_for=figure.reserved_for,
        entered_by=figure.entered_by,
    )
    return _number(db, row.returning(t.capacity_figure.c.id))


def withdraw_figure(
    db: Connection, city_id: int | None, number: int, *, by: str, why: str, at: datetime
) -> None:
    """Let a figure count no more; it stays on record. Raises: NotFound."""
    c = t.capacity_figure.c
    done = db.execute(
        update(t.capacity_figure)
        .where(c.id == number, _of(c.city_id, city_id), c.withdrawn_at.is_(None))
        .values(withdrawn_by=by, withdrawn_at=at, withdrawn_why=why)
        .returning(c.id)
    )
    if done.first() is None:
        raise NotFound(f"There is no figure {number} here that counts.")


def city_of_figure(db: Connection, city_id: int | None, number: int) -> int:
    """The city whose figure it is, within the viewer's (None: any). Raises: NotFound."""
    c = t.capacity_figure.c
    found = db.scalar(select(c.city_id).where(c.id == number, _of(c.city_id, city_id)))
    if found is None:
        raise NotFound(f"There is no figure {number} here.")
    return int(found)


def notes(db: Connection, city_id: int) -> tuple[Note, ...]:
    """What the Director said of a city's documents, oldest first."""
    c = t.governing_note.c
    rows = db.execute(select(t.governing_note).where(c.city_id == city_id).order_by(c.id))
    return tuple(
        Note(
            facility_id=row.facility_id or PLANT,
            parameter=Parameter(row.parameter),
            figure_id=row.capacity_figure_id or PLANT,
            why=row.why,
            by=row.by,
            at=row.at,
        )
        for row in rows
    )


def add_note(db: Connection, city_id: int, note: Note) -> None:
    """Keep which figure governs. Raises: NotFound where the facility is not the city's."""
    _own(db, city_id, note.facility_id)
    db.execute(
        insert(t.governing_note).values(
            city_id=city_id,
            facility_id=note.facility_id or None,
            parameter=note.parameter.value,
            capacity_figure_id=note.figure_id or None,
            why=note.why,
            by=note.by,
            at=note.at,
        )
    )


def determinations(db: Connection, city_id: int, *, most: int = 50) -> tuple[Determined, ...]:
    """What the Director determined on requests, the newest first."""
    c = t.capacity_determination.c
    rows = db.execute(
        select(c.id, c.applicant, c.asked, c.finding, c.why, c.by, c.at)
        .where(c.city_id == city_id)
        .order_by(c.id.desc())
        .limit(most)
    ).mappings()
    return tuple(Determined(**row) for row in rows)


def add_determination(
    db: Connection,
    city_id: int,
    determined: Determined,
    *,
    ledger: Sequence[Mapping[str, Any]],
) -> int:
    """Keep a determination with the ledger as it stood; its number."""
    row = insert(t.capacity_determination).values(
        city_id=city_id,
        applicant=determined.applicant,
        asked=determined.asked,
        ledger=[dict(one) for one in ledger],
        finding=determined.finding,
        why=determined.why,
        by=determined.by,
        at=determined.at,
    )
    return _number(db, row.returning(t.capacity_determination.c.id))


def _own(db: Connection, city_id: int, facility_id: int) -> None:
    """Raises: NotFound where a city has no such facility."""
    if all(one.id != facility_id for one in facilities(db, city_id)):
        raise NotFound("There is no such facility here.")


def _of(column: Any, city_id: int | None) -> Any:
    return true() if city_id is None else column == city_id


def _number(db: Connection, statement: Any) -> int:
    return int(db.scalar(statement) or 0)
