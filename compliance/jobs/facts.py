"""Excursions to stored facts: with their evidence, their detection, and the events that tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from sqlalchemy import Connection

from compliance.jobs import proof, stack
from compliance.jobs.approved import approval_of
from compliance.jobs.because import LATE, because
from compliance.jobs.stack import Stack
from compliance.model.findings import Authority, Exceedance, Kind
from compliance.model.periods import Window
from compliance.model.sites import Channel
from compliance.model.units import Quantity, Unit, shown
from compliance.records import findings, outbox, sites
from compliance.records.findings import Change

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


SCREENED = "its readings were screened anew"
UNCHANGED = Judged()
"""What judging did where a fact is stored as it is."""


@dataclass(frozen=True, slots=True)
class Sieve:
    """Where facts are written: the transaction, its instant, and the release that judges.

    bound: what binds now; None where it has yet to be asked.
    """

    db: Connection
    now: datetime
    release: str
    bound: Stack | None = None

    @property
    def stack(self) -> Stack:
        """What binds now."""
        return self.bound or stack.of(self.db)


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What a fact is about: a point, its user and city, and the channel or the result."""

    point_id: int
    point: str
    industrial_user_id: int
    city_id: int
    channel_id: int | None = None
    result_id: int | None = None


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
        proof.of_channel,
        sieve.db,
        fact,
        channel=channel,
        place=place,
        release=sieve.release,
        bound=sieve.stack,
    )
    judged = store(sieve, fact, where, gather)
    if judged is UNCHANGED and fact.settled:
        laid = proof.laid_over(sieve.db, fact, channel=channel, zone=place.zone)
        _amend(sieve, fact, laid, where)
    return judged


def store(
    sieve: Sieve, fact: Exceedance, where: Where, gather: Callable[[], dict[str, Any]]
) -> Judged:
    """Store a fact, whatever it was found in: readings or a result; tell of it; raise a detection.

    gather: the evidence, asked for only when the fact is new or has changed its end. Gives
    ``UNCHANGED`` where the fact is already stored as it is.
    """
    change = findings.change(sieve.db, fact)
    if change is Change.SAME:
        return UNCHANGED
    findings.put(
        sieve.db,
        fact,
        point_id=where.point_id,
        channel_id=where.channel_id,
        result_id=where.result_id,
        evidence=None if change is Change.EXTENDED else gather(),
        release=sieve.release,
        why=_why(sieve, fact, where) if change is Change.REVISED else "",
    )
    for kind in _told(fact, change):
        outbox.put(sieve.db, kind, event(fact, point=where.point), city_id=where.city_id)
    detected = fact.authority is not Authority.PROGRAM and _detect(sieve, fact, where)
    return Judged(new_facts=int(change is Change.NEW), new_detections=int(detected))


def _why(sieve: Sieve, fact: Exceedance, where: Where) -> str:
    """Why a settled fact is another now."""
    stood = findings.stood(sieve.db, fact.id)
    if where.channel_id is None or stood is None:
        return ""
    why = because(sieve.db, where.channel_id, stood)
    return SCREENED if why == LATE and fact.review != stood.review else why


def _amend(sieve: Sieve, fact: Exceedance, laid: Mapping[str, Any], where: Where) -> None:
    """Bring up to date what the evidence of an unchanged fact says was laid over its readings."""
    stored = findings.kept(sieve.db, fact.id)
    if stored is None or all(stored.evidence.get(k, v and None) == v for k, v in laid.items()):
        return
    why = _why(sieve, fact, where)
    said = SCREENED if why == LATE else why
    findings.amend_evidence(sieve.db, stored, laid, why=said, differs=False)


def _told(fact: Exceedance, change: Change) -> tuple[str, ...]:
    """The events of a change; what is found when it is already over has begun and ended."""
    if change not in EVENT:
        return ()
    if fact.kind is Kind.POSSIBLE_SLUG:
        return ("slug.suspected",)
    is_over = change is Change.NEW and fact.settled and fact.ends_at > fact.starts_at
    return (EVENT[change], EVENT[Change.ENDED]) if is_over else (EVENT[change],)


def _detect(sieve: Sieve, fact: Exceedance, where: Where) -> bool:
    """Raise the detection of an enforceable fact, once for one event; whether it is new."""
    detection_id = findings.detect(sieve.db, fact.id, where.industrial_user_id)
    if detection_id is None:
        return False
    data = event(fact, point=where.point) | {
        "detection": detection_id,
        "link": f"/detections/{detection_id}",
        "approved": _approved(sieve, fact, where),
    }
    outbox.put(sieve.db, "violation.detected", data, city_id=where.city_id)
    return True


def _approved(sieve: Sieve, fact: Exceedance, where: Where) -> bool:
    """Whether a Director's approval covers a fact: then it is no breach of its rule."""
    if (where.industrial_user_id, fact.rule_id) not in sieve.stack.approved:
        return False
    found = approval_of(
        sieve.db,
        user_id=where.industrial_user_id,
        rule_id=fact.rule_id,
        side=fact.side.value,
        worst=fact.worst,
        starts_at=fact.starts_at,
        ends_at=fact.ends_at,
    )
    return found is not None


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


def withdraw_all_but(
    sieve: Sieve, still: set[str], *, rule_id: str, channel: Channel, span: Window
) -> None:
    """Withdraw what begins in a span and is not found any more.

    It rested on readings that late or corrected ones have since bettered, or that lie in a window
    which somebody declared, or that a person determined not to count.
    """
    standing = findings.standing(
        sieve.db, rule_id=rule_id, channel_id=channel.id, since=span.start, until=span.end
    )
    for fact_id in sorted(standing.keys() - still):
        why = because(sieve.db, channel.id, standing[fact_id])
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
