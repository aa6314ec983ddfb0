"""Results as the measurements of a limit: each result is one, or each month's mean is one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

from compliance.errors import InputError
from compliance.model.noncompliance import Bound, Limit, Measured, SncBasis, SncRule
from compliance.model.parameters import Parameter, label
from compliance.model.periods import Period, add_months
from compliance.model.units import Unit, as_decimal, dimension, linear, rounded, shown

NEVER_AVERAGED = (Parameter.PH, Parameter.TEMPERATURE)
ZERO_RULE = "below detection counted as zero: the program's setting, not adopted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One measurement beside its limit: a row of the worksheet.

    day: of a month's mean, its first; value: in the limit's unit, as it is printed; well_over:
    None where that test is not evaluated; note: what a reader should know; parts: the results in
    it; continuous: it stands for a day of an instrument's record.
    """

    day: date
    value: str
    unit: Unit
    bound: Bound
    exceeds: bool
    well_over: bool | None
    parts: tuple[Measured, ...]
    note: str = ""
    continuous: bool = False

    @property
    def taken_by(self) -> str:
        """Who took the samples in it."""
        return ", ".join(dict.fromkeys(one.taken_by for one in self.parts if one.taken_by))

    @property
    def source(self) -> str:
        """Where its results stand."""
        return ", ".join(dict.fromkeys(one.source for one in self.parts if one.source))


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A measurement in the limit's unit, exact. qualifier: as of a result."""

    value: Fraction
    qualifier: str

    def above(self, bound: Decimal) -> bool:
        """Whether it certainly lies above a bound: touching it does not."""
        own = Fraction(bound)
        return self.qualifier != "<" and (
            self.value > own or (self.qualifier == ">" and self.value == own)
        )

    def below(self, bound: Decimal) -> bool:
        """Whether it lies below a bound; "<" and ">" are never counted so."""
        return self.qualifier == "" and self.value < Fraction(bound)

    def reaches(self, threshold: Fraction) -> bool:
        """Whether it equals or exceeds a threshold."""
        return self.qualifier != "<" and self.value >= threshold

    def falls_to(self, threshold: Fraction) -> bool:
        """Whether it equals a threshold or lies below it."""
        return self.qualifier == "" and self.value <= threshold


def lines(
    limit: Limit, results: Iterable[Measured], rule: SncRule, window: Period
) -> tuple[Line, ...]:
    """The measurements of one limit in a window, by day.

    results: any; those of another point, parameter, kind of unit or time are passed over, and so
    are those of days on which the limit was not in force.
    Raises: InputError for the average of a parameter that is never averaged.
    """
    chosen = [one for one in results if _belongs(limit, one, window)]
    chosen.sort(key=_in_time)
    if limit.basis is SncBasis.MONTHLY_AVG:
        return tuple(_months(limit, chosen, rule))
    return tuple(
        _line(limit, bound, rule, (one,), of=amount(one, bound.unit))
        for one in chosen
        if (bound := limit.on(one.day)) is not None
    )


def _in_time(one: Measured) -> tuple[date, str, str, str, str, str]:
    """By day and instant; a date without a time comes first."""
    at = one.taken
    instant = at.astimezone(UTC).isoformat() if isinstance(at, datetime) else ""
    return one.day, instant, one.written, one.qualifier, one.taken_by, one.source


def _belongs(limit: Limit, one: Measured, window: Period) -> bool:
    return (
        one.point == limit.point
        and one.parameter is limit.parameter
        and window.holds(one.day)
        and any(dimension(one.unit) == dimension(bound.unit) for bound in limit.bounds)
    )


def amount(one: Measured, unit: Unit) -> Amount:
    """A result in another unit, without any rounding. Raises: UnitMismatch."""
    if one.unit is unit:
        return Amount(value=Fraction(one.value), qualifier=one.qualifier)
    factor, offset = linear(one.unit, unit)
    return Amount(value=Fraction(one.value) * factor + offset, qualifier=one.qualifier)


def refuse_average(parameter: Parameter) -> None:
    """Raises: InputError where a parameter has no mean that means anything."""
    if parameter in NEVER_AVERAGED:
        raise InputError(
            f"{label(parameter)} is never averaged; expected the basis instantaneous or daily_max"
        )


def _months(limit: Limit, chosen: Sequence[Measured], rule: SncRule) -> Iterable[Line]:
    refuse_average(limit.parameter)
    months: dict[date, list[Measured]] = defaultdict(list)
    for one in chosen:
        months[one.day.replace(day=1)].append(one)
    for first, parts in sorted(months.items()):
        bound = limit.on(first)
        if bound is not None:
            yield _line(limit, bound, rule, parts, of=_mean(parts, bound.unit), month=first)


def _mean(parts: Sequence[Measured], unit: Unit) -> Amount:
    """The mean of a month's results; a non-detect is zero, and one ">" makes it a least value."""
    amounts = [amount(one, unit) for one in parts]
    total = sum((one.value for one in amounts if one.qualifier != "<"), Fraction(0))
    qualifier = ">" if any(one.qualifier == ">" for one in amounts) else ""
    return Amount(value=total / len(amounts), qualifier=qualifier)


def _line(
    limit: Limit,
    bound: Bound,
    rule: SncRule,
    parts: Sequence[Measured],
    *,
    of: Amount,
    month: date | None = None,
) -> Line:
    exceeds = outside(of, bound)
    return Line(
        day=month or parts[0].day,
        value=_mean_shown(of, bound) if month else _shown(of, parts[0], bound),
        unit=bound.unit,
        bound=bound,
        exceeds=exceeds,
        well_over=well_over(of, bound, limit.parameter, rule),
        parts=tuple(parts),
        note=_note_of_mean(parts) if month else _note(of, bound, exceeds=exceeds),
    )


def outside(of: Amount, bound: Bound) -> bool:
    """Whether a measurement certainly lies outside a limit; touching it complies."""
    too_high = bound.at_most is not None and of.above(bound.at_most)
    return too_high or (bound.at_least is not None and of.below(bound.at_least))


def is_evaluated(bound: Bound, parameter: Parameter, rule: SncRule) -> bool:
    """Whether the test of results well over the limit is made at all.

    Source: 40 CFR 403.8(f)(2)(viii)(B), which excepts pH; NR 211.23(1)(j)2, which has a margin for
    it. A factor on a temperature has no meaning, nor has one on a lower bound.
    """
    if parameter is Parameter.PH:
        return rule.ph_margin is not None
    return parameter is not Parameter.TEMPERATURE and bound.at_most is not None


def threshold(bound: Bound, parameter: Parameter, rule: SncRule) -> Decimal | None:
    """From where on a result is well over a limit, for parameters with a factor."""
    if bound.at_most is None or not is_evaluated(bound, parameter, rule):
        return None
    if parameter is Parameter.PH:
        return None
    return bound.at_most * (bound.trc_factor or rule.factor(parameter))


def well_over(of: Amount, bound: Bound, parameter: Parameter, rule: SncRule) -> bool | None:
    """Whether a measurement equals or exceeds what the second test counts from; None: not made."""
    if not is_evaluated(bound, parameter, rule):
        return None
    if parameter is Parameter.PH and rule.ph_margin is not None:
        low, high, margin = bound.at_least, bound.at_most, Fraction(rule.ph_margin)
        return (high is not None and of.reaches(Fraction(high) + margin)) or (
            low is not None and of.falls_to(Fraction(low) - margin)
        )
    limit = threshold(bound, parameter, rule)
    return limit is not None and of.reaches(Fraction(limit))


def _shown(of: Amount, one: Measured, bound: Bound) -> str:
    if one.unit is bound.unit:
        return f"{one.qualifier}{one.written}"
    value = as_decimal(of.value)
    return f"{one.qualifier}{shown(value, written=one.written, limit=_passed(of, bound))}"


def _mean_shown(of: Amount, bound: Bound) -> str:
    value = as_decimal(of.value)
    return f"{of.qualifier}{shown(value, written=f'{rounded(value, 2)}', limit=_passed(of, bound))}"


def _passed(of: Amount, bound: Bound) -> Decimal | None:
    return bound.at_least if bound.at_least is not None and of.below(bound.at_least) else (
        bound.at_most
    )  # fmt: skip


def _note(of: Amount, bound: Bound, *, exceeds: bool) -> str:
    high = bound.at_most
    if of.qualifier == "<" and high is not None and of.value > Fraction(high):
        return "the method cannot see as low as the limit: counted, not over it"
    if of.qualifier == ">" and not exceeds:
        return "lies above what the method can tell: counted, not over the limit"
    return ""


def _note_of_mean(parts: Sequence[Measured]) -> str:
    number = len(parts)
    below = sum(one.qualifier == "<" for one in parts)
    of = f"mean of {number} result{'s' if number > 1 else ''}"
    return f"{of}, {below} {ZERO_RULE}" if below else of


def months_between(window: Period) -> tuple[date, ...]:
    """The first days of a window's calendar months."""
    count = (window.end.year - window.start.year) * 12 + window.end.month - window.start.month
    return tuple(add_months(window.start, n) for n in range(count))
