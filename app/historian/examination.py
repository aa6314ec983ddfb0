"""A file of readings by the rulebooks: findings, coverage, and what could not be evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from app.historian.exports import FileSeries, ReadingFile
from compliance.errors import InputError, NotInForce
from compliance.judging import slugs
from compliance.judging.judge import Origin, edges, judge_series, usable
from compliance.model.faults import brief
from compliance.model.findings import Authority, Exceedance
from compliance.model.folds import SILENT_INTERVALS
from compliance.model.limits import ON_READINGS, SINGLY
from compliance.model.parameters import Parameter
from compliance.model.periods import day_of, from_us
from compliance.model.readings import Series
from compliance.model.units import Unit, as_decimal, linear, shown
from compliance.rules.book import RuleBook
from compliance.rules.effective import in_force
from compliance.rules.schema import LimitRule, SampleSource, SlugRule, SlugVersion

Baselines = Mapping[tuple[str, Parameter], float]
NO_LIMIT = "no limit in force"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotEvaluated:
    """A parameter, or a part of its time, that no rule judged, and why."""

    parameter: Parameter
    reason: str
    span: tuple[datetime, datetime] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How much of what should be there was judged; gaps in instants."""

    point: str
    parameter: Parameter
    readings: int
    judged: int
    gaps: tuple[tuple[datetime, datetime], ...]
    completeness: str


@dataclass(slots=True, kw_only=True)
class Examination:
    """All that a file shows; facts go with the point they were found at."""

    ordinances: tuple[str, ...]
    facts: list[tuple[str, Exceedance]] = field(default_factory=list)
    coverage: list[Coverage] = field(default_factory=list)
    not_evaluated: list[NotEvaluated] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def is_enforceable(self) -> bool:
        """Whether a limit of law was exceeded; screening alone is not."""
        return any(fact.authority is not Authority.PROGRAM for _, fact in self.facts)


def examine(
    file: ReadingFile, books: Sequence[RuleBook], *, rejoin_us: int, baselines: Baselines
) -> Examination:
    """Judge every series of a file by every rulebook named.

    baselines: the usual value of a point's parameter, for slug screening, in the file's unit.

    Raises: InputError when a baseline names what the file does not have or nobody screens.
    """
    _check_baselines(file, books, baselines)
    found = Examination(ordinances=tuple(book.name for book in books), warnings=list(file.warnings))
    for one in file.series:
        judged = usable(one.series, one.parameter)
        found.coverage.append(_coverage(one, judged))
        for book in books:
            _limits(found, book, one, judged, rejoin_us=rejoin_us)
            _slugs(found, book, one, judged, rejoin_us=rejoin_us, baselines=baselines)
    found.not_evaluated = [*_without_limit(file, books), *_merged(found.not_evaluated)]
    found.facts.sort(key=lambda pair: (pair[1].starts_at, pair[1].rule_id, pair[0]))
    found.warnings += _sample_warnings(file, found)
    return found


def _check_baselines(file: ReadingFile, books: Sequence[RuleBook], baselines: Baselines) -> None:
    """Refuse a baseline that nothing would be compared with: ignored, it would seem to count."""
    present = {(one.point, one.parameter) for one in file.series}
    metered = {
        (one.point, one.parameter) for one in file.series if one.source is SampleSource.METER
    }
    for point, kind in baselines:
        named = f"--baseline names {brief(point)}:{kind.value}, which"
        if (point, kind) not in present:
            raise InputError(
                f"{named} the file does not have; expected a point and parameter of the file"
            )
        if kind not in slugs.SCREENED:
            raise InputError(
                f"{named} is not screened for slugs; expected flow or a concentration: leave it out"
            )
        if (point, kind) not in metered:
            raise InputError(
                f"{named} the file has from samples only; expected a parameter with meter rows, "
                "on which slugs are screened: leave it out"
            )
    if baselines and not any(book.of(SlugRule) for book in books):
        names = ", ".join(book.name for book in books)
        raise InputError(
            f"--baseline is of no use under {names}, which screens no slugs; expected a rulebook "
            "that does, such as prescott: leave it out"
        )


def _coverage(one: FileSeries, judged: Series) -> Coverage:
    at, interval = one.series.at_us, one.interval_us
    expected = round(int(at[-1] - at[0]) / interval) + 1
    share = (Decimal(len(judged)) / expected).quantize(Decimal("0.0001"), ROUND_HALF_UP)
    silent = np.flatnonzero(np.diff(judged.at_us) > SILENT_INTERVALS * interval)
    gaps = tuple(
        (from_us(int(judged.at_us[i]) + interval), from_us(int(judged.at_us[i + 1])))
        for i in silent
    )
    return Coverage(
        point=one.point,
        parameter=one.parameter,
        readings=len(one.series),
        judged=len(judged),
        gaps=gaps,
        completeness=str(share),
    )


def _limits(
    found: Examination, book: RuleBook, one: FileSeries, judged: Series, *, rejoin_us: int
) -> None:
    """Judge one series by the limits of one rulebook."""
    if not len(judged):
        return
    place = np.searchsorted(one.series.at_us, judged.at_us)
    for rule in book.limits(one.parameter):
        if (why := _not_here(rule, one.source)) is not None:
            found.not_evaluated.append(NotEvaluated(parameter=one.parameter, reason=why, span=None))
            continue
        if not rule.versions:
            continue
        origin = Origin(
            source=one.source,
            unit=one.unit,
            key=f"{one.point}|{one.parameter.value}|{one.source.value}",
            text=_writer(one, rule),
            exact=lambda at: one.exact(int(place[at])),
        )
        judgment = judge_series(rule, judged, origin=origin, zone=book.zone, rejoin_us=rejoin_us)
        found.facts += [(one.point, fact) for fact in judgment.facts]
        reason = _no_limit(found.ordinances, book)
        whole = (from_us(int(judged.at_us[0])), from_us(int(judged.at_us[-1])))
        found.not_evaluated += [
            NotEvaluated(
                parameter=one.parameter, reason=reason, span=None if span == whole else span
            )
            for span in judgment.without_version
        ]


def _not_here(rule: LimitRule, source: SampleSource) -> str | None:
    """Why rows of that source are not judged under a rule, one by one; None where they are."""
    judged = ON_READINGS if source is SampleSource.METER else SINGLY
    if rule.basis not in judged:
        how = rule.basis.value.replace("_", " ")
        return f"{rule.id} is judged as {how}, not on single {source.value} values"
    if rule.authority_on(source) is not None:
        return None
    wanted = " or ".join(kind.value for kind in (*rule.enforceable_on, *rule.screened_on))
    return f"{rule.id} is judged from {wanted}, not from {source.value}"


def _no_limit(ordinances: tuple[str, ...], book: RuleBook) -> str:
    return NO_LIMIT if len(ordinances) == 1 else f"{NO_LIMIT} under {book.name}"


def _writer(one: FileSeries, rule: LimitRule) -> Callable[[int, float], str]:
    """Writes a reading in the limit's unit: as the file has it, or converted."""
    bounds = [bound for version in rule.versions for bound in edges(version)]

    def text(at_us: int, value: float) -> str:
        written, own = one.written(int(np.searchsorted(one.series.at_us, at_us)))
        if own is rule.unit:
            return written
        passed = min(bounds, key=lambda bound: abs(float(bound) - value))
        return shown(_converted(written, own, rule.unit), written=written, limit=passed)

    return text


def _converted(written: str, own: Unit, target: Unit) -> Decimal:
    factor, offset = linear(own, target)
    numerator, denominator = Decimal(written).as_integer_ratio()
    return as_decimal(factor * numerator / denominator + offset)


def _slugs(
    found: Examination,
    book: RuleBook,
    one: FileSeries,
    judged: Series,
    *,
    rejoin_us: int,
    baselines: Baselines,
) -> None:
    """Screen one meter series for possible slugs by one rulebook."""
    if one.source is not SampleSource.METER or one.parameter not in slugs.SCREENED:
        return
    if not len(judged):
        return
    for rule in book.of(SlugRule):
        try:
            version = in_force(rule.id, rule.versions, day_of(from_us(judged.at_us[0]), book.zone))
        except NotInForce:
            continue
        baseline = baselines.get((one.point, one.parameter))
        screening = slugs.screen(judged, version, rejoin_us=rejoin_us, baseline=baseline)
        facts = slugs.facts(
            rule,
            version,
            screening.found,
            parameter=one.parameter,
            unit=one.unit,
            channel_key=f"{one.point}|{one.parameter.value}",
            text=_in_file_unit(one),
        )
        found.facts += [(one.point, fact) for fact in facts]
        found.not_evaluated += _unscreened(one, judged, screening, version)


def _unscreened(
    one: FileSeries, judged: Series, screening: slugs.Screening, version: SlugVersion
) -> Iterator[NotEvaluated]:
    """The spans in which there was too little before to compare with."""
    reason = (
        f"slug screening of {one.point}: less than {version.needed_hours} h of readings in "
        f"the {version.window_hours} h before; give --baseline to screen all the same"
    )
    whole = (int(judged.at_us[0]), int(judged.at_us[-1]))
    for span in screening.not_evaluated:
        instants = None if span == whole else (from_us(span[0]), from_us(span[1]))
        yield NotEvaluated(parameter=one.parameter, reason=reason, span=instants)


def _in_file_unit(one: FileSeries) -> Callable[[int, float], str]:
    def text(at_us: int, value: float) -> str:
        written, own = one.written(int(np.searchsorted(one.series.at_us, at_us)))
        if own is one.unit:
            return written
        return shown(_converted(written, own, one.unit), written=written)

    return text


def _without_limit(file: ReadingFile, books: Sequence[RuleBook]) -> Iterator[NotEvaluated]:
    """Parameters on which no rulebook named has a limit, and limits that are not loaded."""
    for kind in dict.fromkeys(one.parameter for one in file.series):
        rules = {book.name: book.limits(kind) for book in books}
        loaded = [name for name, limits in rules.items() if any(rule.versions for rule in limits)]
        if not loaded:
            screened = kind is Parameter.FLOW and any(book.of(SlugRule) for book in books)
            if not screened:
                yield NotEvaluated(parameter=kind, reason=NO_LIMIT, span=None)
            continue
        for name, limits in rules.items():
            if limits and name not in loaded:
                yield NotEvaluated(parameter=kind, reason=f"{NO_LIMIT} under {name}", span=None)


def _merged(entries: Iterable[NotEvaluated]) -> Iterator[NotEvaluated]:
    """Each reason of a parameter once, with the span of all its parts."""
    groups: dict[tuple[Parameter, str], list[NotEvaluated]] = {}
    for entry in entries:
        groups.setdefault((entry.parameter, entry.reason), []).append(entry)
    for (kind, reason), same in groups.items():
        if reason.startswith(NO_LIMIT) and all(entry.span for entry in same):
            spans = [entry.span for entry in same if entry.span]
            span = (min(start for start, _ in spans), max(end for _, end in spans))
            yield NotEvaluated(parameter=kind, reason=reason, span=span)
        else:
            yield from dict.fromkeys(same)


def _sample_warnings(file: ReadingFile, found: Examination) -> Iterator[str]:
    sampled = {
        (one.point, one.parameter)
        for one in file.series
        if one.source is not SampleSource.METER and len(one.series) > 1
    }
    if any((point, fact.parameter) in sampled for point, fact in found.facts):
        yield (
            "grab and composite rows are measurements of their instants: between two samples "
            "nothing was measured, so the seconds of a finding on them are no measured duration"
        )


def report(found: Examination, *, zone: ZoneInfo) -> dict[str, Any]:
    """An examination as JSON; instants in ``zone``."""
    return {
        "ordinances": list(found.ordinances),
        "findings": [_finding(point, fact, zone) for point, fact in found.facts],
        "coverage": [
            {
                "point": row.point,
                "parameter": row.parameter.value,
                "readings": row.readings,
                "good": row.judged,
                "flagged": row.readings - row.judged,
                "gaps": [{"from": _at(a, zone), "to": _at(b, zone)} for a, b in row.gaps],
                "completeness": row.completeness,
            }
            for row in found.coverage
        ],
        "not_evaluated": [
            {
                "parameter": entry.parameter.value,
                "reason": entry.reason,
                "from": _at(entry.span[0], zone) if entry.span else None,
                "to": _at(entry.span[1], zone) if entry.span else None,
            }
            for entry in found.not_evaluated
        ],
        "warnings": found.warnings,
    }


def _at(instant: datetime, zone: ZoneInfo) -> str:
    return instant.astimezone(zone).isoformat()


def _finding(point: str, fact: Exceedance, zone: ZoneInfo) -> dict[str, Any]:
    return {
        "rule": fact.rule_id,
        "kind": fact.kind.value,
        "point": point,
        "parameter": fact.parameter.value,
        "side": fact.side.value,
        "starts_at": _at(fact.starts_at, zone),
        "ends_at": _at(fact.ends_at, zone),
        "seconds": fact.seconds,
        "seconds_beyond": fact.seconds_beyond,
        "runs": fact.runs,
        "worst": fact.worst,
        "limit": fact.limit,
        "unit": fact.unit.value,
        "readings": fact.readings,
        "open_ended": fact.open_ended,
        "review": fact.review,
        "citation": fact.citation,
        "authority": fact.authority.value,
    }
