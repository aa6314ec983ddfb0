"""Two rulebooks side by side: rules added, gone and changed, field by field and day by day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from compliance.rules.book import RuleBook
from compliance.rules.rulings import content, differs_from
from compliance.rules.schema import Rule


class Change(StrEnum):
    """What became of a rule."""

    ADDED = "added"
    GONE = "gone"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field before and after; None where it was not written. since: the version's first day,
    ``""`` for a field of the rule itself, ``not stated`` for a version without one."""

    field: str
    since: str
    before: object
    after: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A rule that differs. name: its id without the rulebook's.

    judges_from: the first day on which it can judge otherwise, ``date.min`` from the beginning;
    None where only words differ.
    """

    name: str
    change: Change
    fields: tuple[FieldChange, ...]
    judges_from: date | None


def differences(before: RuleBook, after: RuleBook) -> tuple[Difference, ...]:
    """What differs, in the order of the first book, then of the second.

    Rules are compared by their ids without the book's name, so that two cities can be compared.
    """
    old, new = ({_name(rule): rule for rule in book.rules} for book in (before, after))
    found = (
        _difference(name, old.get(name), new.get(name)) for name in dict.fromkeys([*old, *new])
    )
    return tuple(one for one in found if one is not None)


def _name(rule: Rule) -> str:
    return rule.id.partition(".")[2]


def _difference(name: str, old: Rule | None, new: Rule | None) -> Difference | None:
    fields = tuple(_fields(_written(old), _written(new)))
    if not fields:
        return None
    change = Change.ADDED if old is None else Change.GONE if new is None else Change.CHANGED
    judged = [None if rule is None else {**content(rule), "id": name} for rule in (old, new)]
    day = None if judged[0] == judged[1] else differs_from(*judged)
    return Difference(name=name, change=change, fields=fields, judges_from=day)


def _written(rule: Rule | None) -> dict[str, dict[str, Any]]:
    """A rule's fields by since when they hold: ``""`` its own, then each version's."""
    if rule is None:
        return {}
    whole = rule.model_dump(mode="json", exclude={"id"}, exclude_defaults=True)
    versions = whole.pop("versions", [])
    own = {"": {"kind": rule.kind, **whole}}
    dated = {one.get("effective") or "not stated": one for one in versions}
    return {**own, **{day: _without(one, "effective") for day, one in dated.items()}}


def _without(of: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in of.items() if key != name}


def _fields(
    old: Mapping[str, Mapping[str, Any]], new: Mapping[str, Mapping[str, Any]]
) -> Iterator[FieldChange]:
    for since in dict.fromkeys([*old, *new]):
        before, after = old.get(since, {}), new.get(since, {})
        for field in dict.fromkeys([*before, *after]):
            if before.get(field) != after.get(field):
                yield FieldChange(
                    field=field, since=since, before=before.get(field), after=after.get(field)
                )
