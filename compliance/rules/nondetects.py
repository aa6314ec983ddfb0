"""How a result below detection enters an average: a city's adopted rule, or the default."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Literal, Self

import yaml
from pydantic import model_validator

from compliance.rules.effective import overlap
from compliance.rules.schema import Strict, Words


class NonDetects(StrEnum):
    """What a "<" stands for in an average. entered: the number the laboratory wrote after it."""

    ZERO = "zero"
    HALF = "half"  # of the number entered
    FULL = "full"  # the number entered
    HALF_MDL = "half_mdl"
    MDL = "mdl"
    MEDIAN = "median"  # the median in place of the mean, non-detects lowest


SAID = {
    NonDetects.ZERO: "below detection counts as zero",
    NonDetects.HALF: "below detection counts as half of the number reported",
    NonDetects.FULL: "below detection counts as the number reported",
    NonDetects.HALF_MDL: "below detection counts as half of the detection limit",
    NonDetects.MDL: "below detection counts as the detection limit",
    NonDetects.MEDIAN: "with a result below detection the median stands for the mean",
}


class Adopted(Strict):
    """A city's own rule, from the day it was adopted for."""

    rulebook: str
    policy: NonDetects
    effective: date
    ended: date | None = None
    resolution: Words


class Unadopted(Strict):
    """What holds until then."""

    policy: Literal[NonDetects.ZERO]


class PolicyBook(Strict):
    """All of it."""

    nondetects: Literal["cities"]
    default: Unadopted
    adopted: tuple[Adopted, ...]

    @model_validator(mode="after")
    def _one_a_day(self) -> Self:
        for name in {one.rulebook for one in self.adopted}:
            if (day := overlap([a for a in self.adopted if a.rulebook == name])) is not None:
                raise ValueError(f"two rules of {name} claim {day.isoformat()}")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rule of a city on a day, and the sentence that is printed with whatever it made."""

    how: NonDetects
    resolution: str | None

    @property
    def says(self) -> str:
        """The policy in words, with who adopted it."""
        by = f"adopted by {self.resolution}" if self.resolution else "not adopted"
        return f"{SAID[self.how]} ({by})"


@cache
def policy_book() -> PolicyBook:
    """The policies of this release."""
    file = resources.files("compliance.rules") / "program" / "nondetects.yaml"
    return PolicyBook.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


def policy(rulebook: str, day: date, *, book: PolicyBook | None = None) -> Policy:
    """How a city counts what lies below detection, on a day."""
    every = book or policy_book()
    for one in every.adopted:
        if one.rulebook == rulebook and one.effective <= day < (one.ended or date.max):
            return Policy(how=one.policy, resolution=one.resolution)
    return Policy(how=every.default.policy, resolution=None)
