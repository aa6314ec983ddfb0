"""The evaluation of what is new: dirty channels folded through the limits of their city.

One transaction takes dirty marks, reads, decides and writes: facts, detections, events. A batch in
order folds from the last state; a late or corrected reading folds its channel anew by the very same
step, and facts no longer found are withdrawn in the open. Live, late and re-run data have one path.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine

from compliance.errors import ComplianceError
from compliance.jobs.facts import Found, Judged, Sieve, withdraw, write
from compliance.judging import judge
from compliance.judging.excursions import FoldState, step
from compliance.judging.slugs import SCREENED
from compliance.model.findings import Kind
from compliance.model.periods import Window, to_us
from compliance.model.readings import Series
from compliance.model.sites import Channel
from compliance.records import dirt, findings, health, readings, samplers, sites
from compliance.rules import book
from compliance.rules.schema import Judge, LimitRule, SampleSource

REJOIN_US = 300_000_000
"""Two excursions of one side nearer than this are one event (``contracts.md``, ``--rejoin``)."""
PATIENCE = timedelta(seconds=10)
"""How late a reading may come before an open event of a silent channel is taken to have ended; one
that comes later still folds its channel anew."""


CANNOT_JUDGE = (ComplianceError, ArithmeticError, ValueError, LookupError)
"""What one channel's data, rules or papers can raise; a broken database is another matter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One channel to fold under one limit, from the state at ``since`` up to ``until``."""

    channel: Channel
    place: sites.Place
    rule: LimitRule
    state: FoldState
    effective: str  # the version that the state belongs to; empty: none yet
    since: datetime
    until: datetime
    late: bool


def evaluate(engine: Engine, *, now: datetime, release: str, again: bool = False) -> Judged:
    """Take what is dirty and judge it. Safe to run again, and by many processes at once.

    A channel that cannot be judged is noted as a fault, keeps its mark, and never stops the others.
    again: take the marks of channels that could not be judged before.
    """
    with engine.begin() as db:
        marks = dirt.take(db, why=dirt.FAILED if again else None)
        touched = sorted({*marks, *dirt.unsettled(db, kind=Kind.EXCEEDANCE)})
        if not touched:
            return Judged()
        dirt.lock(db, touched)
        channels = {channel.id: channel for channel in sites.channels(db)}
        places = sites.places(db)
        for_slugs = {c: mark for c, mark in marks.items() if places[c].parameter in SCREENED}
        dirt.put(db, for_slugs, why=dirt.SLUG)
        of_samplers = samplers.channels(db) & marks.keys()
        dirt.put(db, {c: marks[c] for c in of_samplers}, why=dirt.SAMPLER)
        judged = Judged()
        sieve = Sieve(db, now=now, release=release)
        for channel_id in touched:
            mark = marks.get(channel_id)
            try:
                with db.begin_nested():
                    judged += _judge(sieve, channels[channel_id], places[channel_id], mark=mark)
            except CANNOT_JUDGE as error:
                _set_aside(db, places[channel_id], mark, error)
    return judged


def _judge(sieve: Sieve, channel: Channel, place: sites.Place, *, mark: dirt.Mark | None) -> Judged:
    """Fold one channel under every limit that binds it, and keep the states."""
    judged = Judged()
    for rule in limits_of(place):
        kept = findings.states(sieve.db, rule.id, [channel.id]).get(channel.id)
        piece = _piece(
            sieve.db, rule, channel=channel, place=place, kept=kept, mark=mark, now=sieve.now
        )
        if piece is not None:
            state, done = _fold(sieve.db, piece, sieve)
            findings.keep_states(sieve.db, rule.id, {channel.id: (piece.until, state)})
            judged += done
    return judged


def _set_aside(
    db: Connection, place: sites.Place, mark: dirt.Mark | None, error: Exception
) -> None:
    what = f"{place.point} {place.parameter.value} cannot be judged: {error}"
    health.fault_once(db, "work", what[:500], within=timedelta(hours=1))
    if mark is not None:
        dirt.put(db, {place.channel_id: mark}, why=dirt.FAILED)


def limits_of(place: sites.Place) -> tuple[LimitRule, ...]:
    """The limits that the program judges on a channel's readings, of all books that bind there."""
    return tuple(
        rule
        for name in place.rulebooks
        for rule in book.book(name).limits(place.parameter)
        if rule.judged_by is Judge.PROGRAM and rule.authority_on(SampleSource.METER) is not None
    )


def _piece(
    db: Connection,
    rule: LimitRule,
    *,
    channel: Channel,
    place: sites.Place,
    kept: dict[str, Any] | None,
    mark: dirt.Mark | None,
    now: datetime,
) -> Piece | None:
    """What to fold: from the last state, or the whole channel when something came late."""
    folded_to: datetime | None = kept["folded_to"] if kept else None
    until = mark.until if mark else now - PATIENCE
    late = bool(mark and folded_to and mark.since < folded_to)
    begun = kept is not None and not late
    since = folded_to if begun else dirt.first_reading(db, channel.id)
    if folded_to is not None:
        until = max(until, folded_to)
    if since is None or since >= until:
        return None
    return Piece(
        channel=channel,
        place=place,
        rule=rule,
        state=FoldState.from_dict(kept["state"]) if begun and kept else FoldState(),
        effective=kept["state"].get("effective", "") if begun and kept else "",
        since=since,
        until=until,
        late=late,
    )


def _fold(db: Connection, piece: Piece, sieve: Sieve) -> tuple[dict[str, Any], Judged]:
    """Fold a piece, cut where the limit's version changes, and write what changed."""
    place, rule = piece.place, piece.rule
    stored = readings.usable(db, [piece.channel.id], since=piece.since, until=piece.until)
    series = judge.usable(stored[piece.channel.id], place.parameter)
    zone = book.find(rule.id)[0].zone
    state, effective = piece.state, piece.effective
    found: list[Found] = []
    until_us = to_us(piece.until)
    for cut in judge.cuts(rule, zone, to_us(piece.since), until_us - 1):
        if cut.version is None:
            continue
        if effective not in ("", str(cut.version.effective)):
            state = FoldState()
        effective = str(cut.version.effective)
        part = judge.convert(
            _between(series, cut.start_us, cut.end_us),
            place.unit,
            rule.unit,
            near=judge.edges(cut.version),
        )
        at_least, at_most = judge.bounds(cut.version)
        state, excursions = step(
            state,
            part,
            at_least=at_least,
            at_most=at_most,
            rejoin_us=REJOIN_US,
            until_us=min(cut.end_us, until_us),
        )
        found.append(Found(rule=rule, version=cut.version, excursions=excursions))
    judged = write(sieve, found, channel=piece.channel, place=place)
    if piece.late:
        span = Window(start=piece.since, end=piece.until)
        withdraw(sieve, found, rule=rule, channel=piece.channel, span=span)
    return {**state.to_dict(), "effective": effective}, replace(judged, readings=len(series))


def _between(series: Series, start_us: int, end_us: int) -> Series:
    return series.where((series.at_us >= start_us) & (series.at_us < end_us))
