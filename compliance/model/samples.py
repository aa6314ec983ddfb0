"""Samples and results: water that was taken, and what a laboratory found in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum

from compliance.model.parameters import Parameter
from compliance.model.units import Unit


class SampleType(StrEnum):
    """How water was taken."""

    GRAB = "grab"
    COMPOSITE = "composite"


class TakenBy(StrEnum):
    """Whose sample it is."""

    INDUSTRIAL_USER = "industrial_user"
    CONTROL_AUTHORITY = "control_authority"
    CITY = "city"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Water taken: a grab has one instant, a composite a span.

    sampled_from, sampled_to: aware instants, or plain dates where no time was given (never
    midnight); equal for a grab. label: the laboratory's number. stated_on: the sampling day where
    the source wrote 24:00, an instant that the next day begins with. None: the source does not say.
    """

    label: str | None
    point: str | None
    sampled_from: datetime | date | None
    sampled_to: datetime | date | None
    sample_type: SampleType | None
    taken_by: TakenBy
    laboratory: str | None
    stated_on: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One analyte of a sample, from the laboratory.

    qualifier: ``""``, ``"<"`` (``value`` is the limit it lies below) or ``">"``; written: the
    number as the source wrote it; mdl, rl: detection and reporting limit, in ``unit``.
    """

    parameter: Parameter
    qualifier: str
    value: Decimal
    written: str
    unit: Unit
    mdl: Decimal | None = None
    rl: Decimal | None = None
    method: str | None = None
    row: int | None = None

    @property
    def is_non_detect(self) -> bool:
        """Whether the laboratory found less than it can tell."""
        return self.qualifier == "<"
