"""Laboratory results against a limit: what a number, a "<" or a ">" shows, and what it does not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from zoneinfo import ZoneInfo

from compliance.model.findings import Authority, Exceedance, Kind, Side, finding_id
from compliance.model.parameters import label
from compliance.model.periods import midnight, to_us
from compliance.model.samples import Result, Sample, SampleType
from compliance.model.units import Quantity, shown
from compliance.rules.schema import LimitRule, LimitVersion, SampleSource


class Outcome(StrEnum):
    """What a result says about a limit."""

    COMPLIES = "complies"
    EXCEEDS = "exceeds"
    SHOWS_NOTHING = "shows nothing"
    NOT_SENSITIVE = "method not sensitive enough"
    WRONG_SAMPLE_TYPE = "sample type not judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a result says about one version of a limit, why, and the fact if it exceeds."""

    outcome: Outcome
    reason: str
    exceedance: Exceedance | None = None


def judges(rule: LimitRule, result: Result) -> bool:
    """Whether a rule has anything to say about a result's parameter."""
    return result.parameter in (rule.parameter, *rule.bounded_by)


def judge_result(
    rule: LimitRule,
    version: LimitVersion,
    result: Result,
    *,
    sample: Sample,
    result_key: str,
    zone: ZoneInfo,
) -> Verdict:
    """Judge one result under one version of a limit for whose parameter ``judges`` is true.

    The number is compared unrounded in the limit's unit. "<" lies below its value, ">" above; a
    parameter that includes the limited one bounds it from above only. result_key: what tells this
    result from all others, for ever. zone: of the plant, for samples that have a date alone.

    Raises: UnitMismatch.
    """
    kind = sample.sample_type
    authority = None if kind is None else rule.authority_on(SampleSource(kind.value))
    if authority is None or kind is None:
        return Verdict(outcome=Outcome.WRONG_SAMPLE_TYPE, reason=_wrong_type(rule, kind))
    value = Quantity(value=result.value, unit=result.unit).to(rule.unit).value
    outcome, side = _outcome(rule, version, result, value)
    reason = _reason(rule, version, result, outcome)
    if side is None:
        return Verdict(outcome=outcome, reason=reason)
    span = _span(sample, zone)
    if span is None:
        return Verdict(
            outcome=Outcome.SHOWS_NOTHING, reason=f"{reason}; but the sample has no date"
        )
    written = result.written
    if result.unit is not rule.unit:
        written = shown(value, written=written, limit=_bound(version, side))
    fact = _fact(rule, version, side, worst=written, span=span, key=result_key, authority=authority)
    return Verdict(outcome=outcome, reason=reason, exceedance=replace(fact, working=(reason,)))


def _outcome(
    rule: LimitRule, version: LimitVersion, result: Result, value: Decimal
) -> tuple[Outcome, Side | None]:
    low, high = version.at_least, version.at_most
    from_above_only = result.parameter is not rule.parameter
    may_be_lower = result.qualifier == "<" or from_above_only
    may_be_higher = result.qualifier == ">"
    too_high = high is not None and (value > high or (may_be_higher and value == high))
    too_low = low is not None and (value < low or (may_be_lower and value == low))
    if too_high and not may_be_lower:
        return Outcome.EXCEEDS, Side.ABOVE
    if too_low and not may_be_higher and not from_above_only:
        return Outcome.EXCEEDS, Side.BELOW
    if too_high and result.qualifier == "<":
        return Outcome.NOT_SENSITIVE, None
    unsure = (may_be_higher and high is not None) or (may_be_lower and low is not None)
    if too_high or too_low or unsure:
        return Outcome.SHOWS_NOTHING, None
    return Outcome.COMPLIES, None


def _wrong_type(rule: LimitRule, kind: SampleType | None) -> str:
    wanted = " or ".join(s.value for s in rule.enforceable_on if s is not SampleSource.METER)
    given = "a sample of unstated type" if kind is None else f"a {kind.value} sample"
    return f"{label(rule.parameter)} is judged from a {wanted} sample, not from {given}"


def _reason(rule: LimitRule, version: LimitVersion, result: Result, outcome: Outcome) -> str:
    found = f"{label(result.parameter)} {result.qualifier}{result.written} {result.unit.value}"
    limits = " to ".join(str(b) for b in (version.at_least, version.at_most) if b is not None)
    against = f"the limit of {limits} {rule.unit.value}"
    if outcome is Outcome.NOT_SENSITIVE:
        return f"{found} cannot be judged by {against}: use a more sensitive method"
    if outcome is Outcome.SHOWS_NOTHING and result.parameter is not rule.parameter:
        return (
            f"{found} is over {against} but includes more than {label(rule.parameter)}: "
            f"ask the laboratory for {label(rule.parameter)}"
        )
    if outcome is Outcome.SHOWS_NOTHING:
        return f"{found} shows nothing by {against}"
    verb = "complies with" if outcome is Outcome.COMPLIES else "is outside"
    return f"{found} {verb} {against}"


def _fact(
    rule: LimitRule,
    version: LimitVersion,
    side: Side,
    *,
    worst: str,
    span: tuple[datetime, datetime],
    key: str,
    authority: Authority,
) -> Exceedance:
    starts, ends = span
    seconds = round((ends - starts).total_seconds())
    return Exceedance(
        id=finding_id(rule.id, version.effective, key, side.value, to_us(starts)),
        rule_id=rule.id,
        effective=version.effective,
        kind=Kind.EXCEEDANCE,
        parameter=rule.parameter,
        unit=rule.unit,
        side=side,
        starts_at=starts,
        ends_at=ends,
        seconds=seconds,
        seconds_beyond=seconds,
        runs=1,
        worst=worst,
        worst_at=ends,
        limit=str(_bound(version, side)),
        readings=1,
        open_ended=False,
        review=False,
        settled=True,
        citation=rule.citation,
        says=rule.says,
        authority=authority,
    )


def _bound(version: LimitVersion, side: Side) -> Decimal | None:
    return version.at_most if side is Side.ABOVE else version.at_least


def _span(sample: Sample, zone: ZoneInfo) -> tuple[datetime, datetime] | None:
    """The instants a sample was taken between; a date without a time stands for its first one."""
    given = [at for at in (sample.sampled_from, sample.sampled_to) if at is not None]
    if not given:
        return None
    return _instant(given[0], zone), _instant(given[-1], zone)


def _instant(at: datetime | date, zone: ZoneInfo) -> datetime:
    return at if isinstance(at, datetime) else midnight(at, zone)
