"""Rulebooks: read once from the package's files, asked by id and day; a bad file is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from compliance.errors import UnknownRule
from compliance.model.parameters import Parameter
from compliance.rules.effective import in_force
from compliance.rules.programs import (
    AllowanceVersion,
    ClockVersion,
    CountingVersion,
    SncVersion,
)
from compliance.rules.reading import read
from compliance.rules.schema import (
    Document,
    FactorVersion,
    LimitRule,
    LimitVersion,
    Rule,
    ShareVersion,
    SlugVersion,
    StrengthRule,
    StrengthVersion,
    Version,
)

R = TypeVar("R", bound=Rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleBook:
    """One source of law, and the digest of the file it was read from."""

    name: str
    title: str
    zone: ZoneInfo
    text: str | None
    rules: tuple[Rule, ...]
    sha256: str

    def rule(self, rule_id: str) -> Rule:
        """The rule of that id.

        Raises: UnknownRule.
        """
        for rule in self.rules:
            if rule.id == rule_id:
                return rule
        raise UnknownRule(f"rulebook {self.name} has no rule {rule_id!r}")

    def of(self, kind: type[R]) -> tuple[R, ...]:
        """All rules of one kind, such as ``LimitRule``, in the order of the file."""
        return tuple(rule for rule in self.rules if isinstance(rule, kind))

    def limits(self, parameter: Parameter) -> tuple[LimitRule, ...]:
        """The limits on a parameter that apply where users discharge, in force or not."""
        return tuple(
            rule
            for rule in self.of(LimitRule)
            if rule.parameter is parameter and rule.applies_at == "discharge"
        )

    def strengths(self, day: date) -> dict[Parameter, StrengthVersion]:
        """Normal domestic strength by parameter, in mg/L, on a day.

        Raises: NotInForce.
        """
        return {
            rule.parameter: in_force(rule.id, rule.versions, day) for rule in self.of(StrengthRule)
        }

    def in_force(self, rule_id: str, day: date) -> AnyVersion:
        """The version of a rule that covers a civil day of the rulebook's zone.

        Raises: UnknownRule, NotInForce.
        """
        rule = self.rule(rule_id)
        return in_force(rule.id, versions(rule), day)


AnyVersion = (
    LimitVersion
    | SlugVersion
    | ShareVersion
    | StrengthVersion
    | FactorVersion
    | SncVersion
    | ClockVersion
    | CountingVersion
    | AllowanceVersion
    | Version
)


def versions(rule: Rule) -> tuple[AnyVersion, ...]:
    """The versions of a rule of any kind."""
    return rule.versions


@cache
def books() -> Mapping[str, RuleBook]:
    """The rulebooks of this release by name, read once."""
    files = sorted(
        (entry for entry in resources.files(__package__).iterdir() if entry.name.endswith(".yaml")),
        key=lambda entry: entry.name,
    )
    read = [parse(entry.read_text(encoding="utf-8"), entry.name) for entry in files]
    return MappingProxyType({book.name: book for book in read})


def book(name: str) -> RuleBook:
    """The rulebook of that name.

    Raises: UnknownRule naming those there are.
    """
    found = books().get(name)
    if found is None:
        raise UnknownRule(
            f"there is no rulebook {name!r}; expected one of {', '.join(sorted(books()))}"
        )
    return found


def find(rule_id: str) -> tuple[RuleBook, Rule]:
    """A rule by its id alone, with its rulebook.

    Raises: UnknownRule.
    """
    holder = book(rule_id.split(".", maxsplit=1)[0])
    return holder, holder.rule(rule_id)


def parse(text: str, file: str) -> RuleBook:
    """Read one rulebook.

    Raises: RuleError in one sentence: file, rule and field, what was found, what was expected.
    """
    document = read(
        Document, text, file, keys="rulebook, title, zone, rules", rows={"rules": "rule id"}
    )
    return RuleBook(
        name=document.rulebook,
        title=document.title,
        zone=ZoneInfo(document.zone),
        text=document.text,
        rules=document.rules,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
    )


def schema() -> dict[str, Any]:
    """The JSON schema of a rulebook file."""
    return Document.model_json_schema(mode="validation")
