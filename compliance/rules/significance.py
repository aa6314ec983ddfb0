"""Figures of significant noncompliance, from a rule or its base, and numbers that are weaker."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

from compliance.errors import NotInForce, RuleError
from compliance.model.limits import Basis
from compliance.rules.book import RuleBook, find
from compliance.rules.effective import in_force
from compliance.rules.programs import FIGURES, SncRule
from compliance.rules.schema import LimitRule

OPTIONAL = ("trc_factors", "ph_margin")
FACTOR = "times the limit"
UNIT = {
    "chronic_percent": "percent",
    "trc_percent": "percent",
    "trc_factor": FACTOR,
    "late_report_days": "days",
    "milestone_days": "days",
    "ph_margin": "s.u.",
}
"""Figures that are weaker the larger they are, with their units."""
FLOOR = "federal.ph_floor"


def figures(rule: SncRule, day: date, *, among: RuleBook | None = None) -> dict[str, Any]:
    """The figures of a rule on a day by name; one that it leaves out is that of its base.

    among: the book that the rule stands in, where its bases are looked for first.

    Raises: NotInForce; RuleError where a base is missing, of another kind, or rests on the rule.
    """
    found: dict[str, Any] = {}
    for one in _chain(rule, among):
        version = in_force(one.id, one.versions, day)
        for name in (*FIGURES, *OPTIONAL):
            value = getattr(version, name)
            if value is not None and name not in found:
                found[name] = value
    return found


def _chain(rule: SncRule, among: RuleBook | None) -> Iterator[SncRule]:
    seen: list[str] = []
    current: SncRule | None = rule
    while current is not None:
        if current.id in seen:
            raise RuleError(f"{rule.id} rests on itself by its base {current.id}; take one out")
        seen.append(current.id)
        yield current
        current = base_of(current, among)


def base_of(rule: SncRule, among: RuleBook | None = None) -> SncRule | None:
    """The rule whose figures stand where this one has none. Raises: RuleError."""
    if rule.base is None:
        return None
    own = [] if among is None else [one for one in among.rules if one.id == rule.base]
    found = own[0] if own else find(rule.base)[1]
    if not isinstance(found, SncRule):
        raise RuleError(f"{rule.id}: its base {rule.base} is a {found.kind}; expected kind snc")
    return found


def weaker(book: RuleBook) -> tuple[str, ...]:
    """Local numbers of a book that are weaker than those they stand for, a sentence each.

    A weaker number is kept, and does not displace the federal one.

    Raises: RuleError, NotInForce where a base cannot be found.
    """
    days = [(rule, one.effective) for rule in book.of(SncRule) for one in rule.versions]
    told = [_weaker(rule, day or date.min, book) for rule, day in days]
    return (*dict.fromkeys(one for some in told for one in some), *_weaker_floors(book))


def weaker_on(rule: SncRule, day: date) -> tuple[str, ...]:
    """The same for one rule and its bases on a day. Raises: RuleError, NotInForce."""
    return tuple(one for part in _chain(rule, None) for one in _weaker(part, day, None))


def _weaker(rule: SncRule, day: date, among: RuleBook | None) -> Iterator[str]:
    base = base_of(rule, among)
    if base is None:
        return
    given_by = in_force(rule.id, rule.versions, day)
    stand = figures(base, day, among=among)
    pairs = [(name, getattr(given_by, name), stand.get(name)) for name in UNIT]
    pairs += [
        (f"trc_factor of {one.value}", factor, stand.get("trc_factors", {}).get(one))
        for one, factor in (given_by.trc_factors or {}).items()
    ]
    for name, given, known in pairs:
        if given is not None and known is not None and given > known:
            yield (
                f"{rule.citation}: {name.replace('_', ' ')} is {given} {UNIT.get(name, FACTOR)}, "
                f"{base.citation} has {known}: the weaker number does not displace the other"
            )


def _weaker_floors(book: RuleBook) -> Iterator[str]:
    floor = find(FLOOR)[1]
    assert isinstance(floor, LimitRule)
    for rule in book.limits(floor.parameter):
        for version in rule.versions if rule.basis is Basis.INSTANTANEOUS else ():
            try:
                known = in_force(floor.id, floor.versions, version.effective or date.min).at_least
            except NotInForce:
                continue
            if version.at_least is not None and known is not None and version.at_least < known:
                yield (
                    f"{rule.citation}: at_least is {version.at_least} s.u., {floor.citation} has "
                    f"{known}: "
                    "the weaker number does not displace the other"
                )
