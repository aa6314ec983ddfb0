"""Excursions to stored facts: with their evidence, their detection, and the events that tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from sqlalchemy import Connection

from compliance.jobs import proof
from compliance.judging import judge
from compliance.model.findings import Authority, Exceedance, Excursion, Kind
from compliance.model.periods import Window
from compliance.model.sites import Channel
from compliance.model.units import Quantity, Unit, shown
from compliance.model.windows import holding
from compliance.records import findings, outbox, sites, windows
from compliance.records.findings import Change
from compliance.rules.schema import LimitRule, LimitVersion, SampleSource

LATE = "late or corrected readings"
EVENT = {
    Change.NEW: "exceedance.started",
    Change.ENDED: "exceedance.ended",
    Change.REVISED: "exceedance.revised",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What judging did, in numbers."""

    readings: int = 0
    new_facts: int = 0
    new_detections: int = 0

    def __add__(self, other: Judged) -> Judged:
        return Judged(
            readings=self.readings + other.readings,
            new_facts=self.new_facts + other.new_facts,
            new_detections=self.new_detections + other.new_detections,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one version of a limit found on one channel."""

    rule: LimitRule
    version: LimitVersion
    excursions: tuple[Excursion, ...]


@dataclass(frozen=True, slots=True)
class Sieve:
    """Where facts are written: the transaction, its instant, and the release that judges."""

    db: Connection
    now: datetime
    release: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What a fact is about: a point, its user and city, and the channel or the result."""

    point_id: int
    point: str
    industrial_user_id: int
    city_id: int
    channel_id: int | None = None
    result_id: int | None = None


def write(sieve: Sieve, found: Iterable[Found], *, channel: Channel, place: sites.Place) -> Judged:
    """Store what was found on a channel; facts that stand unchanged are left alone."""
    judged = Judged()
    for fact in _facts(found, channel=channel):
        judged += write_fact(sieve, fact, channel=channel, place=place)
    return judged


def _facts(found: Iterable[Found], *, channel: Channel) -> list[Exceedance]:
    facts: list[Exceedance] = []
    for one in found:
        facts += judge.facts(
            one.rule,
            one.version,
            one.excursions,
            channel_key=str(channel.id),
            text=partial(text_in, channel, one.rule.unit),
            authority=one.rule.authority_on(SampleSource.METER),
        )
    return facts


def write_fact(sieve: Sieve, fact: Exceedance, *, channel: Channel, place: sites.Place) -> Judged:
    """Store one fact of a channel, with what follows from it."""
    where = Where(
        point_id=place.point_id,
        point=place.point,
        industrial_user_id=place.industrial_user_id,
        city_id=place.city_id,
        channel_id=channel.id,
    )
    gather = partial(
        proof.of_channel, sieve.db, fact, channel=channel, place=place, release=sieve.release
    )
    return store(sieve, fact, where, gather)


def store(
    sieve: Sieve, fact: Exceedance, where: Where, gather: Callable[[], dict[str, Any]]
) -> Judged:
    """Store a fact, whatever it was found in: readings or a result; tell of it; raise a detection.

    gather: the evidence, asked for only when the fact is new or has changed its end.
    """
    change = findings.change(sieve.db, fact)
    if change is Change.SAME:
        return Judged()
    findings.put(
        sieve.db,
        fact,
        point_id=where.point_id,
        channel_id=where.channel_id,
        result_id=where.result_id,
        evidence=None if change is Change.EXTENDED else gather(),
        release=sieve.release,
    )
    if change in EVENT:
        kind = "slug.suspected" if fact.kind is Kind.POSSIBLE_SLUG else EVENT[change]
        outbox.put(sieve.db, kind, event(fact, point=where.point), city_id=where.city_id)
    detected = fact.authority is not Authority.PROGRAM and _detect(sieve, fact, where)
    return Judged(new_facts=int(change is Change.NEW), new_detections=int(detected))


def _detect(sieve: Sieve, fact: Exceedance, where: Where) -> bool:
    """Raise the detection of an enforceable fact, once for one event; whether it is new."""
    detection_id = findings.detect(sieve.db, fact.id, where.industrial_user_id)
    if detection_id is None:
        return False
    data = event(fact, point=where.point) | {
        "detection": detection_id,
        "link": f"/detections/{detection_id}",
    }
    outbox.put(sieve.db, "violation.detected", data, city_id=where.city_id)
    return True


def event(fact: Exceedance, *, point: str) -> dict[str, object]:
    """A fact as its events tell it: thin, and without anybody's name."""
    return {
        "exceedance": fact.id,
        "rule": fact.rule_id,
        "point": point,
        "parameter": fact.parameter.value,
        "side": fact.side.value,
        "starts_at": fact.starts_at,
        "ends_at": fact.ends_at if fact.settled else None,
        "worst": fact.worst,
        "limit": fact.limit,
        "unit": fact.unit.value,
        "link": f"/points/{point}",
    }


def withdraw(
    sieve: Sieve, found: Iterable[Found], *, rule: LimitRule, channel: Channel, span: Window
) -> None:
    """Withdraw the facts of a span that a fold of all its readings no longer finds."""
    still = {fact.id for fact in _facts(found, channel=channel)}
    withdraw_all_but(sieve, still, rule_id=rule.id, channel=channel, span=span)


def withdraw_all_but(
    sieve: Sieve, still: set[str], *, rule_id: str, channel: Channel, span: Window
) -> None:
    """Withdraw what begins in a span and is not found any more.

    It rested on readings that late or corrected ones have since bettered, or that lie in a window
    which somebody declared.
    """
    standing = findings.standing(
        sieve.db, rule_id=rule_id, channel_id=channel.id, since=span.start, until=span.end
    )
    gone = sorted(standing.keys() - still)
    declared = windows.of(sieve.db, [channel.id], since=span.start, until=span.end)
    for fact_id in gone:
        held = holding(declared, standing[fact_id])
        why = f"its readings lie in declared window {held.number}" if held else LATE
        findings.withdraw(sieve.db, [fact_id], why=why, at=sieve.now)


def text_in(channel: Channel, unit: Unit, _: int, value: float) -> str:
    """``written`` for what asks by instant and value."""
    return written(channel, unit, value)


def written(channel: Channel, unit: Unit, value: float) -> str:
    """A reading in a limit's unit as people read it: by the channel's own resolution."""
    number, step = Decimal(repr(value)), Decimal(channel.resolution)
    if channel.unit is unit:
        return str(number.quantize(step))
    own = Quantity(value=number, unit=unit).to(channel.unit).value.quantize(step)
    return shown(Quantity(value=own, unit=channel.unit).to(unit).value, written=str(own))
