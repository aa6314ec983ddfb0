"""Averages of results: a day's value, and the means of days that limits are judged on.

Source: 40 CFR 403.12 and 122.2 (a monthly average is the sum of the daily values over the days that
were measured), 413 (four consecutive monitoring days), 469 (thirty consecutive days).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from compliance.errors import InsufficientData
from compliance.judging.measurements import refuse_average
from compliance.judging.results import Outcome
from compliance.model.findings import Side
from compliance.model.parameters import Parameter, label
from compliance.model.periods import Period, add_months
from compliance.model.units import Unit, as_decimal, linear, rounded, shown

FOUR = 4
"""Monitoring days in the average that the standards for platers name."""
THIRTY = 30


class NonDetects(StrEnum):
    """How a result below detection enters an average: a policy, which a city adopts."""

    ZERO = "zero"
    HALF = "half"  # of the number it lies below
    HALF_MDL = "half_mdl"  # of the detection limit, which must be reported
    FULL = "full"  # the number it lies below
    MEDIAN = "median"  # any below detection: the middle value takes the place of the mean

    @property
    def shown(self) -> str:
        """As a sentence has it."""
        return _SHOWN[self]


_SHOWN = {
    NonDetects.ZERO: "counted as zero",
    NonDetects.HALF: "counted as half of the number they lie below",
    NonDetects.HALF_MDL: "counted as half of their detection limit",
    NonDetects.FULL: "counted as the number they lie below",
    NonDetects.MEDIAN: "ranked lowest, and the median taken for the mean",
}


class DayRule(StrEnum):
    """How several results of one day become its value."""

    MEAN = "mean"
    GREATEST = "greatest"


@dataclass(frozen=True, slots=True, kw_only=True)
class AveragePolicy:
    """How results are averaged, and who adopted that; None: nobody, and each line says so."""

    non_detects: NonDetects = NonDetects.ZERO
    day: DayRule = DayRule.MEAN
    adopted_by: str | None = None

    @property
    def adoption(self) -> str:
        """By whom, in words."""
        return self.adopted_by or "the program's setting, not adopted"


DEFAULT = AveragePolicy()
"""What favours the discharger, until a city adopts another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One result on its civil day.

    qualifier: ``""``, ``"<"`` (lies below ``value``) or ``">"``; mdl: in ``unit``, None where it
    was not reported; written: as its source has it; name: what tells it from others.
    """

    day: date
    value: Decimal | Fraction
    qualifier: str
    written: str
    unit: Unit
    mdl: Decimal | Fraction | None = None
    name: str = ""

    def __str__(self) -> str:
        return f"{self.qualifier}{self.written} {self.unit.value} on {self.day.isoformat()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DayValue:
    """A monitored day's value in the unit of the average, and the most it can be.

    most: with what lies below detection counted in full; sees: the greatest number that a result of
    the day lies below, None where all were detected.
    """

    day: date
    value: Fraction
    most: Fraction
    qualifier: str
    results: tuple[Found, ...]
    sees: Fraction | None

    @property
    def is_below(self) -> bool:
        """Whether nothing was detected that day."""
        return self.qualifier == "<"


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """The mean of a parameter over monitored days, unrounded, in ``unit``.

    qualifier: ``""``; ``"<"`` where nothing is known but that it lies below; ``">"`` where a result
    in it was above what the method can tell. most: with what lies below detection counted in full;
    sees: the greatest number that a result in it lies below, None where all were detected. working:
    how it came about, in words.
    """

    parameter: Parameter
    unit: Unit
    value: Fraction
    most: Fraction
    qualifier: str
    days: tuple[DayValue, ...]
    sees: Fraction | None
    working: tuple[str, ...]

    @property
    def results(self) -> tuple[Found, ...]:
        """Every result in it, by day."""
        return tuple(one for day in self.days for one in day.results)

    @property
    def text(self) -> str:
        """The mean for print."""
        return written(self.value)


def written(value: Fraction, *, limit: Decimal | None = None) -> str:
    """A mean for print: at least two decimals, and as many as tell it from a limit it passes."""
    exact = as_decimal(value)
    return shown(exact, written=f"{rounded(exact, 2):f}", limit=limit)


def day_values(
    parameter: Parameter, results: Iterable[Found], unit: Unit, policy: AveragePolicy = DEFAULT
) -> tuple[DayValue, ...]:
    """The values of the days that were monitored, oldest first; the order given does not matter.

    Raises: InputError for pH and temperature, and for a unit of another kind; InsufficientData
    where the policy needs a detection limit that was not reported.
    """
    refuse_average(parameter)
    by_day: dict[date, list[Found]] = defaultdict(list)
    for one in results:
        by_day[one.day].append(one)
    return tuple(
        _day_value(day, sorted(found, key=_in_order), unit, policy)
        for day, found in sorted(by_day.items())
    )


def _in_order(one: Found) -> tuple[str, str, str]:
    return one.name, one.written, one.qualifier


def _day_value(day: date, found: Sequence[Found], unit: Unit, policy: AveragePolicy) -> DayValue:
    full = [_in(one.value, one.unit, unit) for one in found]
    below = [value for one, value in zip(found, full, strict=True) if one.qualifier == "<"]
    return DayValue(
        day=day,
        value=_of_several([_counted(one, unit, policy) for one in found], policy),
        most=_of_several(full, policy),
        qualifier=_qualifier(one.qualifier for one in found),
        results=tuple(found),
        sees=max(below, default=None),
    )


def _of_several(values: Sequence[Fraction], policy: AveragePolicy) -> Fraction:
    if policy.day is DayRule.GREATEST:
        return max(values)
    return sum(values, Fraction(0)) / len(values)


def _qualifier(given: Iterable[str]) -> str:
    marks = list(given)
    if ">" in marks:
        return ">"
    return "<" if all(mark == "<" for mark in marks) else ""


def _counted(one: Found, unit: Unit, policy: AveragePolicy) -> Fraction:
    """A result as it enters an average."""
    value = _in(one.value, one.unit, unit)
    if one.qualifier != "<" or policy.non_detects is NonDetects.FULL:
        return value
    if policy.non_detects is NonDetects.HALF:
        return value / 2
    if policy.non_detects is NonDetects.HALF_MDL:
        if one.mdl is None:
            raise InsufficientData(
                f"{one} has no detection limit, which the adopted rule halves; expected the MDL of "
                "the laboratory: ask for it"
            )
        return _in(one.mdl, one.unit, unit) / 2
    return Fraction(0)


def _in(value: Decimal | Fraction, source: Unit, target: Unit) -> Fraction:
    factor, offset = linear(source, target)
    return Fraction(value) * factor + offset


def average(
    parameter: Parameter,
    days: Sequence[DayValue],
    unit: Unit,
    *,
    policy: AveragePolicy = DEFAULT,
    over: str = "",
) -> Average:
    """The mean of monitored days; one day is its own mean. over: which days, for the working.

    Raises: InputError for pH and temperature; InsufficientData without any day: never zero.
    """
    refuse_average(parameter)
    if not days:
        raise InsufficientData(
            f"{label(parameter)}: nothing was measured{f' in {over}' * bool(over)}"
        )
    below = any(day.sees is not None for day in days)
    by_median = policy.non_detects is NonDetects.MEDIAN and below
    value, qualifier = _median(days) if by_median else _mean(days)
    return Average(
        parameter=parameter,
        unit=unit,
        value=value,
        most=sum((day.most for day in days), Fraction(0)) / len(days),
        qualifier=qualifier,
        days=tuple(days),
        sees=max((day.sees for day in days if day.sees is not None), default=None),
        working=_working(days, unit, policy, value=value, over=over, by_median=by_median),
    )


def _mean(days: Sequence[DayValue]) -> tuple[Fraction, str]:
    total = sum((day.value for day in days), Fraction(0))
    qualifier = ">" if any(day.qualifier == ">" for day in days) else ""
    return total / len(days), qualifier


def _median(days: Sequence[DayValue]) -> tuple[Fraction, str]:
    """The middle day; of two the lower where one of them lies below detection, else their mean."""
    ranked = sorted(
        days, key=lambda day: (not day.is_below, day.sees if day.is_below else day.value)
    )
    low, high = ranked[(len(ranked) - 1) // 2], ranked[len(ranked) // 2]
    if low.is_below:
        return low.sees or Fraction(0), "<"
    return (low.value + high.value) / 2, _qualifier((low.qualifier, high.qualifier))


def _working(
    days: Sequence[DayValue],
    unit: Unit,
    policy: AveragePolicy,
    *,
    value: Fraction,
    over: str,
    by_median: bool,
) -> tuple[str, ...]:
    results = [one for day in days for one in day.results]
    below = sum(one.qualifier == "<" for one in results)
    what = "median" if by_median else "mean"
    lines = [
        f"{_several(len(results), 'result')} on {_several(len(days), 'monitored day')}"
        f"{f' of {over}' if over else ''}, {what} {written(value)} {unit.value}"
    ]
    if not by_median:
        shown_days = " + ".join(written(day.value) for day in days)
        lines.append(f"({shown_days}) ÷ {len(days)} = {written(value)} {unit.value}")
    if len(results) > len(days):
        lines.append(f"a day of several results counts by their {policy.day.value}")
    if below:
        lines.append(f"{below} below detection {policy.non_detects.shown}: {policy.adoption}")
    return tuple(lines)


def _several(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


# -- which days


def calendar_month(days: Sequence[DayValue], month: date) -> tuple[DayValue, ...]:
    """The monitored days of the calendar month that holds a day."""
    first = month.replace(day=1)
    period = Period(start=first, end=add_months(first, 1))
    return tuple(day for day in days if period.holds(day.day))


def four_monitoring_days(days: Sequence[DayValue]) -> tuple[tuple[DayValue, ...], ...]:
    """Every run of four monitored days that follow one another, whatever lies between them.

    Fewer than four are no such average. Source: 40 CFR 413.
    """
    return tuple(tuple(days[n : n + FOUR]) for n in range(len(days) - FOUR + 1))


def thirty_days(days: Sequence[DayValue]) -> tuple[tuple[DayValue, ...], ...]:
    """For each monitored day, the monitored ones among the thirty consecutive days it ends.

    Source: 40 CFR 469.
    """
    return tuple(
        tuple(one for one in days if timedelta(0) <= last.day - one.day < timedelta(days=THIRTY))
        for last in days
    )


# -- against a limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """What an average says of a limit; side: on which it lies beyond, None where it does not."""

    outcome: Outcome
    side: Side | None
    reason: str


def judge_average(found: Average, *, at_least: Decimal | None, at_most: Decimal | None) -> Against:
    """An average against bounds in its own unit, unrounded; touching one complies.

    What lies below detection never takes a mean under a lower bound. Where a result lies below more
    than the limit, and the mean could be over it were that all there, the method is not sensitive
    enough: neither over nor within.
    """
    if at_most is not None and _above(found, at_most):
        return _against(found, Outcome.EXCEEDS, Side.ABOVE, at_most)
    if at_least is not None and found.qualifier != ">" and found.most < Fraction(at_least):
        return _against(found, Outcome.EXCEEDS, Side.BELOW, at_least)
    if at_most is not None and _hides(found, Fraction(at_most)):
        return _against(found, Outcome.NOT_SENSITIVE, None, at_most)
    bound = at_most if at_most is not None else at_least
    unsure = (found.qualifier == ">" and at_most is not None) or (
        found.sees is not None and at_least is not None
    )
    return _against(found, Outcome.SHOWS_NOTHING if unsure else Outcome.COMPLIES, None, bound)


def _above(found: Average, bound: Decimal) -> bool:
    limit = Fraction(bound)
    passes = found.value > limit or (found.qualifier == ">" and found.value == limit)
    return passes and found.qualifier != "<"


def _hides(found: Average, limit: Fraction) -> bool:
    return found.sees is not None and found.sees > limit and found.most > limit


def _against(found: Average, outcome: Outcome, side: Side | None, bound: Decimal | None) -> Against:
    value = f"{found.qualifier}{written(found.value, limit=bound)} {found.unit.value}"
    what = f"{label(found.parameter)}, average {value}"
    limit = f"the limit of {bound} {found.unit.value}"
    said = {
        Outcome.EXCEEDS: f"{what} is {'over' if side is Side.ABOVE else 'under'} {limit}",
        Outcome.NOT_SENSITIVE: f"{what} cannot be judged by {limit}: a result in it lies below "
        "more than that; use a more sensitive method",
        Outcome.SHOWS_NOTHING: f"{what} shows nothing by {limit}",
        Outcome.COMPLIES: f"{what} complies with {limit}",
    }
    return Against(outcome=outcome, side=side, reason=said[outcome])
