"""Facilities downstream of users, and the figures on record of what they can take and do take."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum

from compliance.model.parameters import Parameter

TESTED = (Parameter.FLOW, Parameter.BOD5, Parameter.TSS, Parameter.TP)
"""What capacity is told of: flow in MGD, the others in lb/day."""


class FacilityKind(StrEnum):
    """What wastewater passes on its way."""

    SEWER = "sewer"
    LIFT_STATION = "lift station"
    PLANT = "plant"


class What(StrEnum):
    """What a figure says of a facility."""

    DESIGN = "design"  # of the average day
    USED = "used"
    RESERVED = "reserved"


class Paper(StrEnum):
    """The kind of document a figure is from."""

    SITE = "site document"  # loaded with the plant
    FACILITY_PLAN = "facility plan"
    CMAR = "CMAR"
    FACT_SHEET = "WPDES fact sheet"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facility:
    """A sewer, lift station or plant. id: 0 is the plant of the city's site document."""

    id: int
    kind: FacilityKind
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number of one document. id: 0 is the plant's site document; value: MGD or lb/day.

    dated: of the document, None where unknown; reserved_for: whom, of a reservation.
    """

    id: int
    facility_id: int
    what: What
    parameter: Parameter
    value: Decimal
    document: str
    paper: Paper
    dated: date | None
    reserved_for: str = ""
    entered_by: str = ""
    entered_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """The Director's word on which of several design figures governs. figure_id: as a Figure's."""

    facility_id: int
    parameter: Parameter
    figure_id: int
    why: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What somebody asks to discharge, by parameter in MGD or lb/day; one not asked is missing.

    through: the facilities it would pass.
    """

    amounts: dict[Parameter, Decimal] = field(default_factory=dict)
    through: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Determined:
    """A Director's determination on a request, with the ledger as it stood then."""

    id: int
    applicant: str
    asked: dict[str, str]
    finding: str
    why: str
    by: str
    at: datetime


FINDINGS = {
    "available": "capacity is available",
    "conditional": "available under conditions",
    "not available": "capacity is not available",
}
"""What a determination may say, and how a page says it."""
