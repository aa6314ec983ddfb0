"""Fields of a document, read with refusals: each fault is one sentence with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import TypeVar

from compliance.errors import RuleError

Choice = TypeVar("Choice", bound=StrEnum)

LARGEST_EXPONENT = 30
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|0|[1-9][0-9]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """One mapping of a document; ``place`` names file and entry in every refusal."""

    place: str
    content: Mapping[str, object]

    def fault(self, key: str, expected: str) -> RuleError:
        """The refusal of one field: place, what was found, what was expected."""
        return RuleError(f"{self.place}: {key} is {self.content.get(key)!r}; expected {expected}")

    def expect_only(self, known: Iterable[str]) -> None:
        """Refuse a key that nobody reads: a misspelt one would be ignored in silence."""
        allowed = sorted(known)
        for key in self.content:
            if key not in allowed:
                raise RuleError(
                    f"{self.place}: key {key!r} is not known; expected one of {', '.join(allowed)}"
                )

    def text(self, key: str, default: str | None = None) -> str:
        """A text; without a default it must be there."""
        value = self.content.get(key, default)
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self.fault(key, "a text")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, empty where absent."""
        value = self.content.get(key) or []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.fault(key, "a list of texts")
        return tuple(value)

    def flag(self, key: str) -> bool:
        """True or false; false where absent."""
        value = self.content.get(key, False)
        if not isinstance(value, bool):
            raise self.fault(key, "true or false")
        return value

    def whole(self, key: str, *, low: int, high: int) -> int:
        """A whole number inside a range, both ends allowed."""
        number = whole_number(self.content.get(key))
        if number is None or not low <= number <= high:
            raise self.fault(
                key, f"a plain whole number from {low} to {high} (no leading zeros: 0123 is octal)"
            )
        return number

    def decimal(self, key: str, default: Decimal | None = None) -> Decimal | None:
        """An exact number: a whole one, or a decimal in quotes."""
        value = self.content.get(key)
        if value is None:
            return default
        if isinstance(value, float):
            raise self.fault(key, f'an exact number: write it in quotes, "{value}"')
        try:
            number = Decimal(value) if isinstance(value, str | int) else None
        except InvalidOperation:
            number = None
        if number is None or isinstance(value, bool) or not _is_modest(number):
            raise self.fault(key, 'a number such as 10 or "0.01"')
        return number

    def choice(self, key: str, of: type[Choice]) -> Choice | None:
        """One of a closed set, spelled exactly; None where absent."""
        value = self.content.get(key)
        if value is None:
            return None
        found = next((member for member in of if member.value == value), None)
        if found is None:
            raise self.fault(key, f"one of {', '.join(member.value for member in of)}")
        return found

    def required(self, key: str, of: type[Choice]) -> Choice:
        """One of a closed set that may not be left out."""
        found = self.choice(key, of)
        if found is None:
            raise self.fault(key, f"one of {', '.join(member.value for member in of)}")
        return found


def _is_modest(number: Decimal) -> bool:
    """Whether a number can be an instrument's: 1e999999 as a fraction would fill the memory."""
    return number.is_finite() and (not number or abs(number.adjusted()) < LARGEST_EXPONENT)


def whole_number(value: object) -> int | None:
    """A whole number as an int or as decimal or 0x text; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return int(value, 0)
    return None
