"""What a rulebook may say: pydantic models that refuse whatever is not spelled out."""

from __future__ import annotations

from datetime import date
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from compliance.model.findings import Authority
from compliance.model.parameters import Parameter
from compliance.model.units import Unit
from compliance.rules.effective import overlap


def _quoted(value: object) -> Decimal:
    if not isinstance(value, str):
        raise ValueError('must be a number in quotes, such as "6.0"')
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise ValueError('must be a number in quotes, such as "6.0"') from None
    if not number.is_finite():
        raise ValueError('must be a finite number in quotes, such as "6.0"')
    return number


Number = Annotated[Decimal, BeforeValidator(_quoted, json_schema_input_type=str)]
"""A number of law: quoted in YAML, so that it never becomes a float on its way."""

Words = Annotated[str, Field(min_length=3)]


class Judge(StrEnum):
    """Who can tell whether a provision was breached."""

    PROGRAM = "program"
    PERSON = "person"
    NOBODY = "nobody"  # yet: the reason says what is missing


class Basis(StrEnum):
    """What a limit is judged on."""

    INSTANTANEOUS = "instantaneous"
    DAILY_MAX = "daily_max"
    MONTHLY_AVG = "monthly_avg"


class SampleSource(StrEnum):
    """Where a number comes from: a meter, or one kind of sample."""

    METER = "meter"
    GRAB = "grab"
    COMPOSITE = "composite"


class Strict(BaseModel):
    """Nothing unknown, nothing changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Version(Strict):
    """A provision's content from a day up to another; ``effective: null`` where no day is known."""

    effective: date | None
    ended: date | None = None
    adopted: date | None = None
    note: str | None = None

    @model_validator(mode="after")
    def _forward(self) -> Self:
        if self.effective and self.ended and self.ended <= self.effective:
            raise ValueError(f"ends on {self.ended}, which is not after {self.effective}")
        return self


class LimitVersion(Version):
    """Bounds in the rule's unit; touching a bound complies."""

    at_least: Number | None = None
    at_most: Number | None = None

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


class Provision(Strict):
    """What every rule says of itself."""

    id: str = Field(pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)+$")
    citation: Words
    says: Words
    anchor: Words | None  # a few words that find the clause in the text we hold; null: we hold none
    authority: Authority
    judged_by: Judge = Judge.PROGRAM
    reason: str | None = None  # why a person, or nobody yet
    note: str | None = None

    @model_validator(mode="after")
    def _reasoned(self) -> Self:
        if self.judged_by is not Judge.PROGRAM and not self.reason:
            raise ValueError(f"is judged by {self.judged_by.value}, so it needs a reason")
        return self


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
        """Under whose authority a number from there is judged; None: it is not judged."""
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


Rule = LimitRule | SlugRule | ShareRule | StrengthRule | FactorRule | NarrativeRule
AnyRule = Annotated[
    Annotated[LimitRule, Tag("limit")]
    | Annotated[SlugRule, Tag("slug")]
    | Annotated[ShareRule, Tag("share")]
    | Annotated[StrengthRule, Tag("strength")]
    | Annotated[FactorRule, Tag("factor")]
    | Annotated[NarrativeRule, Tag("narrative")],
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
            seen.add(rule.id)
        return self
