"""The past of the database judged under a changed rulebook: what-if, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from compliance.errors import InputError
from compliance.jobs.facts import text_in
from compliance.judging import judge, replay, slugs
from compliance.judging.refold import REJOIN_US, Under, through
from compliance.judging.replay import Changes, Compared, Pair, compare, is_replayed
from compliance.judging.reproduce import DAY_US, LOOK_AHEAD_US, LOOK_BACK_US, result_again
from compliance.judging.results import judges
from compliance.model.findings import Exceedance
from compliance.model.periods import Window, day_of, from_us, midnight, to_us
from compliance.model.readings import Series
from compliance.model.sites import Channel
from compliance.records import destructions, dirt, readings, samples, sites
from compliance.records.around import last_reading
from compliance.records.samples import StoredResult
from compliance.records.sites import City, Place
from compliance.rules import book
from compliance.rules.book import RuleBook
from compliance.rules.schema import LimitRule, Rule, SampleSource, SlugRule

WEEK_US = 7 * DAY_US
Tell = Callable[[str], None]
"""Told what is looked at now: for people who wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtPoint:
    """What one rule finds at one point before and after."""

    city: str
    industrial_user: str
    point: str
    rule_id: str
    events: tuple[Compared, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A replay. until: the instant it was made at; destroyed: points parts of whose past are gone.

    readings, results: how many were judged under the changed book.
    """

    book: RuleBook
    changes: Changes
    cities: tuple[str, ...]
    since: date
    until: datetime
    found: tuple[AtPoint, ...]
    readings: int
    results: int
    destroyed: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class _Past:
    """The past that is judged again, and what was seen of it."""

    db: Connection
    after: RuleBook
    since: date
    now: datetime
    seen: dict[int, int] = field(default_factory=dict)
    results: set[int] = field(default_factory=set)
    destroyed: set[str] = field(default_factory=set)


def run(
    db: Connection,
    after: RuleBook,
    *,
    since: date,
    now: datetime,
    city: str | None = None,
    tell: Tell = lambda _: None,
) -> Replayed:
    """Judge all readings and results since a civil day under a book, and under the one in force.

    Before: the book of the same name, where the city is judged by it. A city that is named is
    judged under the file whatever its books are. Events that begin since the day are compared.

    Raises: InputError: no city is judged by such a book; the day lies ahead. NotFound: no such
    city.
    """
    cities = _cities(db, after, city)
    past = _Past(db=db, after=after, since=since, now=now)
    if midnight(since, after.zone) > now:
        raise InputError(f"--since is {since}, which is yet to come; expected a day of the past")
    old = _old(after, cities[0])
    changed = replay.changes(old, after)
    found = [
        one
        for each in cities
        for one in _city(past, each, replay.changes(_old(after, each), after).judged, tell)
    ]
    return Replayed(
        book=after,
        changes=changed,
        cities=tuple(one.name for one in cities),
        since=since,
        until=now,
        found=tuple(found),
        readings=sum(past.seen.values()),
        results=len(past.results),
        destroyed=tuple(sorted(past.destroyed)),
    )


def _cities(db: Connection, after: RuleBook, name: str | None) -> tuple[City, ...]:
    if name is not None:
        return (sites.city(db, name),)
    found = tuple(one for one in sites.cities(db) if after.name in one.rulebooks)
    if not found:
        raise InputError(
            f"no city here is judged by a rulebook {after.name}; name the city whose past is to be "
            "judged by it with --city"
        )
    return found


def _old(after: RuleBook, city: City) -> RuleBook | None:
    if after.name not in city.rulebooks:
        return None
    return book.books().get(after.name)


def _city(past: _Past, city: City, pairs: Sequence[Pair], tell: Tell) -> Iterator[AtPoint]:
    places = sites.places(past.db)
    channels = [one for one in sites.channels(past.db) if places[one.id].city_id == city.id]
    for number, channel in enumerate(channels, start=1):
        place = places[channel.id]
        tell(
            f"{city.name}: {place.point} {place.parameter.value}, channel {number} of "
            f"{len(channels)}"
        )
        yield from _channel(past, channel, place, pairs)
    for user_id, user in sites.users(past.db, city.id):
        tell(f"{city.name}: results of {user}")
        yield from _results(past, city, user_id, user=user, pairs=pairs)


# -- readings


def _channel(
    past: _Past, channel: Channel, place: Place, pairs: Sequence[Pair]
) -> Iterator[AtPoint]:
    first, last = dirt.first_reading(past.db, channel.id), last_reading(past.db, channel.id)
    begin = midnight(past.since, past.after.zone)
    if first is None or last is None or last < begin:
        return
    span = Window(start=max(begin, first), end=last + timedelta(microseconds=1))
    for pair in pairs:
        sides = [_rule_for(rule, place) for rule in (pair.before, pair.after)]
        if not any(sides):
            continue
        if destructions.removed(past.db, channel.id, since=begin, until=span.end):
            past.destroyed.add(place.point)
        before, after = (
            tuple(_facts(past, rule, channel, place, span=span)) if rule else () for rule in sides
        )
        yield AtPoint(
            city=place.city,
            industrial_user=place.industrial_user,
            point=place.point,
            rule_id=pair.rule_id,
            events=compare(before, after),
        )


def _rule_for(rule: Rule | None, place: Place) -> LimitRule | SlugRule | None:
    """A rule where it has something to say of a channel's readings."""
    if isinstance(rule, SlugRule):
        return rule if place.parameter in slugs.SCREENED else None
    if not isinstance(rule, LimitRule) or not is_replayed(rule):
        return None
    is_metered = rule.authority_on(SampleSource.METER) is not None
    return rule if is_metered and rule.parameter is place.parameter else None


def _facts(
    past: _Past, rule: LimitRule | SlugRule, channel: Channel, place: Place, *, span: Window
) -> Iterator[Exceedance]:
    """What a rule finds on a channel that begins in a span; readings are read a week at a time."""
    found = _possible_slugs if isinstance(rule, SlugRule) else _beyond
    for fact in found(past, rule, channel, place, span=span):  # type: ignore[arg-type]
        if span.start <= fact.starts_at < span.end:
            yield fact


def _beyond(
    past: _Past, rule: LimitRule, channel: Channel, place: Place, *, span: Window
) -> Iterator[Exceedance]:
    under = Under(rule=rule, zone=past.after.zone, unit=place.unit)
    read = partial(_read, past, channel, place)
    day_before = to_us(span.start) - DAY_US  # an event that runs into the span is none of it
    for version, excursion in through(under, day_before, to_us(span.end), read=read).values():
        yield from judge.facts(
            rule,
            version,
            (excursion,),
            channel_key=str(channel.id),
            text=partial(text_in, channel, rule.unit),
            authority=rule.authority_on(SampleSource.METER),
        )


def _possible_slugs(
    past: _Past, rule: SlugRule, channel: Channel, place: Place, *, span: Window
) -> Iterator[Exceedance]:
    until_us = to_us(span.end)
    for start in range(to_us(span.start), until_us, WEEK_US):
        end = min(start + WEEK_US, until_us)
        series = _read(past, channel, place, start - LOOK_BACK_US, end + LOOK_AHEAD_US)
        day = day_of(from_us(end), past.after.zone)
        for version in rule.versions:
            if not (version.effective or date.min) <= day < (version.ended or date.max):
                continue
            screening = slugs.screen(series, version, rejoin_us=REJOIN_US)
            for fact in slugs.facts(
                rule,
                version,
                screening.found,
                parameter=place.parameter,
                unit=place.unit,
                channel_key=str(channel.id),
                text=partial(text_in, channel, place.unit),
            ):
                if start <= to_us(fact.starts_at) < end:
                    yield fact


def _read(past: _Past, channel: Channel, place: Place, since_us: int, until_us: int) -> Series:
    since, until = from_us(since_us), from_us(until_us)
    stored = readings.usable(past.db, [channel.id], since=since, until=until)[channel.id]
    usable = judge.usable(stored, place.parameter)
    past.seen[channel.id] = past.seen.get(channel.id, 0) + len(usable)
    return usable


# -- results


def _results(
    past: _Past, city: City, user_id: int, *, user: str, pairs: Sequence[Pair]
) -> Iterator[AtPoint]:
    zone = ZoneInfo(city.zone)
    window = Window(start=midnight(past.since, zone), end=past.now)
    stored = [
        one for one in samples.in_window(past.db, user_id, window) if _day(one, zone) >= past.since
    ]
    for pair in pairs:
        by_point: dict[str, list[Compared]] = {}
        for one in stored:
            sides = [_judging(rule, one) for rule in (pair.before, pair.after)]
            if not any(sides):
                continue
            past.results.add(one.id)
            before, after = (tuple(_of_result(rule, one, zone)) if rule else () for rule in sides)
            by_point.setdefault(str(one.sample.point), []).extend(compare(before, after))
        for point, events in by_point.items():
            yield AtPoint(
                city=city.name,
                industrial_user=user,
                point=point,
                rule_id=pair.rule_id,
                events=tuple(events),
            )


def _judging(rule: Rule | None, of: StoredResult) -> LimitRule | None:
    """A rule where it has something to say of a result."""
    if not isinstance(rule, LimitRule) or not is_replayed(rule):
        return None
    return rule if judges(rule, of.result) else None


def _day(of: StoredResult, zone: ZoneInfo) -> date:
    taken = of.sample.sampled_to
    if of.day is not None or taken is None:
        return of.day or date.min
    return day_of(taken, zone) if isinstance(taken, datetime) else taken


def _of_result(rule: LimitRule, of: StoredResult, zone: ZoneInfo) -> Iterator[Exceedance]:
    day = _day(of, zone)
    for version in rule.versions:
        if (version.effective or date.min) <= day < (version.ended or date.max):
            found = result_again(rule, version, of.result, sample=of.sample, zone=zone)
            if found is not None:
                yield found
