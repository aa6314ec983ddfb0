"""What a determination or a correction would do to the findings of a channel, before it is made."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import numpy as np
from sqlalchemy import Connection

from compliance.errors import NotFound
from compliance.jobs import refold
from compliance.jobs.facts import Sieve
from compliance.jobs.refold import Lay, Task
from compliance.jobs.stack import rules_of
from compliance.judging import judge
from compliance.judging.refold import HOUR_US
from compliance.model.findings import Exceedance, Kind
from compliance.model.folds import Kept
from compliance.model.periods import from_us
from compliance.model.readings import Series
from compliance.model.sites import Channel
from compliance.records import described, dirt, findings, readings, sites, states
from compliance.records.described import Described
from compliance.records.findings import Change
from compliance.records.sites import Place


class Becomes(StrEnum):
    """What becomes of a finding."""

    WITHDRAWN = "withdrawn"
    CHANGED = "changed"
    FOUND = "found"
    LOOKED_AT_AGAIN = "looked at again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """A finding that something would touch: as it stands, and as it would be.

    was: None for a new one; will_be: None for one that would be withdrawn.
    """

    becomes: Becomes
    was: Described | None
    will_be: Described | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What would change. readings: in the span; judged_before, judged_after: of them.

    said: how many words of people stand over those readings already, so that what was seen before
    one more was written is told from what is seen after.
    """

    readings: int
    judged_before: int
    judged_after: int
    touched: tuple[Touched, ...]
    said: int = 0

    @property
    def seal(self) -> str:
        """A digest of it all: who has seen it has seen what is done."""
        said = [self.readings, self.judged_before, self.judged_after, self.said]
        told = [(one.becomes.value, one.was, one.will_be) for one in self.touched]
        return hashlib.sha256(repr((said, told)).encode()).hexdigest()

    @property
    def removed(self) -> tuple[Touched, ...]:
        """The findings that would no longer be found."""
        return tuple(one for one in self.touched if one.becomes is Becomes.WITHDRAWN)


def found(db: Connection, channel_id: int) -> tuple[Channel, Place]:
    """A channel and where it stands. Raises: NotFound."""
    channel = next((one for one in sites.channels(db) if one.id == channel_id), None)
    place = sites.places(db).get(channel_id)
    if channel is None or place is None:
        raise NotFound(f"There is no channel {channel_id} here.")
    return channel, place


def judged(series: Series, place: Place) -> int:
    """How many of some readings are judged."""
    return len(judge.usable(series, place.parameter))


def foresee(
    db: Connection,
    channel_id: int,
    *,
    since: datetime,
    until: datetime,
    lay: Lay,
    now: datetime,
) -> Foreseen:
    """What laying something over the readings of ``[since, until)`` would do; nothing is written.

    The same fold as ever over the same readings. Raises: NotFound.
    """
    channel, place = found(db, channel_id)
    series = readings.usable(db, [channel_id], since=since, until=until)[channel_id]
    counts = {"readings": len(series), "judged_before": judged(series, place)}
    if not len(series):
        return Foreseen(**counts, judged_after=0, touched=())
    mark = dirt.Mark(
        since=from_us(series.at_us[0]),
        until=from_us(series.at_us[-1]) + timedelta(microseconds=1),
        hours=tuple(from_us(at) for at in np.unique(series.at_us // HOUR_US * HOUR_US)),
    )
    sieve = Sieve(db, now=now, release="")
    kept = states.last(db, [channel_id])
    touched: list[Touched] = []
    for rule in rules_of(db, place):
        task = Task(
            channel=channel,
            place=place,
            under=refold.under(rule, place),
            mark=mark,
            kept=kept.get((rule.id, channel_id), Kept()),
        )
        touched += _touched(db, refold.foresee(sieve, task, lay))
    touched += _again(db, channel_id, since, until)
    return Foreseen(**counts, judged_after=judged(lay(series), place), touched=tuple(touched))


def _touched(db: Connection, done: refold.Foreseen) -> list[Touched]:
    changes = {fact.id: findings.change(db, fact) for fact in done.facts}
    known = described.described(db, [*done.gone, *changes])
    gone = [Touched(becomes=Becomes.WITHDRAWN, was=known[one], will_be=None) for one in done.gone]
    others = [
        Touched(
            becomes=Becomes.FOUND if fact.id not in known else Becomes.CHANGED,
            was=known.get(fact.id),
            will_be=_described(fact),
        )
        for fact in done.facts
        if changes[fact.id] is not Change.SAME
    ]
    return [*gone, *others]


def _again(db: Connection, channel_id: int, since: datetime, until: datetime) -> list[Touched]:
    """Screening for slugs looks at a day around: what it found there is looked at again."""
    ids = described.touching(
        db, channel_id, since=since, until=until, kind=Kind.POSSIBLE_SLUG.value
    )
    known = described.described(db, ids)
    return [
        Touched(becomes=Becomes.LOOKED_AT_AGAIN, was=known[one], will_be=known[one]) for one in ids
    ]


def _described(fact: Exceedance) -> Described:
    said: dict[str, Any] = {
        name: value.value if isinstance(value, StrEnum) else value
        for name, value in asdict(fact).items()
        if name in Described.__slots__
    }
    return Described(**said, detection=None, state=None)
