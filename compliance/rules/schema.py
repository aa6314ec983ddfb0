"""What a rulebook may say: pydantic models that refuse whatever is not spelled out."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from compliance.model.findings import Authority
from compliance.model.limits import AVERAGES, MASSES, ON_READINGS, Basis
from compliance.model.parameters import CONCENTRATIONS, UNIT_KIND, Parameter
from compliance.model.units import Unit, dimension
from compliance.rules.effective import overlap
from compliance.rules.parts import Judge, Number, Provision, Strict, Version, Words
from compliance.rules.programs import AllowanceRule, ClockRule, CountingRule, SncRule

__all__ = [
    "AllowanceRule",
    "AnyRule",
    "Basis",
    "ClockRule",
    "CountingRule",
    "Document",
    "FactorRule",
    "FactorVersion",
    "Judge",
    "LimitRule",
    "LimitVersion",
    "NarrativeRule",
    "Number",
    "Provision",
    "Rule",
    "SampleSource",
    "ShareRule",
    "ShareVersion",
    "SlugRule",
    "SlugVersion",
    "SncRule",
    "StrengthRule",
    "StrengthVersion",
    "Strict",
    "Version",
    "Words",
]


class SampleSource(StrEnum):
    """Where a number comes from: a meter, or one kind of sample."""

    METER = "meter"
    GRAB = "grab"
    COMPOSITE = "composite"


class LimitVersion(Version):
    """Bounds in the rule's unit; touching a bound complies.

    seconds: of a sustained minimum, how long below it is allowed.
    """

    at_least: Number | None = None
    at_most: Number | None = None
    seconds: int | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise ValueError("has neither at_least nor at_most")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"at_least {self.at_least} is over at_most {self.at_most}")
        return self


class SlugVersion(Version):
    """Over ``factor`` times the mean of the hours before, for longer than ``seconds``."""

    factor: Number
    seconds: int = Field(gt=0)
    window_hours: int = Field(gt=0)
    needed_hours: int = Field(gt=0)


class ShareVersion(Version):
    """A share of design, in percent, that creates a duty when reached; ours that warns before."""

    at_least: Number
    approaching: Number
    months: int = Field(gt=0)


class StrengthVersion(Version):
    """Normal domestic strength: what lies above it pays."""

    strength: Number


class FactorVersion(Version):
    """A constant of the text."""

    factor: Number


class LimitRule(Provision):
    """A bound on a parameter. Without a version there is no limit in force: never "compliant"."""

    kind: Literal["limit"] = "limit"
    parameter: Parameter
    unit: Unit
    basis: Basis
    applies_at: Literal["discharge", "plant"] = "discharge"
    enforceable_on: tuple[SampleSource, ...] = tuple(SampleSource)
    screened_on: tuple[SampleSource, ...] = ()  # judged there under the program's own authority
    bounded_by: tuple[Parameter, ...] = ()  # includes this one: at or below the limit shows it
    lifted_by_approval: bool = False
    versions: tuple[LimitVersion, ...]

    def authority_on(self, source: SampleSource) -> Authority | None:
        """Under whose authority a number from there is judged; None: it is not judged.

        Of a meter: each reading by itself, so that an average or a mass is not judged on it.
        """
        if source is SampleSource.METER and self.basis not in ON_READINGS:
            return None
        if source in self.enforceable_on:
            return self.authority
        return Authority.PROGRAM if source in self.screened_on else None


class SlugRule(Provision):
    """Screening for releases far over the usual: a possible slug, until a person decides."""

    kind: Literal["slug"]
    versions: tuple[SlugVersion, ...]


class ShareRule(Provision):
    """A share of the plant's average-day design that creates a duty."""

    kind: Literal["share"]
    parameter: Parameter
    versions: tuple[ShareVersion, ...]


class StrengthRule(Provision):
    """The normal domestic strength of one parameter, for charges."""

    kind: Literal["strength"]
    parameter: Parameter
    unit: Unit
    versions: tuple[StrengthVersion, ...]


class FactorRule(Provision):
    """A factor of conversion that the text defines, or that stands in for one."""

    kind: Literal["factor"]
    versions: tuple[FactorVersion, ...]


class NarrativeRule(Provision):
    """A provision without a number: a person judges it, or nobody yet."""

    kind: Literal["narrative"]
    parameters: tuple[Parameter, ...] = ()
    lifted_by_approval: bool = False
    versions: tuple[Version, ...]

    @model_validator(mode="after")
    def _not_the_program(self) -> Self:
        if self.judged_by is Judge.PROGRAM:
            raise ValueError("is a narrative, so the program cannot judge it")
        return self


def _kind(value: Any) -> str:
    given = value.get("kind", "limit") if isinstance(value, dict) else getattr(value, "kind", None)
    return str(given)


Rule = (
    LimitRule
    | SlugRule
    | ShareRule
    | StrengthRule
    | FactorRule
    | NarrativeRule
    | SncRule
    | ClockRule
    | CountingRule
    | AllowanceRule
)
AnyRule = Annotated[
    Annotated[LimitRule, Tag("limit")]
    | Annotated[SlugRule, Tag("slug")]
    | Annotated[ShareRule, Tag("share")]
    | Annotated[StrengthRule, Tag("strength")]
    | Annotated[FactorRule, Tag("factor")]
    | Annotated[NarrativeRule, Tag("narrative")]
    | Annotated[SncRule, Tag("snc")]
    | Annotated[ClockRule, Tag("clock")]
    | Annotated[CountingRule, Tag("counting")]
    | Annotated[AllowanceRule, Tag("allowance")],
    Discriminator(_kind),
]


class Document(Strict):
    """A rulebook file."""

    rulebook: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    title: Words
    zone: str  # whose civil days count
    text: str | None = None  # the ordinance text that the anchors stand in
    rules: tuple[AnyRule, ...] = Field(min_length=1)

    @field_validator("zone")
    @classmethod
    def _known_zone(cls, zone: str) -> str:
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError):
            raise ValueError("must be a time zone such as America/Chicago") from None
        return zone

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        seen: set[str] = set()
        for rule in self.rules:
            if rule.id in seen:
                raise ValueError(f"names {rule.id} twice")
            if not rule.id.startswith(f"{self.rulebook}."):
                raise ValueError(f"names {rule.id}; its ids must begin with {self.rulebook}.")
            if (day := overlap(rule.versions)) is not None:
                raise ValueError(f"has two versions of {rule.id} in force on {day}")
            if isinstance(rule, LimitRule) and (why := _misfit(rule)) is not None:
                raise ValueError(f"names {rule.id}, which {why}")
            seen.add(rule.id)
        return self


def _misfit(rule: LimitRule) -> str | None:
    """What of a limit does not go with its basis; None where all does."""
    basis, measures = rule.basis, dimension(rule.unit)
    wanted = UNIT_KIND.get(rule.parameter, "concentration")
    if basis in MASSES:
        wanted = "load or mass" if rule.parameter in CONCENTRATIONS else "a concentration"
    if measures not in wanted.split(" or "):
        return f"is {basis.value} in {rule.unit.value}, a unit of {measures}; expected {wanted}"
    if basis in AVERAGES and rule.parameter in (Parameter.PH, Parameter.TEMPERATURE):
        return f"averages {rule.parameter.value}, which has no mean; expected instantaneous"
    if basis is Basis.FLOW_MAX and rule.parameter is not Parameter.FLOW:
        return f"is flow_max of {rule.parameter.value}; expected the parameter flow"
    if basis is Basis.PLANT_INFLUENT and rule.applies_at != "plant":
        return "is plant_influent; expected applies_at: plant beside it"
    return _unsustained(rule)


def _unsustained(rule: LimitRule) -> str | None:
    is_sustained = rule.basis is Basis.DAILY_SUSTAINED_MIN
    for version in rule.versions:
        if is_sustained and (version.seconds is None or version.at_least is None):
            return "is a sustained minimum; expected at_least and seconds in each version"
        if not is_sustained and version.seconds is not None:
            return f"has seconds, which go with daily_sustained_min and not with {rule.basis.value}"
    return None
