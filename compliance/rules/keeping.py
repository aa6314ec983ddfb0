"""A city's records schedule as a YAML file, and the floor of law under it; the loader refuses."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cache
from importlib import resources
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, StrictInt, ValidationError, model_validator

from compliance.errors import InputError
from compliance.model.keeping import Line, Schedule
from compliance.model.parameters import Parameter
from compliance.rules.effective import in_force

Text = Annotated[
    str, Field(min_length=1, max_length=400, pattern=r"^[^\x00-\x1f]*\S[^\x00-\x1f]*$")
]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Floor(_Document):
    """For how many years the law wants readings kept, from a day on."""

    effective: date | None
    ended: date | None = None
    years: Annotated[StrictInt, Field(gt=0)]
    citation: Text
    says: Text


class _Minimum(_Document):
    keeping: Literal["minimum"]
    versions: tuple[Floor, ...]


class LineDocument(_Document):
    """One line: which readings, for how many years, by what text."""

    line: Text
    records: Literal["readings"]
    parameters: tuple[Parameter, ...] = ()
    years: Annotated[StrictInt, Field(gt=0, le=1000)]
    citation: Text


class ScheduleDocument(_Document):
    """A city's records schedule: who adopted it when, and its lines."""

    records_schedule: Text  # the city's slug
    adopted_on: date
    adopted_by: Text
    lines: Annotated[tuple[LineDocument, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_line_for_each(self) -> Self:
        names = [line.line for line in self.lines]
        if len(set(names)) < len(names):
            raise ValueError("two lines have one name; expected each name once")
        named: list[str] = [of.value for line in self.lines for of in line.parameters or ()]
        named += ["all others" for line in self.lines if not line.parameters]
        twice = sorted({one for one in named if named.count(one) > 1})
        if twice:
            raise ValueError(f"two lines cover {twice[0]}; expected one line for each")
        return self

    @property
    def schedule(self) -> Schedule:
        """The schedule as it is asked."""
        return Schedule(
            adopted_on=self.adopted_on,
            adopted_by=self.adopted_by,
            lines=tuple(
                Line(
                    name=one.line,
                    years=one.years,
                    citation=one.citation,
                    parameters=frozenset(one.parameters),
                )
                for one in self.lines
            ),
        )


@cache
def _minimum() -> _Minimum:
    file = resources.files("compliance.rules") / "program" / "keeping.yaml"
    return _Minimum.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


def floor(day: date) -> Floor:
    """The least that a schedule may say on a day. Raises: NotInForce."""
    return in_force("keeping", _minimum().versions, day)


def parse(text: str, *, file: str, today: date) -> ScheduleDocument:
    """A records schedule from its file.

    Raises: InputError naming file, place, what was found and what was expected: also for a line
    under the floor, and for a schedule that is not adopted yet.
    """
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        where = f", line {place.line + 1}" if place else ""
        raise InputError(f"{file}{where}: this is not YAML; check indentation and quotes") from None
    if not isinstance(content, dict):
        raise InputError(f"{file}: no records schedule; expected the key records_schedule")
    try:
        document = ScheduleDocument.model_validate(content)
    except ValidationError as error:
        raise InputError(f"{file}: {_first(error.errors())}") from None
    _check(document, file=file, today=today)
    return document


def _check(document: ScheduleDocument, *, file: str, today: date) -> None:
    if document.adopted_on > today:
        raise InputError(
            f"{file}: adopted_on is {document.adopted_on}, which is still to come; expected a day "
            "up to today: load the schedule once it is adopted"
        )
    least = floor(today)
    for number, line in enumerate(document.lines):
        if line.years < least.years:
            raise InputError(
                f"{file}: lines.{number}.years is {line.years} (line {line.line}); expected "
                f"{least.years} or more, by {least.citation}: correct the line"
            )


def _first(errors: Sequence[Any]) -> str:
    """The first fault in a sentence."""
    first = errors[0]
    place = ".".join(str(part) for part in first["loc"]) or "the schedule"
    said = str(first["msg"]).removeprefix("Value error, ")
    if first["type"] == "missing":
        return f"{place} is absent; expected it: a schedule names who adopted it when, and cites"
    if not first["loc"]:
        return said
    return f"{place} is {str(first['input'])[:60]!r}: {said}"
