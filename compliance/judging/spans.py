"""Limits on averages and on pounds: which days they take together, and what those say of them.

A limit on one number is judged in ``results.py``; here are the bases that need a day or more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from compliance.judging.averaging import (
    Against,
    Average,
    AveragePolicy,
    DayValue,
    calendar_month,
    four_monitoring_days,
    judge_average,
    thirty_days,
    written,
)
from compliance.model.findings import Authority, Exceedance, Kind, Side, finding_id
from compliance.model.limits import AVERAGES, MASSES, Basis
from compliance.model.periods import Period, add_months
from compliance.model.units import dimension
from compliance.rules.schema import Judge, LimitRule, LimitVersion

DAY = timedelta(days=1)
WEIGHED = ("load", "mass")
WORDS = {
    Basis.AVERAGE_4_DAYS: "four monitoring days",
    Basis.AVERAGE_30_DAYS: "thirty days",
    Basis.MONTHLY_AVG: "the month",
    Basis.MASS_MONTH: "the month",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Monitored days that one judgment takes together, and the civil days it covers."""

    period: Period
    days: tuple[DayValue, ...]
    called: str

    @property
    def key(self) -> str:
        """What tells it from others of its basis: the last day it covers."""
        return (self.period.end - DAY).isoformat()


def is_weighed(rule: LimitRule) -> bool:
    """Whether a limit is in pounds."""
    return dimension(rule.unit) in WEIGHED


def is_total(rule: LimitRule) -> bool:
    """Whether a limit is on all the pounds of a month, and not on the mean of its days."""
    return rule.basis is Basis.MASS_MONTH and dimension(rule.unit) == "mass"


def needs_days(rule: LimitRule) -> bool:
    """Whether the program judges a limit here: on a mean of results, or on pounds."""
    on_days = rule.basis in AVERAGES or rule.basis in MASSES
    is_load = rule.basis is Basis.DAILY_MAX and is_weighed(rule)
    return (on_days or is_load) and rule.judged_by is Judge.PROGRAM


def spans(rule: LimitRule, days: Sequence[DayValue], touched: Iterable[date]) -> tuple[Span, ...]:
    """What a limit takes together among monitored days, as far as some of them were touched.

    days: oldest first. A span without a monitored day is none: nothing measured is no average.
    """
    new = set(touched)
    if rule.basis in (Basis.MONTHLY_AVG, Basis.MASS_MONTH):
        return tuple(_months(days, new, WORDS[rule.basis]))
    if rule.basis is Basis.AVERAGE_4_DAYS:
        runs = four_monitoring_days(days)
        return tuple(_run(run) for run in runs if not new.isdisjoint(one.day for one in run))
    if rule.basis is Basis.AVERAGE_30_DAYS:
        return tuple(
            _thirty(run)
            for run in thirty_days(days)
            if any(timedelta(0) <= run[-1].day - day < 30 * DAY for day in new)
        )
    return tuple(
        Span(
            period=Period(start=one.day, end=one.day + DAY),
            days=(one,),
            called=one.day.isoformat(),
        )
        for one in days
        if one.day in new
    )


def ends(rule: LimitRule, found: Iterable[Span], touched: Iterable[date]) -> frozenset[date]:
    """The days after which spans of a limit end that touched days bear on, found or not."""
    new = {span.period.end for span in found}
    for day in touched:
        is_month = rule.basis in (Basis.MONTHLY_AVG, Basis.MASS_MONTH)
        new.add(add_months(day.replace(day=1), 1) if is_month else day + DAY)
    return frozenset(new)


def _months(days: Sequence[DayValue], new: set[date], called: str) -> Iterable[Span]:
    for first in sorted({day.replace(day=1) for day in new}):
        if found := calendar_month(days, first):
            period = Period(start=first, end=add_months(first, 1))
            yield Span(period=period, days=found, called=f"{called} {first:%Y-%m}")


def _run(run: tuple[DayValue, ...]) -> Span:
    period = Period(start=run[0].day, end=run[-1].day + DAY)
    return Span(period=period, days=run, called=f"{WORDS[Basis.AVERAGE_4_DAYS]}, {period}")


def _thirty(run: tuple[DayValue, ...]) -> Span:
    end = run[-1].day + DAY
    period = Period(start=end - 30 * DAY, end=end)
    return Span(period=period, days=run, called=f"{WORDS[Basis.AVERAGE_30_DAYS]}, {period}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What the days of a span say of a version of a limit; the fact where they exceed it."""

    against: Against
    exceedance: Exceedance | None


def judge_span(
    rule: LimitRule,
    version: LimitVersion,
    of: Average,
    *,
    span: Span,
    point: str,
    authority: Authority,
    zone: ZoneInfo,
) -> Judged:
    """Judge an average or a mass, in the limit's unit, under one version of the limit."""
    against = judge_average(of, at_least=version.at_least, at_most=version.at_most)
    if against.side is None:
        return Judged(against=against, exceedance=None)
    kind = Kind.MASS if is_weighed(rule) else Kind.AVERAGE
    bound = version.at_most if against.side is Side.ABOVE else version.at_least
    window = span.period.window(zone)
    seconds = round((window.end - window.start).total_seconds())
    fact = Exceedance(
        id=_id(rule, version, point, span, against.side),
        rule_id=rule.id,
        effective=version.effective,
        kind=kind,
        parameter=rule.parameter,
        unit=rule.unit,
        side=against.side,
        starts_at=window.start,
        ends_at=window.end,
        seconds=seconds,
        seconds_beyond=seconds,
        runs=1,
        worst=written(of.value, limit=bound),
        worst_at=window.end,
        limit=str(bound),
        readings=len(of.results),
        open_ended=False,
        review=False,
        settled=True,
        citation=rule.citation,
        says=rule.says,
        authority=authority,
        working=(*of.working, against.reason),
    )
    return Judged(against=against, exceedance=fact)


def _id(rule: LimitRule, version: LimitVersion, point: str, span: Span, side: Side) -> str:
    return finding_id(
        rule.id, version.effective, f"{point}|{rule.basis.value}|{span.key}", side.value
    )


def policy_words(policy: AveragePolicy) -> dict[str, str]:
    """A policy as evidence keeps it."""
    return {
        "below_detection": f"{policy.non_detects.value}: {policy.non_detects.shown}",
        "several_in_a_day": policy.day.value,
        "adopted": policy.adoption,
    }


def whole_month(period: Period, gallons: dict[date, Decimal | None]) -> list[
    tuple[date, Decimal | None]
]:  # fmt: skip
    """Each civil day of a period with its gallons; None where there is no record."""
    days = [period.start + n * DAY for n in range(period.days)]
    return [(day, gallons.get(day)) for day in days]
