"""A changed rulebook beside the one in force: which rules differ, and what each would find."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from compliance.judging.reproduce import COMPARED
from compliance.model.findings import Exceedance
from compliance.rules.book import RuleBook
from compliance.rules.rulings import content
from compliance.rules.schema import Basis, Judge, LimitRule, Rule, SlugRule


class Becomes(StrEnum):
    """What becomes of a finding under the changed book."""

    SAME = "same"
    CHANGED = "changed"
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A rule before and after; None where there is no such rule."""

    rule_id: str
    before: Rule | None
    after: Rule | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What the changed book changes.

    judged: rules that can judge otherwise; same: ids of rules that judge as before; not_replayed:
    rules that differ and are not judged here, with the reason.
    """

    judged: tuple[Pair, ...]
    same: tuple[str, ...]
    not_replayed: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One event before and after; what is not found is None."""

    before: Exceedance | None
    after: Exceedance | None

    @property
    def becomes(self) -> Becomes:
        """What becomes of it."""
        if self.before is None:
            return Becomes.NEW
        if self.after is None:
            return Becomes.GONE
        same = all(getattr(self.before, name) == getattr(self.after, name) for name in COMPARED)
        return Becomes.SAME if same else Becomes.CHANGED


def changes(before: RuleBook | None, after: RuleBook) -> Changes:
    """Rules whose content differs, and those that judge as they did; words alone change nothing."""
    old = {rule.id: rule for rule in before.rules} if before else {}
    new = {rule.id: rule for rule in after.rules}
    judged: list[Pair] = []
    same: list[str] = []
    aside: dict[str, str] = {}
    for rule_id in dict.fromkeys([*old, *new]):
        pair = Pair(rule_id=rule_id, before=old.get(rule_id), after=new.get(rule_id))
        if pair.before and pair.after and content(pair.before) == content(pair.after):
            same.append(rule_id)
        elif any(map(is_replayed, (pair.before, pair.after))):
            judged.append(pair)
        else:
            aside[rule_id] = _why_not(pair.after or pair.before)
    return Changes(judged=tuple(judged), same=tuple(same), not_replayed=aside)


def is_replayed(rule: Rule | None) -> bool:
    """Whether a rule is judged by the program from single readings or results, or screens them."""
    if isinstance(rule, SlugRule):
        return True
    return (
        isinstance(rule, LimitRule)
        and rule.judged_by is Judge.PROGRAM
        and rule.applies_at == "discharge"
        and rule.basis in (Basis.INSTANTANEOUS, Basis.DAILY_MAX)
    )


def _why_not(rule: Rule | None) -> str:
    if rule is None:
        return "no such rule"
    if not isinstance(rule, LimitRule):
        return "is not judged from single readings or results"
    if rule.judged_by is not Judge.PROGRAM:
        return f"judged by a {rule.judged_by.value}, not by the program"
    if rule.applies_at != "discharge":
        return f"applies at the {rule.applies_at}, not where users discharge"
    return f"a limit on {rule.basis.value.replace('_', ' ')} is not replayed"


def compare(before: Iterable[Exceedance], after: Iterable[Exceedance]) -> tuple[Compared, ...]:
    """Events under both books, by side and start, in time order."""
    old, new = ({_key(one): one for one in facts} for facts in (before, after))
    return tuple(
        Compared(before=old.get(key), after=new.get(key)) for key in sorted(old.keys() | new.keys())
    )


def counts(found: Sequence[Compared]) -> dict[Becomes, int]:
    """How many events become what."""
    became = [one.becomes for one in found]
    return {each: became.count(each) for each in Becomes}


def _key(fact: Exceedance) -> tuple[datetime, str]:
    return fact.starts_at, fact.side.value
