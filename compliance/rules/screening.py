"""Thresholds of screening as data: read once, in force by day, told in a channel's own unit."""

from __future__ import annotations

from datetime import date
from functools import cache
from importlib import resources
from typing import Annotated, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from compliance.model.parameters import Parameter
from compliance.model.units import Unit
from compliance.rules.effective import in_force, overlap
from compliance.rules.schema import Number


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Flat(_Document):
    """When a value stands still for too long."""

    seconds: Annotated[int, Field(gt=0)]
    tolerance: Number
    zero_is_flat: bool = True


class Attenuated(_Document):
    """Below what standard deviation over a time a signal is no longer alive."""

    seconds: Annotated[int, Field(gt=0)]
    below: Number


class Thresholds(_Document):
    """The figures of one parameter: in ``unit``, or as shares of the channel's span."""

    unit: Unit | None = None
    share_of_span: bool = False
    fail: tuple[Number, Number] | None = None
    suspect: tuple[Number, Number] | None = None
    spike: Number | None = None
    most_per_second: Number | None = None
    flat: Flat | None = None
    attenuated: Attenuated | None = None
    gap_seconds: Annotated[int, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _measured_in_something(self) -> Self:
        if (self.unit is None) != self.share_of_span:
            raise ValueError("needs either unit or share_of_span: true, not both")
        return self


class RinseSteps(_Document):
    """How far pH and temperature jump together in a rinse, and within what time."""

    ph: Number
    temperature: Number
    temperature_unit: Unit
    seconds: Annotated[int, Field(gt=0)]
    longest_seconds: Annotated[int, Field(gt=0)]


class TotalShare(_Document):
    """How far a civil day's flow integral may lie from its total, and what both must cover."""

    share: Number
    seconds: Annotated[int, Field(gt=0)]


class CrossChecks(_Document):
    """The figures of tests of one channel against others of its point."""

    rinse: RinseSteps | None = None
    total: TotalShare | None = None


class ScreeningVersion(_Document):
    """All thresholds from a day on; version: the name that is kept with every flag."""

    version: Annotated[str, Field(min_length=3)]
    effective: date | None
    ended: date | None = None
    parameters: dict[Parameter, Thresholds]
    cross: CrossChecks = CrossChecks()


class ScreeningBook(_Document):
    """The thresholds through time."""

    screening: Literal["program"]
    versions: tuple[ScreeningVersion, ...]

    @model_validator(mode="after")
    def _one_a_day(self) -> Self:
        if (day := overlap(self.versions)) is not None:
            raise ValueError(f"two versions claim {day.isoformat()}")
        return self


@cache
def screening_book() -> ScreeningBook:
    """The thresholds of this release."""
    file = resources.files("compliance.rules") / "program" / "screening.yaml"
    return ScreeningBook.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


def thresholds(parameter: Parameter, day: date) -> tuple[str, Thresholds] | None:
    """The name of the version in force and what it has for a parameter; None where it has nothing.

    Raises: NotInForce.
    """
    found = in_force("screening", screening_book().versions, day)
    own = found.parameters.get(parameter)
    return None if own is None else (found.version, own)


def cross_checks(day: date) -> tuple[str, CrossChecks]:
    """The name of the version in force and its tests of channels against each other.

    Raises: NotInForce.
    """
    found = in_force("screening", screening_book().versions, day)
    return found.version, found.cross
