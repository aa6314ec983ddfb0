"""Rulebooks: read once from the package's files, asked by id and day; a bad file is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import yaml
from pydantic import ValidationError

from compliance.errors import RuleError, UnknownRule
from compliance.model.parameters import Parameter
from compliance.rules.effective import in_force
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


AnyVersion = LimitVersion | SlugVersion | ShareVersion | StrengthVersion | FactorVersion | Version


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
    document = _document(_mapping(text, file), file)
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


class _Loader(yaml.SafeLoader):
    """YAML in which a key may stand once: the second would silently win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key!r} stands twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def _mapping(text: str, file: str) -> dict[str, Any]:
    try:
        found = yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader, stricter
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise RuleError(
            f"{file}, line {line}: {error.problem}; expected YAML as `rules check --schema` prints"
        ) from None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise RuleError(f"{file}: not readable as YAML ({' '.join(str(error).split())})") from None
    if not isinstance(found, dict):
        place = f"{file} is empty" if found is None else f"{file}: found {type(found).__name__}"
        raise RuleError(f"{place}, expected the keys rulebook, title, zone, rules")
    return found


def _document(found: dict[str, Any], file: str) -> Document:
    try:
        return Document.model_validate(found)
    except ValidationError as error:
        raise RuleError(_sentence(error, found, file)) from None


_EXPECTED = {
    "missing": "is missing; write it out, with null where the text says nothing",
    "extra_forbidden": "is not a field of this kind of rule; correct its spelling or remove it",
    "union_tag_invalid": "has an unknown kind; expected limit, slug, share, strength, factor or "
    "narrative",
}


def _sentence(error: ValidationError, found: dict[str, Any], file: str) -> str:
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    place = file
    if len(path) > 1 and path[0] == "rules" and path[1].isdigit():
        rule = found["rules"][int(path[1])]
        place += f", rule {rule.get('id', path[1]) if isinstance(rule, dict) else path[1]}"
        path = path[3:]  # the kind stands between the number and the field
    field = ".".join(path)
    expected = _EXPECTED.get(first["type"])
    if expected:
        return f"{place}: {field or 'the rule'} {expected}"
    said = first["msg"].removeprefix("Value error, ")
    given = first.get("input")
    shown = f" is {given!r}," if field and not isinstance(given, dict) else ""
    return f"{place}: {field}{shown} {said}".replace(":  ", ": ")
