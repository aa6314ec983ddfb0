"""The limits that hold for a channel on a day, from the rulebooks, in the channel's own unit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from zoneinfo import ZoneInfo

from app.templating import unit_shown
from compliance.errors import NotInForce, UnitMismatch
from compliance.model.parameters import Parameter
from compliance.model.periods import day_of
from compliance.model.units import Quantity, Unit
from compliance.records.places import Signal
from compliance.rules.book import books
from compliance.rules.effective import in_force
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


def bounds(signal: Signal, at: datetime) -> tuple[Bound, ...]:
    """The limits on a channel's parameter in force at an instant; empty where there is none."""
    day = day_of(at, ZoneInfo(signal.zone))
    return _bounds(signal.rulebooks, Parameter(signal.parameter), Unit(signal.unit), day)


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
    rulebooks: tuple[str, ...], parameter: Parameter, unit: Unit, day: date
) -> tuple[Bound, ...]:
    found: list[Bound] = []
    for name in rulebooks:
        for rule in books()[name].limits(parameter) if name in books() else ():
            if rule.authority_on(SampleSource.METER) is None:
                continue
            try:
                found.extend(_sides(rule, in_force(rule.id, rule.versions, day), unit))
            except (NotInForce, UnitMismatch):
                continue
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
