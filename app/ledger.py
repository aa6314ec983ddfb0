"""The capacity ledger as a page shows it: lines by facility, a request, documents that differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from app.sheets import Sheet
from compliance.errors import InsufficientData
from compliance.jobs.shares import factor
from compliance.judging.capacity import Line, ledger, load
from compliance.judging.documents import figures_of, governing
from compliance.model.capacity import TESTED, Determined, Facility, Figure, Note, Request
from compliance.model.parameters import Parameter
from compliance.model.periods import day_of
from compliance.records import capacity, sites

STRENGTHS = {
    "bod5_mg_l": Parameter.BOD5,
    "tss_mg_l": Parameter.TSS,
    "tp_mg_l": Parameter.TP,
}
GALLONS = 1_000_000


@dataclass(kw_only=True)
class Asked:
    """A request as it was typed; through: the facilities ticked, all where none is."""

    typed: dict[str, str] = field(default_factory=dict)
    through: tuple[str, ...] = ()
    problems: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """A design on which documents differ. choices: key and words of each figure."""

    facility: Facility
    parameter: Parameter
    choices: tuple[tuple[str, str], ...]
    governs: Figure | None
    note: Note | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One city's part of the page. request: None where nothing is asked."""

    city: sites.City
    facilities: tuple[Facility, ...]
    lines: dict[int, tuple[Line, ...]]
    figures: tuple[Figure, ...]
    differing: tuple[Differing, ...]
    request: Request | None
    determined: tuple[Determined, ...]

    @classmethod
    def of(cls, db: Connection, city: sites.City, asked: Asked, *, now: datetime) -> Page:
        """What is on record of a city, and the request where one is typed."""
        facilities = capacity.facilities(db, city.id)
        figures, notes = capacity.figures(db, city.id), capacity.notes(db, city.id)
        try:
            pounds = factor(city, day_of(now, ZoneInfo(city.zone)))
        except InsufficientData:
            pounds = None
        request = request_of(asked, facilities, pound_factor=pounds)
        lines = ledger(facilities, figures, notes, request)
        return cls(
            city=city,
            facilities=facilities,
            lines={
                one.id: tuple(line for line in lines if line.facility.id == one.id)
                for one in facilities
            },
            figures=figures,
            differing=_differing(facilities, figures, notes),
            request=request,
            determined=capacity.determinations(db, city.id),
        )


def request_of(
    asked: Asked, facilities: Sequence[Facility], *, pound_factor: Decimal | None
) -> Request | None:
    """The request that was typed, or None where none was, or with problems."""
    if not any(text.strip() for text in asked.typed.values()):
        return None
    sheet = Sheet(typed=asked.typed)
    sheet.words("applicant", "who asks")
    flow = sheet.number("flow_gpd")
    amounts = {Parameter.FLOW: flow / GALLONS}
    for name, parameter in STRENGTHS.items():
        strength = sheet.number(name, needed=False)
        if strength and pound_factor is not None:
            amounts[parameter] = load(flow, strength, pound_factor=pound_factor)
    asked.problems |= sheet.problems
    if sheet.problems:
        return None
    ticked = frozenset(one.id for one in facilities if str(one.id) in asked.through)
    return Request(amounts=amounts, through=ticked or frozenset(one.id for one in facilities))


def unsettled(db: Connection, city_id: int) -> tuple[Differing, ...]:
    """The designs of a city on which documents differ, with or without a note."""
    return _differing(
        capacity.facilities(db, city_id),
        capacity.figures(db, city_id),
        capacity.notes(db, city_id),
    )


def _differing(
    facilities: Sequence[Facility], figures: Sequence[Figure], notes: Sequence[Note]
) -> tuple[Differing, ...]:
    found: list[Differing] = []
    for facility in facilities:
        for parameter in TESTED:
            mine = figures_of(figures, parameter, facility_id=facility.id)
            if len({one.value for one in mine}) < 2:
                continue
            said = [
                one for one in notes if (one.facility_id, one.parameter) == (facility.id, parameter)
            ]
            found.append(
                Differing(
                    facility=facility,
                    parameter=parameter,
                    choices=tuple(
                        (f"{facility.id}:{parameter.value}:{one.id}", _called(one)) for one in mine
                    ),
                    governs=governing(figures, notes, parameter, facility_id=facility.id),
                    note=said[-1] if said else None,
                )
            )
    return tuple(found)


def _called(one: Figure) -> str:
    unit = "MGD" if one.parameter is Parameter.FLOW else "lb/day"
    dated = f", {one.dated}" if one.dated else ""
    return f"{one.value} {unit}: {one.document} ({one.paper.value}{dated})"
