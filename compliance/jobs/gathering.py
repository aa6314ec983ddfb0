"""Which stored results an average or a mass takes together, and why others are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from compliance.errors import InsufficientData
from compliance.jobs.shares import factor
from compliance.jobs.weighing import Water, Weighed, meters_of, parts_of_days, weigh
from compliance.judging.averaging import Found
from compliance.judging.spans import DAY, is_weighed
from compliance.model.findings import Authority
from compliance.model.units import dimension
from compliance.records import days, sites
from compliance.records.samples import MeasuredDay, Owner, StoredResult
from compliance.rules.schema import LimitRule, LimitVersion, SampleSource


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A result that did not enter an average, and why."""

    sample: str
    result: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """A parameter at a point of a user, with the days that were touched and its results."""

    owner: Owner
    here: MeasuredDay
    touched: frozenset[date]
    stored: tuple[StoredResult, ...]
    city: sites.City

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.owner.zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """Results ready to be averaged under one limit, and those that are not."""

    found: tuple[Found, ...]
    weighed: tuple[Weighed, ...]
    used: tuple[StoredResult, ...]
    left_out: tuple[LeftOut, ...]
    authority: Authority
    water: Water | None


def gathering(db: Connection, at: At, rule: LimitRule, version: LimitVersion) -> Gathered:
    """The results that a version of a limit takes together, and why others are left out."""
    used: list[StoredResult] = []
    left: list[LeftOut] = []
    authorities: set[Authority] = set()
    for one in at.stored:
        if not _holds(version, one):
            continue
        kind = one.sample.sample_type
        authority = None if kind is None else rule.authority_on(SampleSource(kind.value))
        if (why := _unfit(rule, one, authority)) or authority is None:
            left.append(_left(one, why))
            continue
        authorities.add(authority)
        used.append(one)
    screens = Authority.PROGRAM in authorities
    authority = Authority.PROGRAM if screens else rule.authority
    if not is_weighed(rule):
        found = tuple(_found(one) for one in used)
        return Gathered(
            found=found, weighed=(), used=tuple(used), left_out=tuple(left),
            authority=authority, water=None,
        )  # fmt: skip
    return _weighed(db, at, used, left, authority)


def _holds(version: LimitVersion, one: StoredResult) -> bool:
    day = one.day
    return day is not None and (version.effective or date.min) <= day < (version.ended or date.max)


def _unfit(rule: LimitRule, one: StoredResult, authority: Authority | None) -> str:
    kind = one.sample.sample_type
    if authority is None:
        return f"{'a sample of no stated type' if kind is None else f'a {kind.value} sample'}"
    measures = dimension(one.result.unit)
    wanted = "concentration" if is_weighed(rule) else dimension(rule.unit)
    return "" if measures == wanted else f"{one.result.unit.value} measures {measures}"


def _left(one: StoredResult, why: str) -> LeftOut:
    result = one.result
    return LeftOut(
        sample=str(one.sample.label or one.id),
        result=f"{result.qualifier}{result.written} {result.unit.value}",
        reason=f"not taken into it: {why}",
    )


def _found(one: StoredResult) -> Found:
    assert one.day is not None  # ``_holds`` has seen to it
    return Found(
        day=one.day,
        value=one.result.value,
        qualifier=one.result.qualifier,
        written=one.result.written,
        unit=one.result.unit,
        mdl=one.result.mdl,
        name=str(one.sample.label or one.id),
    )


def _weighed(
    db: Connection,
    at: At,
    used: Sequence[StoredResult],
    left: list[LeftOut],
    authority: Authority,
) -> Gathered:
    water = _water(db, at, used)
    kept: list[Weighed] = []
    for one in used:
        assert one.day is not None
        found = weigh(db, one, one.day, water) if water else "no pound factor is in force"
        if isinstance(found, str):
            left.append(_left(one, found))
        else:
            kept.append(found)
    return Gathered(
        found=parts_of_days(kept),
        weighed=tuple(kept),
        used=tuple(one.stored for one in kept),
        left_out=tuple(left),
        authority=authority,
        water=water,
    )


def _water(db: Connection, at: At, used: Sequence[StoredResult]) -> Water | None:
    known = [one.day for one in used if one.day is not None]
    if not known:
        return None
    first, last = min(known).replace(day=1), max(known) + 31 * DAY
    try:
        pound_factor = factor(at.city, max(known))
    except InsufficientData:
        return None
    total, flow = meters_of(db, at.here.point_id)
    return Water(
        zone=at.zone,
        pound_factor=pound_factor,
        by_day=days.at_point(db, at.here.point_id, since=first, until=last),
        total=total,
        flow=flow,
    )
