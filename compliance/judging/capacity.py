"""The capacity ledger: of each facility and each of the four, what is left as far as is known.

It adds and subtracts what is on record; whether a user may discharge, the Director determines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from compliance.judging.documents import figures_of, governing
from compliance.model.capacity import TESTED, Facility, Figure, Note, Request, What
from compliance.model.parameters import Parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One facility and one of the four, in MGD or lb/day; None: not known.

    left: design less used and reserved; with_request: left less what is asked, None without it.
    unknown: a sentence for each thing that is not known.
    """

    facility: Facility
    parameter: Parameter
    design: Decimal | None
    used: Decimal | None
    reserved: Decimal
    left: Decimal | None
    with_request: Decimal | None
    sources: tuple[str, ...]
    unknown: tuple[str, ...]


def ledger(
    facilities: Sequence[Facility],
    figures: Sequence[Figure],
    notes: Sequence[Note],
    request: Request | None = None,
) -> tuple[Line, ...]:
    """A line for each facility and each of the four, also where nothing is on record."""
    return tuple(
        _line(facility, parameter, figures, notes=notes, request=request)
        for facility in facilities
        for parameter in TESTED
    )


def _line(
    facility: Facility,
    parameter: Parameter,
    figures: Sequence[Figure],
    *,
    notes: Sequence[Note],
    request: Request | None,
) -> Line:
    mine = [one for one in figures if (one.facility_id, one.parameter) == (facility.id, parameter)]
    chosen = governing(figures, notes, parameter, facility_id=facility.id)
    documents = figures_of(figures, parameter, facility_id=facility.id)
    used = newest([one for one in mine if one.what is What.USED])
    kept = [one for one in mine if one.what is What.RESERVED]
    reserved = sum((one.value for one in kept), Decimal(0))
    unknown = [_design_unknown(documents)] if chosen is None else []
    if used is None:
        unknown.append("what is used is not on record")
    left = None if chosen is None or used is None else chosen.value - used.value - reserved
    asked = None if request is None else request.amounts.get(parameter)
    passes = request is not None and facility.id in request.through
    if passes and asked is None:
        unknown.append("the request does not say how much")
    return Line(
        facility=facility,
        parameter=parameter,
        design=None if chosen is None else chosen.value,
        used=None if used is None else used.value,
        reserved=reserved,
        left=left,
        with_request=left - asked if passes and left is not None and asked is not None else None,
        sources=tuple(
            _source(one) for one in (*([chosen] if chosen else documents), used, *kept) if one
        ),
        unknown=tuple(unknown),
    )


def newest(figures: Sequence[Figure]) -> Figure | None:
    """The figure of the newest document, of equally old ones the one entered last."""
    return max(figures, key=lambda one: (one.dated is not None, one.dated, one.id), default=None)


def _design_unknown(documents: Sequence[Figure]) -> str:
    if not documents:
        return "the design is not on record"
    said = " and ".join(f"{one.value} in {one.document}" for one in documents)
    return f"the documents differ on the design ({said}); the Director says which governs"


def _source(one: Figure) -> str:
    dated = f", {one.dated}" if one.dated else ""
    whom = f" for {one.reserved_for}" if one.reserved_for else ""
    return f"{one.what.value}{whom} {one.value}: {one.document}{dated}"


def load(flow_gpd: Decimal, mg_l: Decimal, *, pound_factor: Decimal) -> Decimal:
    """Pounds a day of a flow and a strength."""
    return flow_gpd / 1_000_000 * mg_l * pound_factor


def percent_of_design(influent: Decimal, design: Decimal) -> Fraction:
    """What a plant takes of its design, in percent, unrounded; both in one unit."""
    return 100 * Fraction(influent) / Fraction(design)


def population_equivalent(bod_lb_day: Decimal, *, lb_per_person: Decimal) -> Fraction:
    """So many people bring that load."""
    return Fraction(bod_lb_day) / Fraction(lb_per_person)


def points_factor(months_of_discharge: int) -> Fraction:
    """By what the points of an intermittent discharger's CMAR are multiplied.

    Raises: ValueError where the months are none of a year. Source: NR 208.05(3)(j).
    """
    if not 1 <= months_of_discharge <= 12:
        raise ValueError(f"{months_of_discharge} months of discharge; expected 1 to 12")
    return Fraction(12, months_of_discharge)


def process_flow(streams_gpd: Mapping[str, Decimal], *, excluded: Sequence[str]) -> Decimal:
    """The flow that makes a user significant: all streams but those the rule leaves out."""
    return sum((flow for name, flow in streams_gpd.items() if name not in excluded), Decimal(0))


def middle_tier_flow(
    design_dry_weather_mgd: Decimal, *, percent: Decimal, most_gpd: Decimal
) -> Decimal:
    """The most categorical flow, in gpd, of a middle-tier user: the smaller of two bounds."""
    return min(design_dry_weather_mgd * 1_000_000 * percent / 100, most_gpd)
