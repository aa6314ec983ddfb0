"""What judging depends on in a rule, and from which day on two readings of a rule differ.

A sentence or a citation that is worded better changes no finding; a bound, a date, a unit, or what
may be judged does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from compliance.rules import book
from compliance.rules.schema import Judge, LimitRule, Rule, SampleSource, SlugRule

Content = Mapping[str, Any]
"""A rule as JSON, without its words."""

_WORDS = {"citation", "says", "anchor", "reason", "note", "lifted_by_approval"}
_WORDS_OF_VERSIONS = {"adopted", "note"}


def on_readings(rulebooks: tuple[str, ...]) -> dict[str, Rule]:
    """The rules of some books that are folded over readings, by id."""
    return {
        rule.id: rule
        for name in rulebooks
        for rule in book.book(name).rules
        if isinstance(rule, SlugRule) or (isinstance(rule, LimitRule) and _is_folded(rule))
    }


def _is_folded(rule: LimitRule) -> bool:
    return (
        rule.judged_by is Judge.PROGRAM
        and rule.applies_at == "discharge"
        and rule.authority_on(SampleSource.METER) is not None
    )


def content(rule: Rule) -> Content:
    """What judging depends on. A field that is not used says nothing, so that a new one of the
    schema changes no rule that does without it."""
    versions = {"__all__": _WORDS_OF_VERSIONS}
    exclude: dict[str, Any] = {**dict.fromkeys(_WORDS, True), "versions": versions}
    found: Content = rule.model_dump(mode="json", exclude=exclude, exclude_defaults=True)
    return found


def differs_from(old: Content | None, new: Content | None) -> date | None:
    """The first day on which two contents can judge otherwise; None where they never do.

    old, new: None where there is no such rule. ``date.min``: from the beginning.
    """
    frames_differ = old is not None and new is not None and _frame(old) != _frame(new)
    versions = (_versions(old), _versions(new))
    for day in sorted({edge for side in versions for one in side for edge in _edges(one)}):
        before, after = (_in_force(side, day) for side in versions)
        if before != after or (frames_differ and after is not None):
            return day
    return None


def _frame(of: Content) -> Content:
    return {name: of[name] for name in of if name != "versions"}


def _versions(of: Content | None) -> Sequence[Content]:
    return () if of is None else of["versions"]


def _edges(version: Content) -> tuple[date, date]:
    """The day a version begins and the day it ends; the first and last there are without."""
    begin, end = version.get("effective"), version.get("ended")
    return (
        date.fromisoformat(begin) if begin else date.min,
        date.fromisoformat(end) if end else date.max,
    )


def _in_force(versions: Sequence[Content], day: date) -> Content | None:
    """What a version of a day says, whenever it may end."""
    for one in versions:
        begin, end = _edges(one)
        if begin <= day < end:
            return {name: one[name] for name in one if name != "ended"}
    return None
