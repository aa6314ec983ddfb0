"""One channel folded under one limit, from the database and back into it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from compliance.jobs.facts import Judged, Sieve, text_in, withdraw_all_but, write_fact
from compliance.judging import judge
from compliance.judging.refold import Dirty, Key, Refolded, Under, hour_of, refold
from compliance.model.findings import Exceedance, Excursion
from compliance.model.folds import Kept
from compliance.model.periods import Window, from_us, to_us
from compliance.model.readings import Series
from compliance.model.sites import Channel
from compliance.records import dirt, readings, sites, states
from compliance.rules.schema import LimitVersion, SampleSource

PATIENCE = timedelta(seconds=10)
"""How late a reading may come before an open event of a silent channel is taken to have ended; one
that comes later still makes its hour dirty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A channel to fold under one limit. mark: its news, None where only time has passed."""

    channel: Channel
    place: sites.Place
    under: Under
    mark: dirt.Mark | None
    kept: Kept


def fold(sieve: Sieve, task: Task) -> Judged:
    """Fold what is dirty, write what changed, withdraw what is no longer found, keep the states."""
    kept, until_us = _completed(sieve, task), _until(sieve, task)
    dirty = _dirty(task, until_us)
    if dirty.since_us >= until_us:
        return Judged()
    source = _Source(sieve, task)
    done = refold(task.under, kept, dirty, read=source.read, until_us=until_us)
    judged = Judged(readings=source.seen)
    for fact in _facts(task, done.changed):
        judged += write_fact(sieve, fact, channel=task.channel, place=task.place)
    _withdraw(sieve, task, done)
    rule, channel = task.under.rule.id, task.channel.id
    states.keep_hours(sieve.db, rule, channel, spans=done.spans, states=done.hours)
    if done.kept is not None:
        states.keep_last(sieve.db, rule, channel, done.kept)
    return judged


def _completed(sieve: Sieve, task: Task) -> Kept:
    """What was kept, with the states at full hours where the fold goes back behind the last."""
    kept, mark = task.kept, task.mark
    if mark is None or kept.folded_us is None or to_us(mark.since) >= kept.folded_us:
        return kept
    since = from_us(hour_of(to_us(mark.since)))
    hours = states.hours(sieve.db, task.under.rule.id, task.channel.id, since=since)
    return Kept(folded_us=kept.folded_us, state=kept.state, hours=hours)


def _until(sieve: Sieve, task: Task) -> int:
    """Up to where the channel's readings are known: its newest one, or patience has run out."""
    until = max(task.kept.folded_us or 0, to_us(sieve.now - PATIENCE))
    if task.mark is None:
        return until
    last = dirt.last_readings(sieve.db, {task.channel.id: task.mark})
    newest = max([task.mark.until, *(at + timedelta(microseconds=1) for at in last.values())])
    return max(to_us(newest), until)


def _dirty(task: Task, until_us: int) -> Dirty:
    if task.mark is None:
        return Dirty(since_us=task.kept.folded_us or until_us, hours=())
    return Dirty(
        since_us=to_us(task.mark.since), hours=tuple(to_us(hour) for hour in task.mark.hours)
    )


class _Source:
    """The channel's usable readings, and how many were read."""

    def __init__(self, sieve: Sieve, task: Task) -> None:
        self._db, self._task, self.seen = sieve.db, task, 0

    def read(self, since_us: int, until_us: int) -> Series:
        channel = self._task.channel.id
        found = readings.usable(
            self._db, [channel], since=from_us(since_us), until=from_us(until_us)
        )
        usable = judge.usable(found[channel], self._task.place.parameter)
        self.seen += len(usable)
        return usable


def _facts(task: Task, found: dict[Key, tuple[LimitVersion, Excursion]]) -> list[Exceedance]:
    rule = task.under.rule
    return [
        fact
        for version, excursion in found.values()
        for fact in judge.facts(
            rule,
            version,
            (excursion,),
            channel_key=str(task.channel.id),
            text=partial(text_in, task.channel, rule.unit),
            authority=rule.authority_on(SampleSource.METER),
        )
    ]


def _withdraw(sieve: Sieve, task: Task, done: Refolded) -> None:
    """Withdraw what begins in a folded span and is no longer found there."""
    still = {fact.id for fact in _facts(task, done.still)}
    for since, until in done.spans:
        span = Window(start=from_us(since), end=from_us(until))
        withdraw_all_but(sieve, still, rule_id=task.under.rule.id, channel=task.channel, span=span)
