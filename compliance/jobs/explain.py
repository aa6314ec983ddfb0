"""A finding explained from the record, and reached again from what the record holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from compliance.errors import ComplianceError
from compliance.jobs import averages, foresee, stack
from compliance.jobs.facts import text_in
from compliance.jobs.refold import under
from compliance.jobs.usual import baseline
from compliance.judging import judge, reproduce
from compliance.judging.refold import through
from compliance.judging.reproduce import Considered, Difference, LeftOut, Span
from compliance.model.findings import Exceedance, Kind
from compliance.model.periods import Window, day_of, from_us, midnight
from compliance.model.readings import Series
from compliance.model.sites import Channel
from compliance.records import destructions, finding, readings, samples
from compliance.records.destructions import Destruction
from compliance.records.finding import Record
from compliance.records.samples import StoredResult
from compliance.records.scope import Scope
from compliance.records.sites import Place
from compliance.rules import book
from compliance.rules.effective import in_force
from compliance.rules.schema import LimitRule, Rule, SampleSource, SlugRule

_INSTANT = timedelta(microseconds=1)
_NO_RULE = "this release has no rule {}: with the release that judged it can be judged again"
_OTHER_KIND = "a finding of kind {} is not judged again one by one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The readings a finding rests on. series: of the whole span that decides it.

    judged: how many of them; digest: of the window the evidence names, as stored now; in_force:
    from when to when the version holds that the finding names, None where no day bounds it.
    """

    channel: Channel
    place: Place
    span: Span
    series: Series
    judged: int
    left_out: tuple[LeftOut, ...]
    digest: str
    in_force: tuple[datetime | None, datetime | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A finding with what it rests on, and what comes out when it is judged again.

    agrees: None where it cannot be judged again, which ``why`` says.
    """

    record: Record
    considered: tuple[Considered, ...] = ()
    source: Source | None = None
    result: StoredResult | None = None
    destroyed: tuple[Destruction, ...] = ()
    again: Exceedance | None = None
    differs: tuple[Difference, ...] = ()
    agrees: bool | None = None
    why: str = ""


def explain(db: Connection, scope: Scope, name: str) -> Explained:
    """A finding by any of its names, and whether it comes out again.

    Nothing is written. Raises: InputError, NotFound.
    """
    record = finding.find(db, scope, name)
    if record.channel_id is not None:
        return _from_readings(db, record, record.channel_id)
    return _from_result(db, record)


# -- readings


def _from_readings(db: Connection, record: Record, channel_id: int) -> Explained:
    channel, place = foresee.found(db, channel_id)
    span = _span(db, record, channel)
    since, until = from_us(span.since_us), from_us(span.until_us)
    gone = destructions.of_channel(db, channel_id, since=since, until=until)
    source = _source(db, record, channel, place=place, span=span)
    known = Explained(
        record=record,
        considered=_considered(db, record, source),
        source=source,
        destroyed=gone,
    )
    if gone:
        return _unknown(known, "readings that it rests on were destroyed under a records schedule")
    return _checked(known, *_again(db, record, source), digest=_digest_differs(record, source))


def _span(db: Connection, record: Record, channel: Channel) -> Span:
    """The readings that decide it, by the longest cadence in force around it."""
    fact = record.fact
    held = readings.usable(
        db, [channel.id], since=fact.starts_at, until=fact.ends_at + _INSTANT
    )[channel.id]  # fmt: skip
    longest = int(held.interval_us.max()) if len(held) else 1000 * channel.interval_ms
    return reproduce.span_of(fact, interval_us=longest, screened=fact.kind is Kind.POSSIBLE_SLUG)


def _source(
    db: Connection, record: Record, channel: Channel, *, place: Place, span: Span
) -> Source:
    since, until = from_us(span.since_us), from_us(span.until_us)
    series = readings.usable(db, [channel.id], since=since, until=until)[channel.id]
    judged_in = _window(record)
    return Source(
        channel=channel,
        place=place,
        span=span,
        series=series,
        judged=len(judge.usable(series, place.parameter)),
        left_out=reproduce.left_out(series, place.parameter),
        digest=readings.digest(db, channel.id, judged_in.start, judged_in.end + _INSTANT),
        in_force=_in_force(db, record, place),
    )


def _in_force(
    db: Connection, record: Record, place: Place
) -> tuple[datetime | None, datetime | None]:
    rule = _rule(db, record)
    if not isinstance(rule, LimitRule):
        return None, None
    zone = stack.zone_of(rule, place)
    for one in rule.versions:
        if one.effective == record.fact.effective:
            begin = midnight(one.effective, zone) if one.effective else None
            return begin, midnight(one.ended, zone) if one.ended else None
    return None, None


def _window(record: Record) -> Window:
    """The window that the evidence was gathered over."""
    said = record.evidence.get("window") or {}
    start, end = (said.get(key) for key in ("from", "to"))
    fact = record.fact
    return Window(
        start=datetime.fromisoformat(start) if start else fact.starts_at,
        end=datetime.fromisoformat(end) if end else fact.ends_at,
    )


def _digest_differs(record: Record, source: Source) -> tuple[Difference, ...]:
    kept = record.evidence.get("digest")
    if not kept or kept == source.digest:
        return ()
    what = "digest of the stored readings"
    return (Difference(what=what, kept=str(kept), again=source.digest),)


def _again(db: Connection, record: Record, source: Source) -> tuple[Exceedance | None, str]:
    """The finding judged anew, or why it cannot be."""
    fact, place = record.fact, source.place
    rule = _rule(db, record)
    if rule is None:
        return None, _NO_RULE.format(fact.rule_id)
    usable = judge.usable(source.series, place.parameter)
    text = partial(text_in, source.channel)
    key = str(source.channel.id)
    if isinstance(rule, SlugRule):
        zone = book.find(rule.id)[0].zone
        version = in_force(rule.id, rule.versions, day_of(fact.ends_at, zone))
        own = reproduce.Written(key=key, text=partial(text, place.unit))
        normal = baseline(db, source.channel.id, usable, zone=place.zone)
        return reproduce.slug_again(rule, version, fact, usable, written=own, usual=normal), ""
    if not isinstance(rule, LimitRule) or fact.kind is not Kind.EXCEEDANCE:
        return None, _OTHER_KIND.format(fact.kind.value)
    own = reproduce.Written(key=key, text=partial(text, rule.unit))
    bound = under(rule, place)
    return reproduce.limit_again(bound, fact, usable, span=source.span, written=own), ""


def _rule(db: Connection, record: Record) -> Rule | None:
    """The rule of a finding as this release has it, of a book or of the user's papers."""
    wanted = record.fact.rule_id
    for one in stack.of(db).at(record.industrial_user_id, record.point):
        if one.rule.id == wanted:
            return one.rule
    try:
        return book.find(wanted)[1]
    except ComplianceError:
        return None


def _considered(db: Connection, record: Record, source: Source) -> tuple[Considered, ...]:
    """Every limit on the parameter at the point, and what it finds in the same span."""
    place, span = source.place, source.span
    usable = judge.usable(source.series, place.parameter)

    def found(rule: LimitRule) -> int:
        read = reproduce.between(usable)
        return len(through(under(rule, place), span.since_us, span.until_us, read=read))

    rules = stack.of(db).on_parameter(
        place.rulebooks, record.industrial_user_id, record.point, record.fact.parameter
    )
    return tuple(
        reproduce.consider(
            rule,
            day_of(record.fact.starts_at, stack.zone_of(rule, place)),
            source=SampleSource.METER,
            found=found,
        )
        for rule in rules
    )


# -- results


def _from_result(db: Connection, record: Record) -> Explained:
    """A finding in a laboratory result, judged again from the result as stored."""
    fact = record.fact
    if fact.kind in (Kind.AVERAGE, Kind.MASS):
        found = averages.again(
            db, fact, industrial_user_id=record.industrial_user_id, point=record.point
        )
        return _checked(Explained(record=record), found, "")
    near = timedelta(days=1)
    window = Window(start=fact.starts_at - near, end=fact.ends_at + near)
    stored = samples.in_window(db, record.industrial_user_id, window)
    result = next((one for one in stored if one.id == record.result_id), None)
    if result is None:
        return _unknown(Explained(record=record), "the result that it rests on is not on record")
    owner = samples.owner(db, record.industrial_user_id)
    kind = result.sample.sample_type
    bound = stack.of(db).on_result(owner.rulebooks, owner.id, record.point, result.result)
    considered = tuple(
        reproduce.consider(
            rule,
            _day(result, record),
            source=SampleSource(kind.value) if kind else SampleSource.METER,
            found=lambda one: int(_result_fact(one, result, record) is not None),
        )
        for rule in bound
    )
    known = Explained(record=record, considered=considered, result=result)
    rule = _rule(db, record)
    if rule is None:
        return _unknown(known, _NO_RULE.format(fact.rule_id))
    if not isinstance(rule, LimitRule) or fact.kind is not Kind.EXCEEDANCE:
        return _unknown(known, _OTHER_KIND.format(fact.kind.value))
    return _checked(known, _result_fact(rule, result, record), "")


def _day(result: StoredResult, record: Record) -> date:
    return result.day or day_of(record.fact.starts_at, ZoneInfo(record.zone))


def _result_fact(rule: LimitRule, result: StoredResult, record: Record) -> Exceedance | None:
    for _, version in stack.on_day([rule], _day(result, record)):
        return reproduce.result_again(
            rule, version, result.result, sample=result.sample, zone=ZoneInfo(record.zone)
        )
    return None


# -- whether it agrees


def _checked(
    known: Explained,
    again: Exceedance | None,
    why: str,
    *,
    digest: tuple[Difference, ...] = (),
) -> Explained:
    """With what came out again. One that was withdrawn agrees when it is not found any more."""
    if why:
        return _unknown(known, why)
    record = known.record
    if record.superseded_at is not None:
        return _withdrawn(known, again)
    differs = (*reproduce.differences(record.fact, again), *digest)
    return replace(known, again=again, differs=differs, agrees=not differs)


def _withdrawn(known: Explained, again: Exceedance | None) -> Explained:
    why = f"withdrawn: {known.record.superseded_why}"
    if again is None or reproduce.differences(known.record.fact, again):
        return replace(known, again=again, agrees=True, why=why)
    found = Difference(what="finding", kept="withdrawn", again="found as it was")
    return replace(known, again=again, differs=(found,), agrees=False, why=why)


def _unknown(known: Explained, why: str) -> Explained:
    return replace(known, agrees=None, why=why)
