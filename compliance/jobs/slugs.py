"""Slug screening of what is new: each reading compared with what is usual there."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import Engine

from compliance.errors import NotInForce
from compliance.jobs import usual
from compliance.jobs.evaluate import CANNOT_JUDGE, PATIENCE
from compliance.jobs.facts import Judged, Sieve, text_in, withdraw_all_but, write_fact
from compliance.judging import judge, slugs
from compliance.judging.refold import REJOIN_US
from compliance.model.findings import Kind
from compliance.model.keeping import holds, open_parts
from compliance.model.periods import Window, day_of, from_us, to_us
from compliance.model.readings import Series
from compliance.model.sites import Channel
from compliance.records import destructions, dirt, health, readings, sites
from compliance.rules import book
from compliance.rules.schema import SlugRule, SlugVersion

LOOK_BACK = timedelta(hours=48)
"""Before the first new reading: a day of baseline, and a day for what that baseline left out."""
LOOK_AHEAD = timedelta(hours=24)
"""After the last one: readings up to a day later were compared with it."""


def screen_slugs(
    engine: Engine,
    *,
    now: datetime,
    release: str,
    most: int = dirt.MOST,
    longest: timedelta | None = None,
) -> Judged:
    """Screen the channels with new readings. Safe to run again, and by many processes at once.

    most: so many rows of marks at once, and longest: so much time of each, so that judging limits
    never waits long for this.
    """
    with engine.begin() as db:
        marks = dirt.take(db, why=dirt.SLUG, most=most, longest=longest)
        resting = dirt.unsettled(db, kind=Kind.POSSIBLE_SLUG) - marks.keys()
        marks |= {channel: dirt.Mark(since=now, until=now - PATIENCE) for channel in resting}
        if not marks:
            return Judged()
        dirt.lock(db, list(marks))
        places = sites.places(db)
        sieve = Sieve(db, now=now, release=release)
        judged = Judged()
        for channel in sites.channels(db):
            if mark := marks.get(channel.id):
                judged += _screen_channel(sieve, channel, places[channel.id], mark)
    return judged


def _screen_channel(sieve: Sieve, channel: Channel, place: sites.Place, mark: dirt.Mark) -> Judged:
    """Screen one channel; one that cannot be is noted and stops no other."""
    judged = Judged()
    try:
        with sieve.db.begin_nested():
            for rule in _rules(place):
                judged += _screen(sieve, rule, channel=channel, place=place, mark=mark)
    except CANNOT_JUDGE as error:
        what = f"{place.point} {place.parameter.value} cannot be screened: {error}"
        health.fault_once(sieve.db, "work", what[:500], within=timedelta(hours=1))
    return judged


def _rules(place: sites.Place) -> tuple[SlugRule, ...]:
    return tuple(rule for name in place.rulebooks for rule in book.book(name).of(SlugRule))


def _screen(
    sieve: Sieve, rule: SlugRule, *, channel: Channel, place: sites.Place, mark: dirt.Mark
) -> Judged:
    """Screen one channel around its new readings and write what changed there."""
    version = _version(rule, mark.until)
    if version is None:
        return Judged()
    since = min(mark.since, mark.until) - LOOK_BACK
    until = min(mark.until + LOOK_AHEAD, max(sieve.now, mark.until))
    stored = readings.usable(sieve.db, [channel.id], since=since, until=until)
    series = judge.usable(stored[channel.id], place.parameter)
    screening = slugs.screen(
        series,
        version,
        rejoin_us=REJOIN_US,
        until_us=_watermark(series, sieve, mark),
        baseline=usual.baseline(sieve.db, channel.id, series, zone=place.zone),
    )
    # What begins in the first day of the window has no full baseline there: it was judged before.
    begun = since + LOOK_BACK / 2
    found = tuple(s for s in screening.found if from_us(s.excursion.starts_us) >= begun)
    facts = slugs.facts(
        rule,
        version,
        found,
        parameter=place.parameter,
        unit=place.unit,
        channel_key=str(channel.id),
        text=partial(text_in, channel, place.unit),
    )
    span = Window(start=begun, end=max(begun, until))
    shut = destructions.closed(sieve.db, [channel.id], since=span.start, until=span.end)
    parts = tuple(open_parts(span, shut.get(channel.id, ())))
    judged = Judged(readings=len(series))
    for fact in facts:
        if not holds(shut.get(channel.id, ()), fact.starts_at):
            judged += write_fact(sieve, fact, channel=channel, place=place)
    still = {fact.id for fact in facts}
    for part in parts:
        withdraw_all_but(sieve, still, rule_id=rule.id, channel=channel, span=part)
    return judged


def _watermark(series: Series, sieve: Sieve, mark: dirt.Mark) -> int:
    """Up to where this channel's readings are known: its last one, or patience has run out."""
    last = int(series.at_us[-1]) + 1 if len(series) else 0
    return max(last, to_us(sieve.now - PATIENCE), to_us(mark.until))


def _version(rule: SlugRule, at: datetime) -> SlugVersion | None:
    holder = book.find(rule.id)[0]
    try:
        found = holder.in_force(rule.id, day_of(at, holder.zone))
    except NotInForce:
        return None
    return found if isinstance(found, SlugVersion) else None
