"""Time outside a limit: what lasts long enough to count, and the allowance of 40 CFR 401.17.

Both speak of excursions, as ``excursions.step`` finds them in readings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

from compliance.judging.excursions import step
from compliance.model.findings import Excursion, Side
from compliance.model.periods import day_of, from_us
from compliance.model.readings import Series

MINUTE_US = 60_000_000
FLOOR = Decimal("5.0")
"""pH below it is prohibited whatever a permit allows. Source: 40 CFR 403.5(b)(2)."""


def sustained(
    series: Series, *, at_least: float, seconds: int, until_us: int | None = None
) -> tuple[Excursion, ...]:
    """The spans without a break in which a series lay below a level for at least so long.

    series: judged, in the limit's unit; silence ends a span, and what complies ends it at once: no
    two are joined. The value that such a day's minimum rests on is not its lowest reading but what
    it stayed below. until_us: as in ``excursions.step``.
    """
    _, found = step(None, series, at_least=at_least, at_most=None, rejoin_us=0, until_us=until_us)
    return tuple(one for one in found if one.beyond_us >= seconds * 1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """So many minutes of a calendar month, and of one excursion; where it was adopted.

    adopted_by: the permit and its part; None: nobody adopted it, and nothing is excused.
    """

    minutes_per_month: int
    minutes_each: int
    adopted_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Excused:
    """An excursion and whether the allowance covers it, with the reason either way."""

    excursion: Excursion
    is_excused: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthAllowed:
    """The excursions of a calendar month, in time order; total_us: all time outside, of both sides.

    keeps: whether the month keeps within the allowance as a whole, which is None where nobody
    adopted it.
    """

    month: date
    total_us: int
    longest_us: int
    keeps: bool | None
    excursions: tuple[Excused, ...]


def allowed(
    excursions: Iterable[Excursion], allowance: Allowance, *, zone: ZoneInfo
) -> tuple[MonthAllowed, ...]:
    """What the allowance excuses, month by month at the plant; an excursion belongs to its first.

    One longer than it allows is not excused, nor is what passes the month's minutes and all after
    it, nor one that goes below pH 5.0. Source: 40 CFR 401.17, which is for those who discharge
    under a permit of their own and for sewers holds only where a permit says so.
    """
    months: dict[date, list[Excursion]] = defaultdict(list)
    for one in sorted(excursions, key=lambda each: (each.starts_us, each.side)):
        months[day_of(from_us(one.starts_us), zone).replace(day=1)].append(one)
    return tuple(_month(month, found, allowance) for month, found in sorted(months.items()))


def _month(month: date, found: Sequence[Excursion], allowance: Allowance) -> MonthAllowed:
    total, told = 0, []
    for one in found:
        total += one.beyond_us
        why = _against(one, total, allowance)
        excused = Excused(
            excursion=one,
            is_excused=not why,
            why=why or f"within the allowance of {allowance.adopted_by}",
        )
        told.append(excused)
    longest = max(one.beyond_us for one in found)
    keeps = total <= allowance.minutes_per_month * MINUTE_US and (
        longest <= allowance.minutes_each * MINUTE_US
    )
    return MonthAllowed(
        month=month,
        total_us=total,
        longest_us=longest,
        keeps=None if allowance.adopted_by is None else keeps,
        excursions=tuple(told),
    )


def _against(one: Excursion, total_us: int, allowance: Allowance) -> str:
    """Why an excursion is not excused; empty where it is."""
    if allowance.adopted_by is None:
        return "no permit adopts the allowance of 40 CFR 401.17"
    if one.side is Side.BELOW and Fraction(one.worst) < Fraction(FLOOR):
        return f"it goes to {one.worst}, below pH {FLOOR}, which is prohibited"
    if one.beyond_us > allowance.minutes_each * MINUTE_US:
        return f"it is longer than {allowance.minutes_each} min"
    if total_us > allowance.minutes_per_month * MINUTE_US:
        return f"with it the month has more than {allowance.minutes_per_month} min"
    return ""
