"""Averages and pounds judged: whenever a result is stored, a paper changes, or a span has ended.

One function does it, for the days that were touched; what it found before and does not find now is
withdrawn, and stays in the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import partial
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Engine

from compliance.errors import InsufficientData
from compliance.jobs import facts, stack
from compliance.jobs.gathering import At, Gathered, gathering
from compliance.jobs.weighing import Weighed
from compliance.judging.averaging import DEFAULT, Average, average, day_values, written
from compliance.judging.combined import weighted_mean
from compliance.judging.loading import month_mass
from compliance.judging.spans import (
    DAY,
    Judged,
    Span,
    ends,
    is_total,
    is_weighed,
    judge_span,
    needs_days,
    policy_words,
    spans,
    whole_month,
)
from compliance.model.findings import Exceedance, Kind
from compliance.model.periods import day_of, midnight
from compliance.model.samples import TakenBy
from compliance.model.units import Unit, dimension, linear
from compliance.records import findings, samples, sites
from compliance.records.samples import MeasuredDay, Owner, StoredResult
from compliance.rules.schema import LimitRule, LimitVersion

KINDS = (Kind.AVERAGE.value, Kind.MASS.value)
LOOK_BACK = timedelta(days=70)
"""Days whose averages are looked at again each time: their water may come later than they."""
REACH = timedelta(days=400)
"""How far before a touched day results are read, for runs of monitoring days."""
GONE = "late, corrected or excluded results, or a limit that is another now"


def watch(engine: Engine, *, now: datetime, release: str) -> facts.Judged:
    """Judge what was measured lately: spans that have ended, water that came late. Runs again."""
    with engine.begin() as db:
        since = (now - LOOK_BACK).date()
        return judge(db, samples.measured_days(db, since=since), now=now, release=release)


def judge_user(
    db: Connection, industrial_user_id: int, *, now: datetime, release: str
) -> facts.Judged:
    """Judge every average and mass of a user anew: its papers have changed."""
    every = samples.measured_days(db, since=date.min, industrial_user_id=industrial_user_id)
    return judge(db, every, now=now, release=release)


def judge(
    db: Connection, measured: Iterable[MeasuredDay], *, now: datetime, release: str
) -> facts.Judged:
    """Judge the averages and masses that touched days bear on, and store what is found.

    A span is judged when it has ended: until then further results may lower its mean. Days are
    those on which something was measured, or on which a result counts no more.
    """
    sieve = facts.Sieve(db, now=now, release=release)
    cities = {one.id: one for one in sites.cities(db)}
    total = facts.Judged()
    for _, group in groupby(sorted(measured, key=_place), key=_place):
        same = list(group)
        owner = samples.owner(db, same[0].industrial_user_id)
        rules = _rules(db, owner, same[0])
        if rules or findings.of_many(db, same[0].point_id, same[0].parameter, kinds=KINDS):
            total += _judge_at(sieve, _at(db, owner, same, cities[owner.city_id]), rules)
    return total


def again(
    db: Connection, fact: Exceedance, *, industrial_user_id: int, point: str
) -> Exceedance | None:
    """The fact of an average or a mass as it is found now; None where none of its id is found.

    Nothing is written.
    """
    owner = samples.owner(db, industrial_user_id)
    zone = ZoneInfo(owner.zone)
    first, end = day_of(fact.starts_at, zone), day_of(fact.ends_at, zone)
    same = [
        one
        for one in samples.measured_days(db, since=first, industrial_user_id=owner.id)
        if (one.point, one.parameter) == (point, fact.parameter) and one.day < end
    ]
    if not same:
        return None
    city = next(one for one in sites.cities(db) if one.id == owner.city_id)
    at = _at(db, owner, same, city)
    found = (
        judged.exceedance
        for rule in _rules(db, owner, same[0])
        for version in rule.versions
        if (rule.id, version.effective) == (fact.rule_id, fact.effective)
        for _, judged, _ in _under(db, at, rule, version, fact.ends_at)
    )
    return next((one for one in found if one is not None and one.id == fact.id), None)


def _place(one: MeasuredDay) -> tuple[int, int, str, date]:
    return one.industrial_user_id, one.point_id, one.parameter.value, one.day


def _rules(db: Connection, owner: Owner, here: MeasuredDay) -> tuple[LimitRule, ...]:
    bound = stack.of(db).on_parameter(owner.rulebooks, owner.id, here.point, here.parameter)
    return tuple(rule for rule in bound if needs_days(rule))


def _at(db: Connection, owner: Owner, same: Sequence[MeasuredDay], city: sites.City) -> At:
    touched = frozenset(one.day for one in same)
    first = min(touched)
    since = first - REACH if first > date.min + REACH else date.min
    return At(
        owner=owner,
        here=same[0],
        touched=touched,
        stored=samples.at_point(db, same[0].point_id, same[0].parameter, since=since),
        city=city,
    )


def _judge_at(sieve: facts.Sieve, at: At, rules: Sequence[LimitRule]) -> facts.Judged:
    """Judge one parameter at one point under all its limits that take days together."""
    total, still = facts.Judged(), set[str]()
    looked: set[tuple[str, datetime]] = set()
    for rule in rules:
        for version in rule.versions:
            for span, judged, gathered in _under(sieve.db, at, rule, version, sieve.now):
                looked.add((rule.id, midnight(span.period.end, at.zone)))
                if judged.exceedance is None:
                    continue
                still.add(judged.exceedance.id)
                where = facts.Where(
                    point_id=at.here.point_id,
                    point=at.here.point,
                    industrial_user_id=at.owner.id,
                    city_id=at.owner.city_id,
                )
                gather = partial(_evidence, sieve, at, rule, span, judged, gathered)
                total += facts.store(sieve, judged.exceedance, where, gather)
        looked |= {(rule.id, midnight(day, at.zone)) for day in ends(rule, (), at.touched)}
    _withdraw(sieve, at, still, looked, known={rule.id for rule in rules})
    return total


def _withdraw(
    sieve: facts.Sieve,
    at: At,
    still: set[str],
    looked: set[tuple[str, datetime]],
    *,
    known: set[str],
) -> None:
    standing = findings.of_many(sieve.db, at.here.point_id, at.here.parameter, kinds=KINDS)
    gone = [
        fact_id
        for fact_id, (rule_id, ends_at) in standing.items()
        if fact_id not in still and ((rule_id, ends_at) in looked or rule_id not in known)
    ]
    findings.withdraw(sieve.db, sorted(gone), why=GONE, at=sieve.now)


def _under(
    db: Connection, at: At, rule: LimitRule, version: LimitVersion, now: datetime
) -> Iterator[tuple[Span, Judged, Gathered]]:
    """The spans of one version of a limit that have ended, as judged."""
    gathered = gathering(db, at, rule, version)
    unit = Unit.LB_DAY if is_weighed(rule) else rule.unit
    try:
        values = day_values(rule.parameter, gathered.found, unit, DEFAULT)
    except InsufficientData:
        return
    for span in spans(rule, values, at.touched):
        if midnight(span.period.end, at.zone) > now:
            continue
        of = _total(rule, span, gathered) if is_total(rule) else _mean(rule, span, unit)
        if of is not None:
            judged = judge_span(
                rule, version, of, span=span, point=at.here.point,
                authority=gathered.authority, zone=at.zone,
            )  # fmt: skip
            yield span, judged, gathered


def _mean(rule: LimitRule, span: Span, unit: Unit) -> Average:
    found = average(rule.parameter, span.days, unit, over=span.called)
    if unit is rule.unit:
        return found
    times = linear(unit, rule.unit)[0] if dimension(unit) == dimension(rule.unit) else Fraction(1)
    return replace(
        found,
        unit=rule.unit,
        value=found.value * times,
        most=found.most * times,
        sees=None if found.sees is None else found.sees * times,
    )


def _total(rule: LimitRule, span: Span, gathered: Gathered) -> Average | None:
    """All pounds of a month: its flow-weighted strength times its water; None without all of it."""
    water = gathered.water
    if water is None:
        return None
    volumes = whole_month(span.period, dict(water.by_day))
    if any(gallons is None for _, gallons in volumes):
        return None
    inside = [one for one in gathered.weighed if span.period.holds(one.found.day)]
    if not sum(one.gallons for one in inside):
        return None
    counted, most = (
        weighted_mean([(_mg_l(one, in_full=full), one.gallons) for one in inside])
        for full in (False, True)
    )
    found = month_mass(counted, volumes, pound_factor=water.pound_factor)
    mean = average(rule.parameter, span.days, Unit.LB_DAY, over=span.called)
    return replace(
        mean,
        unit=rule.unit,
        value=found.value,
        most=month_mass(most, volumes, pound_factor=water.pound_factor).value,
        sees=None,
        working=(*found.working, *mean.working[2:]),
    )


def _mg_l(one: Weighed, *, in_full: bool) -> Fraction:
    """A strength as it enters a month's: what lies below detection as zero, until adopted."""
    result = one.stored.result
    if result.is_non_detect and not in_full:
        return Fraction(0)
    return Fraction(result.value) * linear(result.unit, Unit.MG_L)[0]


# -- evidence


def _evidence(
    sieve: facts.Sieve, at: At, rule: LimitRule, span: Span, judged: Judged, gathered: Gathered
) -> dict[str, Any]:
    """What a stranger needs to reach the same average again."""
    fact = judged.exceedance
    last = day_of(sieve.now, at.zone) if fact is None else span.period.end - DAY
    bound = stack.of(sieve.db).on_parameter(
        at.owner.rulebooks, at.owner.id, at.here.point, at.here.parameter
    )
    return {
        "limit": rule.id,
        "effective": fact.effective.isoformat() if fact and fact.effective else None,
        "citation": rule.citation,
        "says": rule.says,
        "basis": rule.basis.value,
        "point": at.here.point,
        "days": {"from": span.period.start.isoformat(), "to": last.isoformat()},
        "results": [_told(one, gathered) for one in gathered.used if _inside(span, one)],
        "left_out": [
            {"sample": one.sample, "result": one.result, "reason": one.reason}
            for one in gathered.left_out
        ],
        "policy": policy_words(DEFAULT),
        "working": list(fact.working) if fact else [judged.against.reason],
        "stack": stack.considered(bound, last),
        "release": sieve.release,
    }


def _inside(span: Span, one: StoredResult) -> bool:
    return one.day is not None and span.period.holds(one.day)


def _told(one: StoredResult, gathered: Gathered) -> dict[str, Any]:
    result = one.result
    said: dict[str, Any] = {
        "result_id": one.id,
        "sample": one.sample.label,
        "day": one.day.isoformat() if one.day else None,
        "result": f"{result.qualifier}{result.written} {result.unit.value}",
        "sample_type": one.sample.sample_type.value if one.sample.sample_type else None,
        "taken_by": (one.sample.taken_by or TakenBy.INDUSTRIAL_USER).value,
        "laboratory": one.sample.laboratory,
        "method": result.method,
        "mdl": f"{result.mdl:f}" if result.mdl is not None else None,
    }
    for each in gathered.weighed:
        if each.stored.id == one.id:
            said |= {
                "gallons": f"{each.gallons:f}",
                "volume": each.how,
                "lb_day": written(Fraction(each.found.value)),
                "working": list(each.working),
            }
    return said
