"""The limits that hold for a channel on a day, from the rulebooks, in the channel's own unit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from zoneinfo import ZoneInfo

from app.templating import unit_shown
from compliance.errors import UnitMismatch
from compliance.jobs.stack import NOTHING, Stack, limits, on_day
from compliance.model.parameters import Parameter
from compliance.model.periods import day_of
from compliance.model.units import Quantity, Unit
from compliance.records.places import Signal
from compliance.rules.book import books
from compliance.rules.control import Binding
from compliance.rules.schema import LimitRule, LimitVersion, SampleSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One side of one limit. value: in the channel's unit; written: as the law has it."""

    rule_id: str
    side: str  # below, above: what would be outside
    value: float
    written: str
    citation: str
    says: str
    authority: str
    effective: date | None

    @property
    def label(self) -> str:
        """For the line in a chart."""
        return f"{'min' if self.side == 'below' else 'max'} {self.written}"


def bounds(signal: Signal, at: datetime, bound: Stack = NOTHING) -> tuple[Bound, ...]:
    """The limits on a channel's parameter in force at an instant; empty where there is none.

    bound: what users' papers say beside the rulebooks.
    """
    day = day_of(at, ZoneInfo(signal.zone))
    parameter, unit = Parameter(signal.parameter), Unit(signal.unit)
    papers = bound.beside(signal.industrial_user_id, signal.point, parameter, unit)
    return _bounds(signal.rulebooks, papers, parameter, unit, day)


def position(value: float | None, among: tuple[Bound, ...]) -> Bound | None:
    """The bound that a value lies beyond, if any; touching a bound complies."""
    if value is None:
        return None
    for one in among:
        if value < one.value if one.side == "below" else value > one.value:
            return one
    return None


@lru_cache(maxsize=1024)
def _bounds(
    rulebooks: tuple[str, ...],
    papers: tuple[Binding, ...],
    parameter: Parameter,
    unit: Unit,
    day: date,
) -> tuple[Bound, ...]:
    known = tuple(name for name in rulebooks if name in books())
    rules = (*limits(known, parameter), *(one.rule for one in papers))
    found: list[Bound] = []
    for rule, version in on_day(rules, day):
        with suppress(UnitMismatch):
            found.extend(_sides(rule, version, unit))
    return tuple(sorted(found, key=_strictness))


def _strictness(bound: Bound) -> tuple[bool, float]:
    """Lower bounds first, of each side the strictest first."""
    is_upper = bound.side == "above"
    return is_upper, bound.value if is_upper else -bound.value


def _sides(rule: LimitRule, version: LimitVersion, unit: Unit) -> Iterator[Bound]:
    authority = rule.authority_on(SampleSource.METER)
    for side, number in (("below", version.at_least), ("above", version.at_most)):
        if number is not None:
            yield Bound(
                rule_id=rule.id,
                side=side,
                value=float(Quantity(value=Decimal(number), unit=rule.unit).to(unit).value),
                written=f"{number} {unit_shown(rule.unit)}".strip(),
                citation=rule.citation,
                says=rule.says,
                authority=authority.value if authority else "",
                effective=version.effective,
            )
