"""A finding reached again from what it rests on, and where the two differ; what was left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

import numpy as np

from compliance.judging import judge, slugs
from compliance.judging.refold import REJOIN_US, Under, through
from compliance.judging.results import judge_result
from compliance.model.findings import Exceedance
from compliance.model.folds import SILENT_INTERVALS
from compliance.model.parameters import PHYSICAL_RANGE, Parameter
from compliance.model.periods import from_us, to_us
from compliance.model.readings import UNJUDGED, Flags, Quality, Series, Values, reasons
from compliance.model.samples import Result, Sample
from compliance.rules.schema import Judge, LimitRule, LimitVersion, SampleSource, SlugRule
from compliance.rules.schema import SlugVersion as Screening

COMPARED = (
    "kind", "parameter", "unit", "side", "starts_at", "ends_at", "seconds", "seconds_beyond",
    "runs", "worst", "worst_at", "limit", "readings", "open_ended", "review", "settled",
    "authority",
)  # fmt: skip
"""What must be the same in both; words of law may have been put better since."""

DAY_US = 86_400_000_000
LOOK_BACK_US, LOOK_AHEAD_US = 2 * DAY_US, DAY_US
"""Slugs: a day to compare with, a day for what that left out; those a day later were compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Where a finding as kept and as reached again do not say the same."""

    what: str
    kept: str
    again: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Readings that were not judged for one reason; the first and the last of them."""

    reason: str
    readings: int
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The instants ``[since_us, until_us)`` whose readings a finding depends on."""

    since_us: int
    until_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """How a channel's findings are written: its key, and a reading as text in the limit's unit."""

    key: str
    text: judge.Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Considered:
    """A source of law that was looked at beside a finding, and what came of it."""

    rule_id: str
    citation: str
    authority: str
    limit: str
    outcome: str


def differences(kept: Exceedance, again: Exceedance | None) -> tuple[Difference, ...]:
    """Where two do not say the same; one that is not reached again differs as a whole."""
    if again is None:
        return (Difference(what="finding", kept=kept.rule_id, again="not found"),)
    return tuple(
        Difference(what=name, kept=_said(getattr(kept, name)), again=_said(getattr(again, name)))
        for name in COMPARED
        if getattr(kept, name) != getattr(again, name)
    )


def span_of(fact: Exceedance, *, interval_us: int, screened: bool = False) -> Span:
    """The readings that decide a fact: those around it which could join it, or end it.

    interval_us: the longest cadence around it. screened: a possible slug, which rests on the days
    before. A fact that was still going on is reached again from what was known of it then.
    """
    starts, ends = to_us(fact.starts_at), to_us(fact.ends_at)
    if screened:
        return Span(since_us=starts - LOOK_BACK_US, until_us=ends + LOOK_AHEAD_US)
    margin = REJOIN_US + (SILENT_INTERVALS + 2) * interval_us
    if not fact.settled:
        return Span(since_us=starts - margin, until_us=ends if fact.open_ended else ends + 1)
    return Span(since_us=starts - margin, until_us=ends + margin)


def limit_again(
    under: Under, fact: Exceedance, series: Series, *, span: Span, written: Written
) -> Exceedance | None:
    """The fact of a limit as the same fold finds it now; None where it finds none that begins so.

    series: the usable readings of the span, in the channel's unit.
    """
    found = through(under, span.since_us, span.until_us, read=between(series))
    for version, excursion in found.values():
        for one in judge.facts(
            under.rule,
            version,
            (excursion,),
            channel_key=written.key,
            text=written.text,
            authority=under.rule.authority_on(SampleSource.METER),
        ):
            if (one.starts_at, one.side) == (fact.starts_at, fact.side):
                return one
    return None


def slug_again(
    rule: SlugRule,
    version: Screening,
    fact: Exceedance,
    series: Series,
    *,
    written: Written,
    usual: Values | None = None,
) -> Exceedance | None:
    """The possible slug as screening finds it now, from judged readings of its ``span_of``.

    usual: what is usual at each reading, NaN where that is not known; None: by the day before.
    """
    until_us = None if fact.settled else to_us(fact.ends_at)
    screening = slugs.screen(
        series, version, rejoin_us=REJOIN_US, until_us=until_us, baseline=usual
    )
    made = slugs.facts(
        rule,
        version,
        screening.found,
        parameter=fact.parameter,
        unit=fact.unit,
        channel_key=written.key,
        text=written.text,
    )
    return next((one for one in made if one.starts_at == fact.starts_at), None)


def result_again(
    rule: LimitRule, version: LimitVersion, result: Result, *, sample: Sample, zone: ZoneInfo
) -> Exceedance | None:
    """The fact of a laboratory result as it is found now, but for its id; None: nothing is."""
    return judge_result(rule, version, result, sample=sample, result_key="", zone=zone).exceedance


def left_out(series: Series, parameter: Parameter) -> tuple[LeftOut, ...]:
    """The readings that were not judged, by their reason, in the order in which they first came."""
    if not len(series):
        return ()
    physical = _impossible(series, parameter)
    unjudged = ((series.quality & UNJUDGED) != 0) | ~np.isfinite(series.value) | physical
    found: dict[str, list[int]] = {}
    for at in np.flatnonzero(unjudged):
        found.setdefault(_why(series, int(at), physical), []).append(int(series.at_us[at]))
    return tuple(
        LeftOut(reason=reason, readings=len(at), first=from_us(at[0]), last=from_us(at[-1]))
        for reason, at in found.items()
    )


def consider(
    rule: LimitRule, day: date, *, source: SampleSource, found: Callable[[LimitRule], int]
) -> Considered:
    """What came of one limit beside a finding. found: how often it finds something there."""
    version = next(
        (
            one
            for one in rule.versions
            if (one.effective or date.min) <= day < (one.ended or date.max)
        ),
        None,
    )
    return Considered(
        rule_id=rule.id,
        citation=rule.citation,
        authority=rule.authority.value,
        limit="" if version is None else _bounds(rule, version),
        outcome=_outcome(rule, version, source, found),
    )


def _outcome(
    rule: LimitRule,
    version: LimitVersion | None,
    source: SampleSource,
    found: Callable[[LimitRule], int],
) -> str:
    if rule.judged_by is not Judge.PROGRAM:
        return f"judged by a {rule.judged_by.value}, not by the program: {rule.reason}"
    if rule.applies_at != "discharge":
        return f"applies at the {rule.applies_at}, not where users discharge"
    if rule.authority_on(source) is None:
        return f"is not judged from {source.value}"
    if version is None:
        return "no limit in force on that day: this is not the same as complying"
    count = found(rule)
    if not count:
        return "nothing beyond it in this span"
    return "1 finding in this span" if count == 1 else f"{count} findings in this span"


def _bounds(rule: LimitRule, version: LimitVersion) -> str:
    parts = [
        f"{word} {bound} {rule.unit.value}"
        for word, bound in (("at least", version.at_least), ("at most", version.at_most))
        if bound is not None
    ]
    return ", ".join(parts)


def between(series: Series) -> Callable[[int, int], Series]:
    """A series as readings that are asked for from one instant up to another."""

    def read(since_us: int, until_us: int) -> Series:
        lo, hi = np.searchsorted(series.at_us, [since_us, until_us])
        return judge.part(series, int(lo), int(hi))

    return read


def _impossible(series: Series, parameter: Parameter) -> Flags:
    lowest, highest = PHYSICAL_RANGE.get(parameter, (-np.inf, np.inf))
    with np.errstate(invalid="ignore"):
        outside: Flags = (series.value < lowest) | (series.value > highest)
    return outside


def _why(series: Series, at: int, physical: Flags) -> str:
    said = reasons(Quality(int(series.quality[at]) & UNJUDGED))
    if physical[at]:
        said = "; ".join(part for part in (said, "physically impossible") if part)
    return said or "no value"


def _said(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def rows(series: Series, parameter: Parameter) -> Iterator[tuple[int, float | None, str, bool]]:
    """Each reading: instant, value, quality in words (empty when good), whether it is judged."""
    physical = _impossible(series, parameter)
    for at in range(len(series)):
        value, bits = float(series.value[at]), int(series.quality[at])
        is_number = bool(np.isfinite(value))
        judged = is_number and not bits & UNJUDGED and not bool(physical[at])
        said = reasons(Quality(bits)) or ("" if judged else _why(series, at, physical))
        yield int(series.at_us[at]), value if is_number else None, said, judged
