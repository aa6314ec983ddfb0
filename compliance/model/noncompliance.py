"""Significant noncompliance: its criteria, its figures, and what is counted under them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum

from compliance.model.parameters import Parameter
from compliance.model.periods import Period, add_months, quarter
from compliance.model.units import Unit


class Criterion(StrEnum):
    """The criteria of 40 CFR 403.8(f)(2)(viii), by their letters."""

    CHRONIC = "A"
    TECHNICAL = "B"
    INTERFERENCE = "C"
    ENDANGERMENT = "D"
    MILESTONE = "E"
    LATE_REPORT = "F"
    REPORTING = "G"
    OTHER = "H"


PLAIN: dict[Criterion, str] = {
    Criterion.CHRONIC: "most results over the limit",
    Criterion.TECHNICAL: "well over the limit",
    Criterion.INTERFERENCE: "a discharge that disturbed the works or passed through it",
    Criterion.ENDANGERMENT: "a discharge that endangered people or the environment",
    Criterion.MILESTONE: "a schedule's milestone missed",
    Criterion.LATE_REPORT: "a required report late",
    Criterion.REPORTING: "noncompliance not reported accurately",
    Criterion.OTHER: "another violation that harms the program",
}
"""What a criterion means in plain words."""
FEDERAL: dict[Criterion, str] = {
    Criterion.CHRONIC: "chronic",
    Criterion.TECHNICAL: "technical review",
    Criterion.INTERFERENCE: "interference or pass through",
    Criterion.ENDANGERMENT: "imminent endangerment",
    Criterion.MILESTONE: "compliance schedule",
    Criterion.LATE_REPORT: "late report",
    Criterion.REPORTING: "failure to report accurately",
    Criterion.OTHER: "adverse effect on the program",
}
"""How the federal rule calls it."""
COMPUTED = (Criterion.CHRONIC, Criterion.TECHNICAL, Criterion.MILESTONE, Criterion.LATE_REPORT)
"""Those that are arithmetic; the others a person finds, or nobody does."""


class Status(StrEnum):
    """What the arithmetic says of one limit; never that somebody complies."""

    SIGNIFICANT = "significant"
    NONCOMPLIANCE = "noncompliance"
    NO_EXCEEDANCE = "no exceedance"
    NO_DATA = "no data"


class SncBasis(StrEnum):
    """What one measurement is: each result, or each calendar month's mean."""

    DAILY_MAX = "daily_max"
    INSTANTANEOUS = "instantaneous"
    MONTHLY_AVG = "monthly_avg"


@dataclass(frozen=True, slots=True, kw_only=True)
class SncRule:
    """The figures of one rule on significant noncompliance, as in force on a day.

    trc_factors: by parameter, ``trc_factor`` for all others; ph_margin: how far beyond a pH limit
    a result counts as well over it, in s.u. (None: not evaluated); late_report_days,
    milestone_days: a later one counts, of milestones also one exactly so late where
    ``milestone_inclusive``; warnings: what a local number does to a federal one.
    """

    id: str
    citation: str
    chronic_percent: int
    trc_percent: int
    trc_factor: Decimal
    trc_factors: Mapping[Parameter, Decimal]
    ph_margin: Decimal | None
    late_report_days: int
    milestone_days: int
    milestone_inclusive: bool = False
    window_months: int = 6
    warnings: tuple[str, ...] = ()

    def factor(self, parameter: Parameter) -> Decimal:
        """The factor on a limit of that parameter."""
        return self.trc_factors.get(parameter, self.trc_factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One result of a compliance point, whoever took the sample.

    day: the civil day it belongs to; qualifier: ``""``, ``"<"`` (lies below value) or ``">"``;
    written: the number as its source has it; source: where it stands (row, sample).
    """

    taken: datetime | date
    day: date
    point: str
    parameter: Parameter
    qualifier: str
    value: Decimal
    written: str
    unit: Unit
    taken_by: str
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One version of a limit; touching it complies.

    trc_factor: one that the limit's own source sets, else the rule's holds. since, until: the
    civil days on which it was in force, half-open; None: without an end.
    """

    at_least: Decimal | None
    at_most: Decimal | None
    unit: Unit
    trc_factor: Decimal | None = None
    since: date | None = None
    until: date | None = None

    def holds_on(self, day: date) -> bool:
        """Whether it was in force on a day."""
        return (self.since or date.min) <= day and (self.until is None or day < self.until)

    @property
    def said(self) -> str:
        """The limit in words."""
        low, high, unit = self.at_least, self.at_most, self.unit.value
        if low is None:
            return f"at most {high} {unit}"
        return f"at least {low} {unit}" if high is None else f"{low} to {high} {unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A limit at one point, in all its versions. source: the rule or the row it stands in."""

    point: str
    parameter: Parameter
    basis: SncBasis
    bounds: tuple[Bound, ...]
    source: str = ""
    citation: str = ""

    def on(self, day: date) -> Bound | None:
        """The version in force on a day; None where there was none."""
        return next((one for one in self.bounds if one.holds_on(day)), None)


def window_of(as_of: date, months: int = 6) -> Period:
    """The months that end with the calendar quarter of a day.

    Source: EPA memorandum of 9 September 1991 on rolling quarters.
    """
    end = quarter(as_of).end
    return Period(start=add_months(end, -months), end=end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a control authority determined, as a person writes it down.

    quarter_end: the last day of the half-year; is_snc: False where it determined that it is none;
    point, parameter: where it names them; decided_on: the day of its letter or decision; signed_by:
    who decided there; reference: the letter or the minutes; words: what it says.
    """

    criterion: Criterion
    quarter_end: date
    is_snc: bool
    authority: str
    decided_on: date
    signed_by: str
    reference: str
    words: str
    point: str | None = None
    parameter: Parameter | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidOnFile:
    """A determination on record. document: its file's name and SHA-256, where one was sent along.

    withdrawn_at: when it was taken back; it stays to be read.
    """

    id: int
    said: Said
    entered_by: str
    entered_at: datetime
    document_name: str | None
    document_sha256: str | None
    withdrawn_at: datetime | None = None
    withdrawn_by: str | None = None
    withdrawn_why: str | None = None
