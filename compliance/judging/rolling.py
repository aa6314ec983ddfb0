"""How a user's shares went month by month, and on which day a straight line would reach 10 %."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

from compliance.errors import InsufficientData
from compliance.judging.agreements import Design, LoadDay, Shares, Trigger, shares
from compliance.model.parameters import Parameter
from compliance.model.periods import add_months
from compliance.model.units import as_decimal, rounded

POINTS = 12
"""A trend looks back over so many rolling shares, a month apart."""
FEWEST = 6
"""Fewer say nothing of a direction. Both are settings of the program, of no ordinance."""
FARTHEST = 5 * 365
"""Days ahead; a line drawn further is no forecast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A rolling share, in percent, unrounded, of the months that end with a day."""

    day: date
    percent: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """When a straight line through the rolling shares reaches the trigger.

    on: the first day, None where none can be named; says: the sentence for people, with the reason
    where there is no day; working: the line.
    """

    on: date | None
    says: str
    working: tuple[str, ...] = ()


def rolling(
    days: Iterable[LoadDay],
    design: Design,
    *,
    pound_factor: Decimal,
    trigger: Trigger,
    points: int = POINTS,
) -> tuple[Shares, ...]:
    """The shares of the months that end with the last day, and a month, two … before; oldest first.

    Only those whose months are whole are there: a projection is no point of a trend.
    """
    given = sorted(days, key=lambda day: day.day)
    found: list[Shares] = []
    for back in range(points if given else 0):
        end = add_months(given[-1].day, -back)
        held = [day for day in given if day.day <= end]
        try:
            one = shares(held, design, pound_factor=pound_factor, trigger=trigger)
        except InsufficientData:
            break
        if one.projected:
            break
        found.append(one)
    return tuple(reversed(found))


def series(history: Sequence[Shares], parameter: Parameter) -> tuple[Point, ...]:
    """One test's points, those whose share is not known left out."""
    return tuple(
        Point(day=one.as_of, percent=share.percent)
        for one in history
        for share in one.shares
        if share.parameter is parameter and share.percent is not None
    )


def forecast(points: Sequence[Point], trigger: Trigger) -> Forecast:
    """The day on which the line of least squares through the points reaches the trigger.

    points: in order of time. It refuses, in a sentence, where there are fewer than six points,
    where the share does not rise, and where the day is more than five years off.
    """
    if len(points) < FEWEST:
        short = f"{len(points)} of the {FEWEST} rolling shares that are needed"
        return Forecast(on=None, says=f"no forecast: on record are {short}, each of whole months")
    last, at_least = points[-1], Fraction(trigger.at_least)
    if last.percent >= at_least:
        return Forecast(on=None, says=f"no forecast: {trigger.at_least:f} % is reached already")
    slope, level = _line(points)
    working = (
        f"line of least squares through {len(points)} rolling shares from {points[0].day} to "
        f"{last.day}: {_shown(level)} % on {last.day}, {_shown(slope * 365)} % a year",
    )
    if slope <= 0:
        return Forecast(on=None, says="no forecast: the share does not rise", working=working)
    ahead = max(1, -(-(at_least - level) // slope))
    if ahead > FARTHEST:
        years = FARTHEST // 365
        said = f"no day is named: the line is below {trigger.at_least:f} % for {years} years"
        return Forecast(on=None, says=said, working=working)
    on = last.day + timedelta(days=int(ahead))
    sentence = f"if it went on in a straight line, {trigger.at_least:f} % would be reached on {on}"
    return Forecast(on=on, says=sentence, working=(*working, _step(at_least, level, slope, on)))


def _line(points: Sequence[Point]) -> tuple[Fraction, Fraction]:
    """Slope in percent a day, and the line's level on the last day."""
    last = points[-1].day
    ages = [Fraction((point.day - last).days) for point in points]
    count = len(points)
    middle = sum(ages, Fraction(0)) / count
    mean = sum((point.percent for point in points), Fraction(0)) / count
    spread = sum(((age - middle) ** 2 for age in ages), Fraction(0))
    together = sum(
        ((age - middle) * (point.percent - mean) for age, point in zip(ages, points, strict=True)),
        Fraction(0),
    )
    slope = together / spread
    return slope, mean - slope * middle


def _step(at_least: Fraction, level: Fraction, slope: Fraction, on: date) -> str:
    gap = at_least - level
    if gap <= 0:
        return f"the line is at {_shown(at_least)} % already: the next day, {on}"
    return f"{_shown(gap)} % more at {_shown(slope * 365)} % a year: {on}"


def _shown(value: Fraction) -> str:
    return f"{rounded(as_decimal(value), 2):f}"
