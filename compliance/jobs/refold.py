"""One channel folded under one limit, from the database and back into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from compliance.jobs import stack
from compliance.jobs.facts import Judged, Sieve, text_in, withdraw_all_but, write_fact
from compliance.judging import judge
from compliance.judging.refold import Dirty, Key, Refolded, Under, hour_of, refold
from compliance.model.findings import Exceedance, Excursion
from compliance.model.folds import Kept
from compliance.model.periods import Window, from_us, to_us
from compliance.model.readings import Series
from compliance.model.sites import Channel
from compliance.records import destructions, dirt, findings, health, readings, sites, states
from compliance.rules.schema import LimitRule, LimitVersion, SampleSource

Lay = Callable[[Series], Series]
"""Lays something over readings, as if it had been said of them."""
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
    """Fold what is dirty, write what changed, withdraw what is no longer found, keep the states.

    Of a stretch that runs on into readings that were destroyed nothing is written; what is dirty
    before it and after those is folded all the same.
    """
    source = _Source(sieve, task)
    done = _folded(sieve, task, source)
    if done is None:
        return Judged()
    judged = Judged(readings=source.seen)
    reached = _reached(sieve, task, done)
    if reached is not None:
        _tell(sieve, task, reached)
        for rest in _apart(task, reached):
            # What is kept last may have changed by the part before.
            last = states.last(sieve.db, [task.channel.id])
            kept = last.get((task.under.rule.id, task.channel.id), Kept())
            judged += fold(sieve, replace(rest, kept=kept))
        return judged
    for fact in _facts(task, done.changed):
        judged += write_fact(sieve, fact, channel=task.channel, place=task.place)
    _withdraw(sieve, task, done)
    rule, channel = task.under.rule.id, task.channel.id
    states.keep_hours(sieve.db, rule, channel, spans=done.spans, states=done.hours)
    if done.kept is not None:
        states.keep_last(sieve.db, rule, channel, done.kept)
    return judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What a fold would find: facts to be written, and in its spans those that would be gone.

    gone: the ids of facts that stand now and would not be found any more.
    """

    facts: tuple[Exceedance, ...]
    gone: tuple[str, ...]


def foresee(sieve: Sieve, task: Task, lay: Lay) -> Foreseen:
    """What a fold would find if something were laid over the readings; nothing is written."""
    done = _folded(sieve, task, _Source(sieve, task, lay))
    if done is None or _reached(sieve, task, done):
        return Foreseen(facts=(), gone=())
    still = {fact.id for fact in _facts(task, done.still)}
    rule, channel = task.under.rule.id, task.channel.id
    standing = {
        fact
        for since, until in done.spans
        for fact in findings.standing(
            sieve.db,
            rule_id=rule,
            channel_id=channel,
            since=from_us(since),
            until=from_us(until),
        )
    }
    return Foreseen(facts=tuple(_facts(task, done.changed)), gone=tuple(sorted(standing - still)))


def under(rule: LimitRule, place: sites.Place) -> Under:
    """A limit as a channel meets it."""
    return Under(rule=rule, zone=stack.zone_of(rule, place), unit=place.unit)


def _folded(sieve: Sieve, task: Task, source: _Source) -> Refolded | None:
    kept, until_us = _completed(sieve, task), _until(sieve, task)
    dirty = _dirty(task, until_us)
    if dirty.since_us >= until_us:
        return None
    return refold(task.under, kept, dirty, read=source.read, until_us=until_us)


def _reached(sieve: Sieve, task: Task, done: Refolded) -> Window | None:
    """From the start of the first stretch of a fold that runs on into readings that were destroyed
    to the end of those; None where no stretch does."""
    if not done.spans or from_us(done.spans[0][0]) > sieve.now - destructions.YOUNGEST:
        return None
    first, last = (from_us(at) for at in (done.spans[0][0], done.spans[-1][1]))
    removed = destructions.removed(sieve.db, task.channel.id, since=first, until=last)
    for since, until in ((from_us(a), from_us(b)) for a, b in done.spans):
        for one in removed:
            if one.start < until and one.end > since:
                return Window(start=since, end=one.end)
    return None


def _tell(sieve: Sieve, task: Task, reached: Window) -> None:
    what = (
        f"{task.place.point} {task.place.parameter.value} is not judged anew from "
        f"{reached.start.isoformat()} on: what follows from it reaches into a month whose "
        "readings were destroyed; the findings there stay as they are"
    )
    health.fault_once(sieve.db, "work", what, within=timedelta(hours=1))


def _apart(task: Task, reached: Window) -> Iterator[Task]:
    """What is dirty before a stretch that cannot be folded, and what is dirty after it."""
    mark, start = task.mark, from_us(hour_of(to_us(reached.start)))
    if mark is None:
        return
    before = tuple(hour for hour in mark.hours if hour < start)
    after = tuple(hour for hour in mark.hours if hour >= reached.end)
    if before:
        yield replace(task, mark=replace(mark, until=min(mark.until, start), hours=before))
    if after and len(after) < len(mark.hours):
        yield replace(task, mark=replace(mark, since=max(mark.since, after[0]), hours=after))


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

    def __init__(self, sieve: Sieve, task: Task, lay: Lay | None = None) -> None:
        self._db, self._task, self._lay, self.seen = sieve.db, task, lay, 0

    def read(self, since_us: int, until_us: int) -> Series:
        channel = self._task.channel.id
        found = readings.usable(
            self._db, [channel], since=from_us(since_us), until=from_us(until_us)
        )
        laid = self._lay(found[channel]) if self._lay else found[channel]
        usable = judge.usable(laid, self._task.place.parameter)
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
