"""What binds where: the rules of a city's books, and those that a user's papers became.

The one place from which judging, charts, rulings and evidence take their rules.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from functools import lru_cache
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from compliance.errors import NotInForce
from compliance.judging.results import judges
from compliance.model.control import OnFile
from compliance.model.parameters import Parameter
from compliance.model.samples import Result
from compliance.model.units import Quantity, Unit, dimension
from compliance.records import control, sites
from compliance.rules import book
from compliance.rules.control import Binding, bindings, is_control
from compliance.rules.effective import in_force
from compliance.rules.schema import Basis, Judge, LimitRule, LimitVersion, SampleSource

SINGLY = (Basis.INSTANTANEOUS, Basis.DAILY_MAX)
"""Bases on which one result is one measurement; the others are of many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The papers of every user as rules, by user; read once, asked for each channel."""

    papers: Mapping[int, tuple[Binding, ...]] = field(default_factory=dict)
    cities: Mapping[int, int] = field(default_factory=dict)  # of a user with papers
    approved: frozenset[tuple[int, str]] = frozenset()  # users and rules with an approval ever

    def at(self, user_id: int, point: str) -> tuple[Binding, ...]:
        """The limits of a user's papers that hold at a point, in force or not."""
        mine = self.papers.get(user_id, ())
        return tuple(one for one in mine if one.binds(point))

    def beside(
        self, user_id: int, point: str, parameter: Parameter, unit: Unit
    ) -> tuple[Binding, ...]:
        """The limits of papers that the program judges on a channel's readings."""
        if user_id not in self.papers:
            return ()
        return tuple(
            one
            for one in self.at(user_id, point)
            if one.rule.parameter is parameter
            and is_folded(one.rule)
            and dimension(one.rule.unit) == dimension(unit)
        )

    def on_readings(self, place: sites.Place) -> tuple[LimitRule, ...]:
        """Every limit that the program judges on a channel's readings."""
        books = limits(tuple(place.rulebooks), place.parameter)
        beside = self.beside(place.industrial_user_id, place.point, place.parameter, place.unit)
        return books + tuple(one.rule for one in beside) if beside else books

    def alike(self, place: sites.Place) -> Hashable:
        """What judging a channel's readings depends on: the same for channels judged alike."""
        beside = self.beside(place.industrial_user_id, place.point, place.parameter, place.unit)
        marks = tuple(one.mark for one in beside)
        return tuple(place.rulebooks), place.parameter, place.unit, marks, place.zone

    def on_result(
        self, rulebooks: Sequence[str], user_id: int, point: str, result: Result
    ) -> tuple[LimitRule, ...]:
        """Every limit of books and papers that has something to say of one result."""
        every = [
            *(rule for name in rulebooks for rule in book.book(name).of(LimitRule)),
            *(one.rule for one in self.at(user_id, point)),
        ]
        return tuple(
            rule
            for rule in every
            if rule.applies_at == "discharge"
            and judges(rule, result)
            and rule.basis in SINGLY
            and (not is_control(rule.id) or _fits(rule, result))
        )

    def on_parameter(
        self, rulebooks: Sequence[str], user_id: int, point: str, parameter: Parameter
    ) -> tuple[LimitRule, ...]:
        """Every limit on a parameter at a point, whoever judges it, in force or not."""
        books = [rule for name in rulebooks for rule in book.book(name).limits(parameter)]
        papers = [one.rule for one in self.at(user_id, point) if one.rule.parameter is parameter]
        return (*books, *papers)

    def of_city(self, city_id: int) -> Iterator[tuple[int, Binding]]:
        """The limits of all papers in a city that are folded over readings, with their users."""
        for user_id, mine in self.papers.items():
            if self.cities[user_id] == city_id:
                yield from ((user_id, one) for one in mine if is_folded(one.rule))


NOTHING = Stack()
_kept: dict[str, Stack] = {}


def of(db: Connection) -> Stack:
    """What binds now. They are read anew only where a paper or an approval was written since."""
    stamp = control.stamp(db)
    found = _kept.get(stamp)
    if found is None:
        found = replace(built(control.every(db)), approved=control.approved(db))
        _kept.clear()
        _kept[stamp] = found
    return found


def built(files: Sequence[OnFile]) -> Stack:
    """The stack from all versions of all papers, those of one paper together, oldest first."""
    papers: dict[int, tuple[Binding, ...]] = {}
    cities: dict[int, int] = {}
    for _, group in groupby(
        files, key=lambda one: (one.city_id, one.control.kind, one.control.key)
    ):
        versions = list(group)
        user_id = versions[0].user_id
        papers[user_id] = papers.get(user_id, ()) + bindings([one.control for one in versions])
        cities[user_id] = versions[0].city_id
    return Stack(papers=papers, cities=cities)


def rules_of(db: Connection, place: sites.Place) -> tuple[LimitRule, ...]:
    """Every limit that the program judges on a channel's readings."""
    return of(db).on_readings(place)


@lru_cache(maxsize=1000)
def limits(rulebooks: tuple[str, ...], parameter: Parameter) -> tuple[LimitRule, ...]:
    """The limits of some books for a parameter that the program judges on meters."""
    return tuple(
        rule
        for name in rulebooks
        for rule in book.book(name).limits(parameter)
        if rule.judged_by is Judge.PROGRAM and rule.authority_on(SampleSource.METER) is not None
    )


def is_folded(rule: LimitRule) -> bool:
    """Whether a paper's limit is judged reading by reading: one of an average is not."""
    return (
        rule.basis is Basis.INSTANTANEOUS
        and rule.judged_by is Judge.PROGRAM
        and rule.authority_on(SampleSource.METER) is not None
    )


def zone_of(rule: LimitRule, place: sites.Place) -> ZoneInfo:
    """Whose civil days cut the versions of a rule: its book's, for a paper the city's."""
    return ZoneInfo(place.zone) if is_control(rule.id) else book.find(rule.id)[0].zone


def on_day(rules: Sequence[LimitRule], day: date) -> Iterator[tuple[LimitRule, LimitVersion]]:
    """Rules with the version in force on a day; those without one are left out."""
    for rule in rules:
        try:
            yield rule, in_force(rule.id, rule.versions, day)
        except NotInForce:
            continue


def _fits(rule: LimitRule, result: Result) -> bool:
    return dimension(rule.unit) == dimension(result.unit)


def strictest(found: Sequence[tuple[LimitRule, LimitVersion]]) -> frozenset[str]:
    """The ids of the strictest enforceable limits in force, of each basis and kind of unit.

    Limits of different bases, or in units of different kinds, bind beside each other: none of them
    is the stricter. What only screens is left out. Of equals each is named.
    """
    kinds: dict[tuple[Basis, str], list[tuple[LimitRule, LimitVersion]]] = {}
    for rule, version in found:
        if rule.enforceable_on:
            kinds.setdefault((rule.basis, dimension(rule.unit)), []).append((rule, version))
    return frozenset(name for alike in kinds.values() for name in _strictest(alike))


def _strictest(alike: Sequence[tuple[LimitRule, LimitVersion]]) -> Iterator[str]:
    """Those whose lower bound is the highest, or whose upper bound is the lowest."""
    unit = alike[0][0].unit
    lows = {
        rule.id: _in(v.at_least, rule.unit, unit) for rule, v in alike if v.at_least is not None
    }
    highs = {rule.id: _in(v.at_most, rule.unit, unit) for rule, v in alike if v.at_most is not None}
    yield from (name for name, bound in lows.items() if bound == max(lows.values()))
    yield from (name for name, bound in highs.items() if bound == min(highs.values()))


def _in(bound: Decimal, source: Unit, target: Unit) -> Decimal:
    return Quantity(value=bound, unit=source).to(target).value


def considered(rules: Sequence[LimitRule], day: date) -> list[dict[str, Any]]:
    """The stack on a day as evidence keeps it: each source with its numbers; which is strictest.

    A source without a version in force says so: it is no limit, which is never compliance.
    """
    held = list(on_day(rules, day))
    strict = strictest(held)
    now = {rule.id: version for rule, version in held}
    return [_told(rule, now.get(rule.id), is_strictest=rule.id in strict) for rule in rules]


def _told(rule: LimitRule, version: LimitVersion | None, *, is_strictest: bool) -> dict[str, Any]:
    low = version.at_least if version else None
    high = version.at_most if version else None
    return {
        "rule": rule.id,
        "authority": rule.authority.value,
        "citation": rule.citation,
        "basis": rule.basis.value,
        "at_least": None if low is None else str(low),
        "at_most": None if high is None else str(high),
        "unit": rule.unit.value,
        "in_force": version is not None,
        "effective": version.effective.isoformat() if version and version.effective else None,
        "ended": version.ended.isoformat() if version and version.ended else None,
        "enforceable": bool(rule.enforceable_on),
        "strictest": is_strictest,
    }
