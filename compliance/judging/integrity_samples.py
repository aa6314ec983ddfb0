"""Integrity detectors on samples, volumes and files: what deserves a person's second look.

Each says what was seen and never why. Nothing here is a finding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from statistics import median

from compliance.model.integrity import Look, Observation
from compliance.model.parameters import Parameter, label
from compliance.model.periods import Period
from compliance.model.samples import Result
from compliance.rules.integrity import IntegritySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """A result with the civil day of its sample."""

    day: date
    result: Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """One sample analysed by two: the user's laboratory and the city's, in one unit."""

    day: date
    parameter: Parameter
    users: Decimal
    citys: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A number sent again as another one after it was received."""

    at: datetime
    what: str
    first: str
    later: str
    by: str


def below_water_use(
    period: Period, *, sewer_gal: Decimal, water_gal: Decimal, settings: IntegritySettings
) -> tuple[Observation, ...]:
    """Sewer flow far under metered water use; at most one observation.

    sewer_gal, water_gal: over the whole of the period, with no day missing from either.
    """
    days = (period.end - period.start).days
    if days < settings.water.least_days or water_gal <= 0:
        return ()
    share = Fraction(sewer_gal) / Fraction(water_gal)
    if share >= Fraction(settings.water.share):
        return ()
    return (
        Observation(
            look=Look.WATER,
            since=period.start,
            until=period.end,
            saw=(
                f"{sewer_gal:,.0f} gal to the sewer and {water_gal:,.0f} gal of metered water in "
                f"{days} days: {float(share):.1%}"
            ),
        ),
    )


def splits_that_disagree(
    splits: Sequence[Split], settings: IntegritySettings
) -> tuple[Observation, ...]:
    """Pairs far apart, and a lean: the user's result the lower one of every pair."""
    figures = settings.splits
    found = [_apart(one) for one in splits if _difference(one) > Fraction(figures.difference)]
    for parameter in sorted({one.parameter for one in splits}):
        mine = sorted((one for one in splits if one.parameter is parameter), key=lambda s: s.day)
        if len(mine) >= figures.least and all(one.users < one.citys for one in mine):
            found.append(
                Observation(
                    look=Look.SPLITS,
                    since=mine[0].day,
                    until=mine[-1].day,
                    saw=(
                        f"in all {len(mine)} split samples {label(parameter)} of the user's "
                        "laboratory was the lower one"
                    ),
                )
            )
    return tuple(found)


def _difference(one: Split) -> Fraction:
    """How far the two are apart, as a share of their mean."""
    total = Fraction(one.users) + Fraction(one.citys)
    return abs(Fraction(one.users) - Fraction(one.citys)) * 2 / total if total else Fraction(0)


def _apart(one: Split) -> Observation:
    return Observation(
        look=Look.SPLITS,
        since=one.day,
        until=one.day,
        saw=(
            f"{label(one.parameter)} of one split sample: {one.users} by the user's laboratory, "
            f"{one.citys} by the city's, {float(_difference(one)):.0%} of their mean apart"
        ),
    )


def only_on_low_days(
    sampled: Sequence[date], flow_gal: Mapping[date, Decimal], settings: IntegritySettings
) -> tuple[Observation, ...]:
    """Samples taken only on days with less flow than the median day; at most one observation.

    flow_gal: by civil day; a day that is not in it is not known, one of zero had no discharge. Both
    are left out.
    """
    days = sorted({day for day in sampled if flow_gal.get(day)})
    discharging = [flow for flow in flow_gal.values() if flow > 0]
    if len(days) < settings.low_days.least or len(discharging) < 2 * len(days):
        return ()
    middle = median(discharging)
    if any(flow_gal[day] >= middle for day in days):
        return ()
    greatest = max(flow_gal[day] for day in days)
    return (
        Observation(
            look=Look.LOW_DAYS,
            since=days[0],
            until=days[-1],
            saw=(
                f"all {len(days)} sampled days had {greatest:,.0f} gal or less; the median of "
                f"{len(discharging)} days with discharge was {middle:,.0f} gal"
            ),
        ),
    )


def identical_results(
    results: Sequence[Dated], settings: IntegritySettings
) -> tuple[Observation, ...]:
    """Results of one parameter in a row that are alike to the digit; non-detects are left out."""
    found: list[Observation] = []
    for parameter in sorted({one.result.parameter for one in results}):
        mine = [
            one
            for one in sorted(results, key=lambda r: r.day)
            if one.result.parameter is parameter and not one.result.qualifier
        ]
        found += [_alike(run) for run in _rows(mine) if _is_telling(run, settings)]
    return tuple(found)


def _rows(results: Sequence[Dated]) -> list[list[Dated]]:
    rows: list[list[Dated]] = []
    for one in results:
        if rows and _written(rows[-1][-1]) == _written(one):
            rows[-1].append(one)
        else:
            rows.append([one])
    return rows


def _written(one: Dated) -> tuple[str, str]:
    return one.result.written, one.result.unit.value


def _is_telling(run: Sequence[Dated], settings: IntegritySettings) -> bool:
    digits = [c for c in run[0].result.written.lstrip("0.") if c.isdigit()]
    figures = settings.identical
    return len({one.day for one in run}) >= figures.least and len(digits) >= figures.digits


def _alike(run: Sequence[Dated]) -> Observation:
    one = run[0].result
    return Observation(
        look=Look.IDENTICAL,
        since=run[0].day,
        until=run[-1].day,
        saw=(
            f"{label(one.parameter)} was {one.written} {one.unit.value} {len(run)} times in a row"
        ),
    )


def edits_after_upload(edits: Sequence[Edit]) -> tuple[Observation, ...]:
    """Numbers that were sent as one value and later as another, oldest first."""
    return tuple(
        Observation(
            look=Look.EDITS,
            since=one.at,
            until=one.at,
            saw=f"{one.what} was sent as {one.first}, and later as {one.later}, by {one.by}",
        )
        for one in sorted(edits, key=lambda e: e.at)
        if one.first != one.later
    )
