"""Rules of a pretreatment program beyond limits: significance, clocks, counting, allowances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from compliance.model.parameters import Parameter
from compliance.rules.parts import RULE_ID, Number, Provision, Version

Percent = Annotated[int, Field(gt=0, le=100)]
Days = Annotated[int, Field(gt=0)]
Day = Literal["saturday", "sunday", "holiday"]

FIGURES = (
    "window_months",
    "chronic_percent",
    "trc_percent",
    "trc_factor",
    "late_report_days",
    "milestone_days",
    "milestone_inclusive",
)
"""What every rule on significance says, itself or by its base."""


class SncVersion(Version):
    """Figures of significant noncompliance; one left out is that of the rule's base.

    chronic_percent, trc_percent: reached, it is significant; trc_factor: on limits of parameters
    that trc_factors does not name; ph_margin: beyond a pH limit by so much counts as well over it,
    ``null`` is not evaluated; late_report_days, milestone_days: later counts, exactly so late only
    where inclusive.
    """

    window_months: Annotated[int, Field(gt=0, le=12)] | None = None
    chronic_percent: Percent | None = None
    trc_percent: Percent | None = None
    trc_factor: Number | None = None
    trc_factors: Mapping[Parameter, Number] | None = None
    ph_margin: Number | None = None
    late_report_days: Days | None = None
    milestone_days: Days | None = None
    milestone_inclusive: bool | None = None

    @model_validator(mode="after")
    def _over_the_limit(self) -> Self:
        given = [self.trc_factor, *(self.trc_factors or {}).values()]
        if any(factor is not None and factor <= 1 for factor in given):
            raise ValueError(
                'has a factor of 1 or less; expected one over the limit, such as "1.2"'
            )
        if self.ph_margin is not None and self.ph_margin <= 0:
            raise ValueError('ph_margin must be above zero, such as "0.4"')
        return self


class SncRule(Provision):
    """When noncompliance is significant. base: the rule whose figures hold where this has none."""

    kind: Literal["snc"]
    base: str | None = Field(default=None, pattern=RULE_ID)
    versions: tuple[SncVersion, ...]

    @model_validator(mode="after")
    def _whole(self) -> Self:
        for version in () if self.base else self.versions:
            lacking = [name for name in FIGURES if getattr(version, name) is None]
            if lacking:
                raise ValueError(f"has no base, so it must say {', '.join(lacking)}")
        return self


class ClockVersion(Version):
    """How long: exactly one of these; ``at_once`` where the text gives no number."""

    hours: Days | None = None  # wall clock, over nights and closed days
    days: Days | None = None  # civil days, as the rule ``counting`` counts them
    business_days: Days | None = None
    months: Days | None = None
    years: Days | None = None
    each_year_by: Annotated[str, Field(pattern=r"^\d\d-\d\d$")] | None = None  # month and day
    at_once: Literal[True] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        names = ("hours", "days", "business_days", "months", "years", "each_year_by", "at_once")
        given = [name for name in names if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(f"has {found}; expected exactly one of {', '.join(names)}")
        return self


class ClockRule(Provision):
    """What somebody owes by when. starts: the event; before: it ends there instead; counting: how
    its days are counted; repeats: it starts anew each time."""

    kind: Literal["clock"]
    what: Annotated[str, Field(min_length=3)]
    owed_by: Annotated[str, Field(min_length=3)]
    owed_to: str | None = None
    starts: Annotated[str, Field(min_length=3)]
    before: bool = False
    repeats: bool = False
    counting: str | None = Field(default=None, pattern=RULE_ID)
    versions: tuple[ClockVersion, ...]


class CountingVersion(Version):
    """How days are counted. last_day_not_on: it moves on to the next open day; closed_left_out:
    where the period has fewer days than this, closed ones do not count at all."""

    first_day_counts: bool
    last_day_not_on: tuple[Day, ...] = ()
    closed_left_out: Annotated[int, Field(gt=0)] | None = None


class CountingRule(Provision):
    """How the days of a clock are counted in one jurisdiction."""

    kind: Literal["counting"]
    versions: tuple[CountingVersion, ...]


class AllowanceVersion(Version):
    """Minutes out of range that are none, and the bound below which there are none."""

    minutes_per_month: Annotated[int, Field(gt=0)]
    minutes_each: Annotated[int, Field(gt=0)]
    never_below: Number | None = None


class AllowanceRule(Provision):
    """Time out of range that is allowed, and only where a paper of this kind adopts it."""

    kind: Literal["allowance"]
    parameter: Parameter
    only_by: Literal["permit"]
    versions: tuple[AllowanceVersion, ...]
