"""What is usual, what a city's definition of a slug asks, and what a user then owes: as data."""

from __future__ import annotations

from datetime import date
from functools import cache
from importlib import resources
from typing import Annotated, Literal, Self

import yaml
from pydantic import Field, model_validator

from compliance.rules.effective import in_force, overlap
from compliance.rules.schema import Number, Strict, Words


class Usual(Strict):
    """How a point's normal operation is told from the weeks before.

    floor: a share of the mean over those weeks, under which nothing usual is taken to lie.
    """

    weeks: Annotated[int, Field(gt=0, le=26)]
    needed_weeks: Annotated[int, Field(gt=0)]
    neighbours: Annotated[int, Field(ge=0, le=3)]
    floor: Number

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if self.needed_weeks > self.weeks:
            raise ValueError(f"needs {self.needed_weeks} weeks but looks back {self.weeks}")
        return self


class SwingOfPh(Strict):
    """When pH swings far more than it usually does, within so many minutes."""

    minutes: Literal[15]
    factor: Number
    least: Number


class SlugSettings(Strict):
    """The program's own figures from a day on."""

    version: Annotated[str, Field(min_length=3)]
    effective: date | None
    ended: date | None = None
    usual: Usual
    ph_rate: SwingOfPh
    load: bool


class Element(Strict):
    """One thing that a definition asks for, and where a person finds it."""

    key: str = Field(pattern=r"^[a-z_]+$")
    asks: Words
    look: Words


class Definition(Strict):
    """What makes a slug in one city. needed: how many of the elements must have happened.

    missing: where the definition is not in the text we hold, what to do; None where it is.
    """

    rulebook: str
    citation: Words
    says: Words
    elements: tuple[Element, ...]
    needed: Annotated[int, Field(ge=0)]
    missing: str | None = None

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        if not self.elements and not self.missing:
            raise ValueError(f"{self.rulebook} has no element: say what is missing")
        if self.needed > len(self.elements) or (self.elements and not self.needed):
            raise ValueError(
                f"{self.rulebook} needs {self.needed} of {len(self.elements)} elements"
            )
        return self


class Duty(Strict):
    """What a user owes after a slug. days: civil days; None is at once."""

    key: str
    owed: Words
    days: Annotated[int, Field(gt=0)] | None
    citation: Words


class SlugBook(Strict):
    """All of it."""

    slugs: Literal["program"]
    versions: tuple[SlugSettings, ...]
    definitions: tuple[Definition, ...]
    clocks: tuple[Duty, ...]

    @model_validator(mode="after")
    def _one_a_day(self) -> Self:
        if (day := overlap(self.versions)) is not None:
            raise ValueError(f"two versions claim {day.isoformat()}")
        return self


@cache
def slug_book() -> SlugBook:
    """The settings of this release."""
    file = resources.files("compliance.rules") / "program" / "slugs.yaml"
    return SlugBook.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


def settings_on(day: date) -> SlugSettings:
    """The figures in force on a day. Raises: NotInForce."""
    return in_force("slugs", slug_book().versions, day)


def definition(rule_id: str) -> Definition | None:
    """What the city of a rule calls a slug; None for one that is not written down here."""
    head = rule_id.partition(".")[0]
    return next((one for one in slug_book().definitions if one.rulebook == head), None)
