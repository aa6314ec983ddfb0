"""Excursions to stored facts: with their evidence, their detection, and the events that tell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial

from sqlalchemy import Connection

from compliance.jobs import proof
from compliance.judging import judge
from compliance.model.findings import Authority, Exceedance, Excursion, Kind
from compliance.model.periods import Window
from compliance.model.sites import Channel
from compliance.model.units import Quantity, Unit, shown
from compliance.records import findings, outbox, sites
from compliance.records.findings import Change
from compliance.rules.schema import LimitRule, LimitVersion, SampleSource

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
    db = sieve.db
    change = findings.change(db, fact)
    if change is Change.SAME:
        return Judged()
    evidence = None
    if change is not Change.EXTENDED:
        evidence = proof.of_channel(db, fact, channel=channel, place=place, release=sieve.release)
    findings.put(
        db,
        fact,
        point_id=place.point_id,
        channel_id=channel.id,
        evidence=evidence,
        release=sieve.release,
    )
    if change in EVENT:
        kind = "slug.suspected" if fact.kind is Kind.POSSIBLE_SLUG else EVENT[change]
        outbox.put(db, kind, event(fact, point=place.point), city_id=place.city_id)
    detected = 0
    if fact.authority is not Authority.PROGRAM:
        detected = detect(sieve, fact, place.industrial_user_id, place.point, place.city_id)
    return Judged(new_facts=int(change is Change.NEW), new_detections=detected)


def detect(
    sieve: Sieve, fact: Exceedance, industrial_user_id: int, point: str, city_id: int
) -> int:
    """Raise the detection of an enforceable fact, once for one event; 1 when it is new."""
    detection_id = findings.detect(sieve.db, fact.id, industrial_user_id)
    if detection_id is None:
        return 0
    data = {**event(fact, point=point), "detection": detection_id,
            "link": f"/detections/{detection_id}"}  # fmt: skip
    outbox.put(sieve.db, "violation.detected", data, city_id=city_id)
    return 1


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

    It rested on readings that late or corrected ones have since bettered.
    """
    standing = findings.standing(
        sieve.db, rule_id=rule_id, channel_id=channel.id, since=span.start, until=span.end
    )
    gone = sorted(standing.keys() - still)
    findings.withdraw(sieve.db, gone, why="late or corrected readings", at=sieve.now)


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
