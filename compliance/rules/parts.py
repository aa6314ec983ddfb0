"""What all rules of a rulebook are made of: strict models, numbers in quotes, versions in time."""

from __future__ import annotations

from datetime import date
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from compliance.model.findings import Authority


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
RULE_ID = r"^[a-z0-9_]+(\.[a-z0-9_]+)+$"


class Judge(StrEnum):
    """Who can tell whether a provision was breached."""

    PROGRAM = "program"
    PERSON = "person"
    NOBODY = "nobody"  # yet: the reason says what is missing


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


class Provision(Strict):
    """What every rule says of itself."""

    id: str = Field(pattern=RULE_ID)
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
