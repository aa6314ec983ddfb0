"""What composes judging, for an export and for live data: convert, cut by version, fold, state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np

from compliance.judging.excursions import step
from compliance.judging.results import Outcome, Verdict, judge_result
from compliance.model.findings import Authority, Exceedance, Excursion, Kind, Side, finding_id
from compliance.model.parameters import PHYSICAL_RANGE, Parameter
from compliance.model.periods import day_of, from_us, midnight, to_us
from compliance.model.readings import Series, judged
from compliance.model.units import Unit, linear
from compliance.rules.effective import stretches
from compliance.rules.schema import LimitRule, LimitVersion, SampleSource

__all__ = [
    "Cut",
    "Judgment",
    "Origin",
    "Outcome",
    "Verdict",
    "bounds",
    "convert",
    "cuts",
    "edges",
    "ends_at",
    "facts",
    "judge_result",
    "judge_series",
    "part",
    "usable",
    "whole_seconds",
]

Text = Callable[[int, float], str]
"""How a reading is written for people: its instant in microseconds and its value, to text."""
Exact = Callable[[int], Decimal | Fraction]
"""The exact number that a reading stands for, by its position in the series."""

_NEAR = 1e-9
"""Closer to a bound than this share, floats do not decide: the exact decimals do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Instants ``[start_us, end_us)`` under one version of a limit, or under none."""

    start_us: int
    end_us: int
    version: LimitVersion | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a series comes from, and how its numbers were written.

    unit: of its values; key: what tells its channel from all others, for ever; text: writes the
    reading at an instant in the limit's unit; exact: as for ``convert``.
    """

    source: SampleSource
    unit: Unit
    key: str
    text: Text
    exact: Exact | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """What a limit finds in one series, and the instants at which no version was in force."""

    facts: tuple[Exceedance, ...]
    without_version: tuple[tuple[datetime, datetime], ...]


def bounds(version: LimitVersion) -> tuple[float | None, float | None]:
    """``(at_least, at_most)`` as floats, for the fold; readings near them go by ``convert``."""
    return (
        None if version.at_least is None else float(version.at_least),
        None if version.at_most is None else float(version.at_most),
    )


def usable(series: Series, parameter: Parameter) -> Series:
    """The readings that are judged: good or suspect, finite, inside the physical range."""
    lowest, highest = PHYSICAL_RANGE.get(parameter, (-np.inf, np.inf))
    return judged(series, lowest=lowest, highest=highest)


def convert(
    series: Series,
    source: Unit,
    target: Unit,
    *,
    near: Sequence[Decimal] = (),
    exact: Exact | None = None,
) -> Series:
    """The series in another unit, compared with each bound in ``near`` as exact decimals would.

    A reading whose float is next to a bound is settled by exact arithmetic: equal to the bound, or
    nudged to the float beside it. exact: the decimal a reading stands for; by default the shortest
    that gives its float.

    Raises: UnitMismatch.
    """
    factor, offset = linear(source, target)
    values = series.value
    if factor != 1 or offset != 0:
        values = values * float(factor.numerator) / float(factor.denominator) + float(offset)
    for bound in near:
        values = _settled(series, values, bound, factor=factor, offset=offset, exact=exact)
    return replace(series, value=values)


def _settled(
    series: Series,
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
    bound: Decimal,
    *,
    factor: Fraction,
    offset: Fraction,
    exact: Exact | None,
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    edge = float(bound)
    close = np.flatnonzero(np.abs(values - edge) <= _NEAR * max(1.0, abs(edge)))
    if not len(close):
        return values
    values = values.copy()
    decided: dict[float, float] = {}
    for at in close:
        raw = float(series.value[at])
        if exact is None and raw in decided:
            values[at] = decided[raw]
            continue
        number = Decimal(repr(raw)) if exact is None else exact(int(at))
        values[at] = decided[raw] = _beside(edge, Fraction(number) * factor + offset, bound)
    return values


def _beside(edge: float, value: Fraction, bound: Decimal) -> float:
    """A float on the side of the bound on which the exact value lies."""
    if value == Fraction(bound):
        return edge
    nearest = float(value)
    if (value > bound) == (nearest > edge) and nearest != edge:
        return nearest
    return float(np.nextafter(edge, np.inf if value > bound else -np.inf))


def cuts(rule: LimitRule, zone: ZoneInfo, first_us: int, last_us: int) -> Iterator[Cut]:
    """The instants from first to last, both included, cut at the civil days of new versions."""
    first, last = day_of(from_us(first_us), zone), day_of(from_us(last_us), zone)
    for stretch in stretches(rule.versions, first, last):
        yield Cut(
            start_us=to_us(midnight(stretch.start, zone)),
            end_us=to_us(midnight(stretch.end, zone)),
            version=stretch.version,
        )


def ends_at(version: LimitVersion, zone: ZoneInfo) -> int | None:
    """The instant a version ends, in microseconds since 1970; None while it is in force."""
    return None if version.ended is None else to_us(midnight(version.ended, zone))


def judge_series(
    rule: LimitRule, series: Series, *, origin: Origin, zone: ZoneInfo, rejoin_us: int
) -> Judgment:
    """All that a limit finds in one whole series, already ``usable``.

    zone: of the rulebook, whose civil days cut versions.
    """
    authority = rule.authority_on(origin.source)
    if authority is None or not len(series):
        return Judgment(facts=(), without_version=())
    found: list[Exceedance] = []
    without: list[tuple[datetime, datetime]] = []
    for cut in cuts(rule, zone, int(series.at_us[0]), int(series.at_us[-1])):
        lo, hi = (int(at) for at in np.searchsorted(series.at_us, [cut.start_us, cut.end_us]))
        if lo == hi:
            continue
        piece, exact = part(series, lo, hi), _shifted(origin.exact, lo)
        if cut.version is None:
            last_us = min(cut.end_us, int(series.at_us[-1]))
            without.append((from_us(int(piece.at_us[0])), from_us(last_us)))
            continue
        excursions = _excursions(
            rule, cut.version, piece, origin=replace(origin, exact=exact), rejoin_us=rejoin_us
        )
        found += facts(
            rule,
            cut.version,
            excursions,
            channel_key=origin.key,
            text=origin.text,
            authority=authority,
        )
    return Judgment(facts=tuple(found), without_version=tuple(without))


def _excursions(
    rule: LimitRule, version: LimitVersion, series: Series, *, origin: Origin, rejoin_us: int
) -> tuple[Excursion, ...]:
    at_least, at_most = bounds(version)
    converted = convert(series, origin.unit, rule.unit, near=edges(version), exact=origin.exact)
    return step(
        None, converted, at_least=at_least, at_most=at_most, rejoin_us=rejoin_us, until_us=None
    )[1]


def edges(version: LimitVersion) -> tuple[Decimal, ...]:
    """The bounds of a version as exact decimals: what ``convert`` must be exact near."""
    return tuple(bound for bound in (version.at_least, version.at_most) if bound is not None)


def part(series: Series, lo: int, hi: int) -> Series:
    """The readings from position ``lo`` up to ``hi``, without copying."""
    return Series(
        at_us=series.at_us[lo:hi],
        value=series.value[lo:hi],
        quality=series.quality[lo:hi],
        interval_us=series.interval_us[lo:hi],
    )


def _shifted(exact: Exact | None, by: int) -> Exact | None:
    return None if exact is None else lambda at: exact(at + by)


def facts(
    rule: LimitRule,
    version: LimitVersion,
    excursions: Iterable[Excursion],
    *,
    channel_key: str,
    text: Text,
    authority: Authority | None = None,
) -> tuple[Exceedance, ...]:
    """Excursions as facts under one version of one limit, with stable ids.

    channel_key: what tells this channel from all others, for ever. text: writes a reading in the
    limit's unit. authority: the rule's own unless the source makes it screening.
    """
    return tuple(
        _fact(
            rule,
            version,
            excursion,
            channel_key=channel_key,
            worst=text(excursion.worst_us, excursion.worst),
            authority=authority or rule.authority,
        )
        for excursion in excursions
    )


def _fact(
    rule: LimitRule,
    version: LimitVersion,
    excursion: Excursion,
    *,
    channel_key: str,
    worst: str,
    authority: Authority,
) -> Exceedance:
    bound = version.at_least if excursion.side is Side.BELOW else version.at_most
    return Exceedance(
        id=finding_id(
            rule.id, version.effective, channel_key, excursion.side.value, excursion.starts_us
        ),
        rule_id=rule.id,
        effective=version.effective,
        kind=Kind.EXCEEDANCE,
        parameter=rule.parameter,
        unit=rule.unit,
        side=excursion.side,
        starts_at=from_us(excursion.starts_us),
        ends_at=from_us(excursion.ends_us),
        seconds=whole_seconds(excursion.ends_us - excursion.starts_us),
        seconds_beyond=whole_seconds(excursion.beyond_us),
        runs=excursion.runs,
        worst=worst,
        worst_at=from_us(excursion.worst_us),
        limit=str(bound),
        readings=excursion.readings,
        open_ended=excursion.open_ended,
        review=excursion.review,
        settled=excursion.settled,
        citation=rule.citation,
        says=rule.says,
        authority=authority,
        working=_working(rule, excursion, worst=worst, bound=str(bound)),
    )


def _working(rule: LimitRule, excursion: Excursion, *, worst: str, bound: str) -> tuple[str, ...]:
    unit = rule.unit.value
    word, edge = ("below", "least") if excursion.side is Side.BELOW else ("above", "most")
    seconds = whole_seconds(excursion.beyond_us)
    span = whole_seconds(excursion.ends_us - excursion.starts_us)
    runs = "one run" if excursion.runs == 1 else f"{excursion.runs} runs"
    beyond = "reading" if excursion.readings == 1 else "readings"
    lines = [
        f"worst {worst} {unit} {word} the limit, at {edge} {bound} {unit}",
        f"{seconds} s outside in {runs}, over {span} s; {excursion.readings} {beyond} beyond",
    ]
    if excursion.open_ended and excursion.settled:
        lines.append("the record stops here: the end is one interval after the last reading beyond")
    if excursion.review:
        lines.append("rests on a suspect reading: to review")
    return tuple(lines)


def whole_seconds(us: int) -> int:
    """Microseconds as whole seconds, to the nearest."""
    return round(timedelta(microseconds=us).total_seconds())
