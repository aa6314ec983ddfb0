"""Slug screening: flow or strength far over its own mean of the day before, for some time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from compliance.judging.excursions import step
from compliance.model.findings import Exceedance, Excursion, Kind, Side, finding_id
from compliance.model.folds import SILENT_INTERVALS
from compliance.model.parameters import CONCENTRATIONS, Parameter
from compliance.model.periods import from_us
from compliance.model.readings import Flags, Series, Times, Values
from compliance.model.units import Unit, shown
from compliance.rules.schema import SlugRule, SlugVersion

SCREENED = CONCENTRATIONS | {Parameter.FLOW}
"""Parameters that are screened: rates and strengths."""

_HOUR_US = 3_600_000_000
_SECOND_US = 1_000_000
_ROUNDING = 1e-9
"""A ratio over the factor by less than this share is one of rounding: it touches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PossibleSlug:
    """An excursion over the factor. ``worst`` is the reading whose ratio is greatest.

    baseline: the mean before that reading, in the series' unit; usual: it is instead what is usual
    at that weekday and hour.
    """

    excursion: Excursion
    baseline: float
    usual: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Screening:
    """What screening found, and the spans in which there was too little to compare with."""

    found: tuple[PossibleSlug, ...]
    not_evaluated: tuple[tuple[int, int], ...]


def screen(
    series: Series,
    version: SlugVersion,
    *,
    rejoin_us: int,
    baseline: float | Values | None = None,
    until_us: int | None = None,
) -> Screening:
    """Possible slugs in one whole window of judged meter readings.

    Each reading is compared with the time-weighted mean of the hours before it (a reading holds
    until the next one, or for one interval before a silence); readings over the factor are left out
    of it, and less than the hours needed leaves a reading unevaluated. The window should begin a
    day or two before what is asked. baseline: stands in for the mean: one for all, or what is usual
    at each reading, NaN where that is not known and the mean holds. until_us: as for ``step``.
    """
    if not len(series):
        return Screening(found=(), not_evaluated=())
    factor = float(version.factor)
    means, over, usual = _compared(series, version, baseline)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(over, np.maximum(series.value / means, factor * (1 + _ROUNDING)), 0.0)
    _, excursions = step(
        None, replace(series, value=ratio), at_least=None, at_most=factor, rejoin_us=rejoin_us,
        until_us=until_us,
    )  # fmt: skip
    found = tuple(
        _slug(series, means, excursion, usual=usual)
        for excursion in excursions
        if excursion.beyond_us > version.seconds * _SECOND_US
    )
    return Screening(found=found, not_evaluated=_spans(series.at_us, np.isnan(means)))


def _compared(
    series: Series, version: SlugVersion, baseline: float | Values | None
) -> tuple[Values, Flags, Flags]:
    """What each reading is compared with, which are over it, and for which it is what is usual."""
    none = np.zeros(len(series), np.bool_)
    if isinstance(baseline, int | float):
        means = np.full(len(series), float(baseline))
        return means, _over(series.value, means, float(version.factor)), none
    before, over = _means(series, version)
    if baseline is None:
        return before, over, none
    usual = np.isfinite(baseline)
    means = np.where(usual, baseline, before)
    return means, _over(series.value, means, float(version.factor)), usual


def _slug(series: Series, means: Values, excursion: Excursion, *, usual: Flags) -> PossibleSlug:
    at = int(np.searchsorted(series.at_us, excursion.worst_us))
    return PossibleSlug(
        excursion=replace(excursion, worst=float(series.value[at])),
        baseline=float(means[at]),
        usual=bool(usual[at]),
    )


def _over(values: Values, means: Values, factor: float) -> Flags:
    with np.errstate(invalid="ignore"):
        return values > means * (factor * (1 + _ROUNDING))


def _means(series: Series, version: SlugVersion) -> tuple[Values, Flags]:
    """The mean before each reading (NaN where too little is held), and which readings are over it.

    Whether a reading is over depends on earlier ones alone, so repeating until nothing changes ends
    in the one answer that going reading by reading would give.
    """
    held = _held(series)
    edge = series.at_us - version.window_hours * _HOUR_US
    first = np.searchsorted(series.at_us + held, edge, side="right")
    cut = np.maximum(edge - series.at_us[first], 0)  # of the first one, what lies before the window
    needed = version.needed_hours * _HOUR_US
    over = np.zeros(len(series), np.bool_)
    while True:
        weight = np.where(over, 0, held).astype(np.float64)
        first_cut = np.where(over[first], 0, cut)
        time = _before(weight, first) - first_cut
        total = _before(weight * series.value, first) - first_cut * series.value[first]
        with np.errstate(divide="ignore", invalid="ignore"):
            means = np.where(time >= needed, total / time, np.nan)
        now = _over(series.value, means, float(version.factor))
        if np.array_equal(now, over):
            return means, over
        over = now


def _held(series: Series) -> Times:
    gap = np.diff(series.at_us, append=series.at_us[-1] + series.interval_us[-1])
    return np.where(gap > SILENT_INTERVALS * series.interval_us, series.interval_us, gap)


def _before(amounts: Values, first: NDArray[np.intp]) -> Values:
    """The sum of amounts from position ``first`` up to, and without, each position."""
    sums: Values = np.concatenate([[0.0], np.cumsum(amounts)])
    before: Values = sums[:-1] - sums[first]
    return before


def _spans(at_us: Times, without: Flags) -> tuple[tuple[int, int], ...]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], without, [False]]).astype(np.int8)))
    last = len(at_us) - 1
    return tuple(
        (int(at_us[start]), int(at_us[min(end, last)]))
        for start, end in zip(edges[::2], edges[1::2], strict=True)
    )


def facts(
    rule: SlugRule,
    version: SlugVersion,
    found: tuple[PossibleSlug, ...],
    *,
    parameter: Parameter,
    unit: Unit,
    channel_key: str,
    text: Callable[[int, float], str],
) -> tuple[Exceedance, ...]:
    """Possible slugs as facts, under the program's authority, with stable ids."""
    return tuple(
        _fact(
            rule,
            version,
            slug,
            parameter=parameter,
            unit=unit,
            channel_key=channel_key,
            worst=text(slug.excursion.worst_us, slug.excursion.worst),
        )
        for slug in found
    )


def _fact(
    rule: SlugRule,
    version: SlugVersion,
    slug: PossibleSlug,
    *,
    parameter: Parameter,
    unit: Unit,
    channel_key: str,
    worst: str,
) -> Exceedance:
    excursion = slug.excursion
    seconds = round((excursion.ends_us - excursion.starts_us) / _SECOND_US)
    beyond = round(excursion.beyond_us / _SECOND_US)
    limit = version.factor * Decimal(repr(slug.baseline))
    return Exceedance(
        id=finding_id(rule.id, version.effective, channel_key, "above", excursion.starts_us),
        rule_id=rule.id,
        effective=version.effective,
        kind=Kind.POSSIBLE_SLUG,
        parameter=parameter,
        unit=unit,
        side=Side.ABOVE,
        starts_at=from_us(excursion.starts_us),
        ends_at=from_us(excursion.ends_us),
        seconds=seconds,
        seconds_beyond=beyond,
        runs=excursion.runs,
        worst=worst,
        worst_at=from_us(excursion.worst_us),
        limit=_two_places(limit, beside=Decimal(repr(excursion.worst))),
        readings=excursion.readings,
        open_ended=excursion.open_ended,
        review=excursion.review,
        settled=excursion.settled,
        citation=rule.citation,
        says=rule.says,
        authority=rule.authority,
        working=_working(version, slug, worst=worst, unit=unit, beyond=beyond),
    )


def _two_places(value: Decimal, *, beside: Decimal) -> str:
    return shown(value, written="0", limit=beside)


def _working(
    version: SlugVersion, slug: PossibleSlug, *, worst: str, unit: Unit, beyond: int
) -> tuple[str, ...]:
    mean = _two_places(Decimal(repr(slug.baseline)), beside=Decimal(0))
    what = "what is usual" if slug.usual else "the mean"
    ratio = (
        f"{worst} ÷ {mean} = {slug.excursion.worst / slug.baseline:.2f} times {what}"
        if slug.baseline
        else f"{worst} {unit.value} after a mean of none"
    )
    compared = (
        f"usual at this weekday and hour, from the weeks before: {mean} {unit.value}"
        if slug.usual
        else f"mean of the {version.window_hours} h before: {mean} {unit.value}, "
        f"readings over {version.factor} times left out"
    )
    return (
        compared,
        ratio,
        f"{beyond} s over {version.factor} times {what}, more than {version.seconds} s",
        "screening only: an effect on the works makes it a slug, and a person decides",
    )
