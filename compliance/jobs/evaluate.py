"""The evaluation of what is new: dirty channels folded through the limits of their city.

One transaction takes dirty marks, reads, decides and writes: facts, detections, events. Most
channels have nothing beyond a limit and nothing open: they are looked at together, and write
nothing. The others are folded one by one (``jobs/refold.py``). Live, late, corrected and re-run
data have one path.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from sqlalchemy import Connection, Engine

from compliance.errors import ComplianceError
from compliance.jobs import stack
from compliance.jobs.facts import Judged, Sieve
from compliance.jobs.refold import PATIENCE, Task, fold, under
from compliance.jobs.stack import Stack, limits
from compliance.judging import judge
from compliance.judging.refold import quiet
from compliance.judging.slugs import SCREENED
from compliance.model.folds import Kept
from compliance.model.parameters import Parameter
from compliance.model.periods import to_us
from compliance.model.readings import Series, joined
from compliance.model.sites import Channel
from compliance.records import dirt, health, readings, samplers, sites, states
from compliance.rules.schema import LimitRule

__all__ = ["CANNOT_JUDGE", "PATIENCE", "PIECE", "Which", "evaluate", "limits"]

CANNOT_JUDGE = (ComplianceError, ArithmeticError, ValueError, LookupError)
"""What one channel's data, rules or papers can raise; a broken database is another matter."""

MEASURES = (Parameter.FLOW, Parameter.VOLUME)
DAY = timedelta(days=1)
TOGETHER = 500
"""Channels read by one query."""
NEAR = timedelta(hours=2)
"""Channels whose news lie in so short a time are looked at together."""


PIECE = timedelta(days=7)
"""So much of a channel's past is judged anew in one transaction."""


class Which(Enum):
    """What waits to be judged: what is new, what could not be judged, what a changed rule bears
    on."""

    NEW = "new"
    FAILED = "failed"
    RULED = "ruled"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Touched:
    """A channel with news, or with something open; mark: None without news."""

    channel: Channel
    place: sites.Place
    mark: dirt.Mark | None


def evaluate(engine: Engine, *, now: datetime, release: str, which: Which = Which.NEW) -> Judged:
    """Take what is dirty and judge it. Safe to run again, and by many processes at once.

    A channel that cannot be judged is noted as a fault, keeps its mark, and never stops the others.
    """
    with engine.begin() as db:
        marks = _take(db, which)
        ids = sorted({*marks, *states.open_channels(db)})
        if not ids:
            return Judged()
        dirt.lock(db, ids)
        channels = {channel.id: channel for channel in sites.channels(db)}
        places = sites.places(db)
        if which is not Which.RULED:
            _leave_for_others(db, marks, places)
        touched = [
            _Touched(channel=channels[each], place=places[each], mark=marks.get(each))
            for each in ids
        ]
        sieve = Sieve(db, now=now, release=release, bound=stack.of(db))
        return _judge(sieve, touched)


def _take(db: Connection, which: Which) -> dict[int, dirt.Mark]:
    """Marks to be judged in one transaction: of what a rule has changed so little that readings
    which come meanwhile wait no longer than usual."""
    if which is Which.RULED:
        return dirt.take(db, why=dirt.RULED, most=1, longest=PIECE)
    return dirt.take(db, why=dirt.FAILED if which is Which.FAILED else None)


def _leave_for_others(
    db: Connection, marks: Mapping[int, dirt.Mark], places: Mapping[int, sites.Place]
) -> None:
    """Mark what the slower duties have to look at: slugs, composites, rollups, screening."""
    hour, quarter = timedelta(hours=1), timedelta(minutes=15)
    screened = {c: m.rounded(hour) for c, m in marks.items() if places[c].parameter in SCREENED}
    dirt.put(db, screened, why=dirt.SLUG)
    of_samplers = samplers.channels(db) & marks.keys()
    dirt.put(db, {c: marks[c] for c in of_samplers}, why=dirt.SAMPLER)
    every = {c: m.rounded(quarter) for c, m in marks.items()}
    dirt.put(db, every, why=dirt.ROLLUP)
    dirt.put(db, every, why=dirt.SCREEN)
    measured = {c: m for c, m in marks.items() if places[c].parameter in MEASURES}
    dirt.put(db, {c: m.rounded(DAY) for c, m in measured.items()}, why=dirt.TOTAL)


def _judge(sieve: Sieve, touched: Sequence[_Touched]) -> Judged:
    """Look at the channels in groups; fold those of each group that need it."""
    judged = Judged()
    kept = states.last(sieve.db, [one.channel.id for one in touched])
    bound = sieve.stack
    for group in _groups(touched):
        calm: set[int] = set()
        if group[0].mark is not None:
            try:
                calm, seen = _calm(sieve.db, group, kept, bound)
                judged += Judged(readings=seen)
            except CANNOT_JUDGE:
                calm = set()  # each for itself then shows whose it is
        for one in group:
            if one.channel.id not in calm:
                judged += _fold_one(sieve, one, kept, bound)
    return judged


def _groups(touched: Sequence[_Touched]) -> Iterable[Sequence[_Touched]]:
    """Channels to be looked at together: with news of the same few hours; the others alone."""
    near: dict[datetime, list[_Touched]] = {}
    for one in touched:
        if one.mark is not None and one.mark.until - one.mark.since <= NEAR:
            hour = one.mark.since.replace(minute=0, second=0, microsecond=0)
            near.setdefault(hour, []).append(one)
        else:
            yield [one]
    for group in near.values():
        for start in range(0, len(group), TOGETHER):
            yield group[start : start + TOGETHER]


def _calm(
    db: Connection,
    group: Sequence[_Touched],
    kept: Mapping[tuple[str, int], Kept],
    bound: Stack,
) -> tuple[set[int], int]:
    """The channels of a group on which nothing was open and all that is new complies.

    Gives the number of their readings too. Channels of one place's kind are compared as one array.
    """
    marks = [one.mark for one in group if one.mark is not None]
    found = readings.usable(
        db,
        [one.channel.id for one in group],
        since=min(mark.since for mark in marks),
        until=max(mark.until for mark in marks),
    )
    calm: set[int] = set()
    for alike in _alike(group, bound):
        rules = bound.on_readings(alike[0].place)  # the others' say the same
        asleep = [one for one in alike if _asleep(one, bound.on_readings(one.place), kept)]
        calm |= _all_calm(asleep, rules, alike[0].place.parameter, found)
    return calm, sum(len(found[channel]) for channel in calm)


def _all_calm(
    alike: Sequence[_Touched],
    rules: Sequence[LimitRule],
    parameter: Parameter,
    found: Mapping[int, Series],
) -> set[int]:
    """Which of some channels have nothing beyond; halved until whoever has is alone."""
    if not alike:
        return set()
    series = judge.usable(joined([found[one.channel.id] for one in alike]), parameter)
    if all(quiet(under(rule, alike[0].place), series) for rule in rules):
        return {one.channel.id for one in alike}
    if len(alike) == 1:
        return set()
    middle = len(alike) // 2
    parts = (alike[:middle], alike[middle:])
    return {channel for part in parts for channel in _all_calm(part, rules, parameter, found)}


def _alike(group: Sequence[_Touched], bound: Stack) -> Iterable[list[_Touched]]:
    """Channels by what they are judged by: books, papers, parameter, unit."""
    kinds: dict[Hashable, list[_Touched]] = {}
    for one in group:
        kinds.setdefault(bound.alike(one.place), []).append(one)
    return kinds.values()


def _asleep(
    one: _Touched, rules: Sequence[LimitRule], kept: Mapping[tuple[str, int], Kept]
) -> bool:
    """Whether nothing is open on a channel and its news come after all that was ever found."""
    since = to_us(one.mark.since) if one.mark else 0
    known = (kept.get((rule.id, one.channel.id)) for rule in rules)
    return all(k is None or (k.state.is_idle and since >= (k.folded_us or 0)) for k in known)


def _fold_one(
    sieve: Sieve, one: _Touched, kept: Mapping[tuple[str, int], Kept], bound: Stack
) -> Judged:
    """Fold one channel under every limit that binds it, in a step that can be undone alone."""
    judged = Judged()
    try:
        with sieve.db.begin_nested():
            for rule in bound.on_readings(one.place):
                task = Task(
                    channel=one.channel,
                    place=one.place,
                    under=under(rule, one.place),
                    mark=one.mark,
                    kept=kept.get((rule.id, one.channel.id), Kept()),
                )
                judged += fold(sieve, task)
    except CANNOT_JUDGE as error:
        _set_aside(sieve.db, one, error)
        return Judged()
    return judged


def _set_aside(db: Connection, one: _Touched, error: Exception) -> None:
    what = f"{one.place.point} {one.place.parameter.value} cannot be judged: {error}"
    health.fault_once(db, "work", what[:500], within=timedelta(hours=1))
    if one.mark is not None:
        dirt.put(db, {one.channel.id: one.mark}, why=dirt.FAILED)
