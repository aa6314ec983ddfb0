"""Tariffs: rates as dated documents. The loader refuses what is not spelled out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Annotated, Literal, Self

import yaml
from pydantic import Field, ValidationError, field_validator, model_validator

from compliance.errors import RuleError
from compliance.model.parameters import Parameter
from compliance.rules.schema import Number, Strict, Words


class Shares(Strict):
    """What part of a rate pays for what; the parts make one."""

    om: Number
    replacement: Number
    debt: Number

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.om + self.replacement + self.debt != 1:
            raise ValueError("do not add up to 1")
        return self


class Rounding(Strict):
    """When money is rounded. Only once a line, half up, to the cent, so far."""

    stage: Literal["line"]
    mode: Literal["half_up"]
    places: Literal[2]


class Due(Strict):
    """When a bill is to be paid. roll: a Saturday or Sunday moves it to the next weekday."""

    days: int = Field(gt=0)
    counted_from: Literal["bill_date", "period_end"]
    roll: Literal["none", "weekend"]
    citation: Words


class Charge(Strict):
    """What every line says."""

    code: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: Words
    source: Words | None = None
    shares: Shares | None = None


class FixedByMeter(Charge):
    """A flat charge by the size of the water meter, for each month of the period."""

    kind: Literal["fixed_by_meter"]
    per_month: dict[str, Number] = Field(min_length=1)


class VolumeCharge(Charge):
    """Dollars for each thousand gallons."""

    kind: Literal["volume"]
    per_kgal: Number


class StrengthExcess(Charge):
    """Dollars for each pound above the normal strength, which the ordinance sets."""

    kind: Literal["strength_excess"]
    parameter: Parameter
    per_lb: Number


AnyCharge = Annotated[FixedByMeter | VolumeCharge | StrengthExcess, Field(discriminator="kind")]


class TariffDocument(Strict):
    """A tariff file. adopted_by null: not adopted, and every bill under it says so."""

    tariff: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    city: str
    effective: date
    ended: date | None = None
    source: Words
    adopted_by: Words | None
    pound_factor: Number
    rounding: Rounding
    due: Due | None = None
    lines: tuple[AnyCharge, ...] = Field(min_length=1)

    @field_validator("pound_factor")
    @classmethod
    def _positive(cls, factor: Decimal) -> Decimal:
        if factor <= 0:
            raise ValueError("must be above zero")
        return factor

    @model_validator(mode="after")
    def _codes_once(self) -> Self:
        codes = [line.code for line in self.lines]
        twice = next((code for code in codes if codes.count(code) > 1), None)
        if twice:
            raise ValueError(f"names the line {twice} twice")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """A tariff and the digest of the file it was read from."""

    document: TariffDocument
    sha256: str

    @property
    def name(self) -> str:
        return self.document.tariff


def parse(text: str, file: str) -> Tariff:
    """Read one tariff.

    Raises: RuleError in one sentence: file, field, what was found, what was expected.
    """
    try:
        twice = next(_repeated(yaml.compose(text)), None)
        if twice:
            raise RuleError(f"{file}, line {twice[1]}: the key {twice[0]!r} stands twice; keep one")
        document = TariffDocument.model_validate(yaml.safe_load(text))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        raise RuleError(f"{file}, line {line}: this is not YAML; check its indentation") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the tariff"
        said = first["msg"].removeprefix("Value error, ")
        raise RuleError(f"{file}: {place} is {first['input']!r}: {said}") from None
    return Tariff(document=document, sha256=hashlib.sha256(text.encode()).hexdigest())


def _repeated(node: yaml.Node | None) -> Iterator[tuple[str, int]]:
    """Keys that stand twice in one mapping, with their line: the second would silently win."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _repeated(item)
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                yield str(key.value), key.start_mark.line + 1
            seen.add(key.value)
            yield from _repeated(value)


@cache
def tariffs() -> Mapping[str, Tariff]:
    """The tariffs of this release by name, read once."""
    files = [f for f in resources.files(__package__).iterdir() if f.name.endswith(".yaml")]
    read = [parse(file.read_text(encoding="utf-8"), file.name) for file in files]
    return MappingProxyType({one.name: one for one in sorted(read, key=lambda one: one.name)})


def in_force(city: str, day: date) -> Tariff:
    """The tariff of a city on a day.

    Raises: RuleError when there is none, or more than one claims the day.
    """
    found = [
        one
        for one in tariffs().values()
        if one.document.city == city
        and one.document.effective <= day
        and (one.document.ended is None or day < one.document.ended)
    ]
    if len(found) != 1:
        raise RuleError(
            f"{len(found)} tariffs of {city} are in force on {day}; expected one: "
            "add a tariff file or end the earlier one"
        )
    return found[0]
