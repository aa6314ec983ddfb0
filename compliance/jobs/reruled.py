"""A rule whose content changed: what was judged by it is marked, and judged by what it says now.

Looked for when a worker starts, since rules are read once by each process, and when a city's books
change. Judging anew is the work of the same fold as all else (``jobs/evaluate.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from compliance.jobs import stack
from compliance.judging.slugs import SCREENED
from compliance.model.parameters import Parameter
from compliance.model.periods import midnight
from compliance.records import dirt, health, rulings, sites
from compliance.records.around import last_reading
from compliance.rules.control import Binding
from compliance.rules.rulings import Content, content, differs_from, on_readings
from compliance.rules.schema import LimitRule, Rule
from compliance.rules.screening import screening_book

SCREENING = "program.screening"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """A rule of a city that judges otherwise from a day on; why: the duty that judges it.

    user_id, point: whom and where it binds; None is every one.
    """

    rule_id: str
    content: Content | None
    since: date | None
    parameters: frozenset[Parameter]
    why: str
    user_id: int | None = None
    point: str | None = None

    def bears_on(self, place: sites.Place) -> bool:
        """Whether a channel is judged by it."""
        return (
            place.parameter in self.parameters
            and self.user_id in (None, place.industrial_user_id)
            and self.point in (None, place.point)
        )


def look(db: Connection, *, release: str, now: datetime) -> int:
    """Mark what was judged by rules that have changed since; how many channels are marked.

    A city that is seen for the first time is only written down. A rule that its books have no more
    keeps its findings: a law ends by its date, and a file that is missing is no repeal.
    """
    rulings.lock(db)
    places, bound = sites.places(db).values(), stack.of(db)
    return sum(
        _look_at(
            db,
            _Judged(city=city, papers=tuple(bound.of_city(city.id))),
            [one for one in places if one.city_id == city.id],
            release,
            now,
        )
        for city in sites.cities(db)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """A city, and the limits of papers there with their users."""

    city: sites.City
    papers: Sequence[tuple[int, Binding]]


def _look_at(
    db: Connection, judged: _Judged, places: Iterable[sites.Place], release: str, now: datetime
) -> int:
    city = judged.city
    known = rulings.known(db, city.id)
    touched: set[int] = set()
    for change in _changes(judged, known):
        mine: set[int] = set()
        if known and change.since is not None:
            bound = {one.channel_id for one in places if change.bears_on(one)}
            mine = _mark(db, bound, change, ZoneInfo(city.zone))
        if change.content is None:
            _tell_gone(db, city, change)
        rulings.note(
            db,
            city.id,
            change.rule_id,
            change.content,
            marked=len(mine),
            release=release,
            now=now,
        )
        touched |= mine
    return len(touched)


def _changes(judged: _Judged, known: Mapping[str, Content | None]) -> Iterable[_Change]:
    """What is otherwise than it was written down, rules of the city's books first."""
    rules = on_readings(judged.city.rulebooks)
    yield from _of_books(rules.values(), known)
    yield from _of_papers(judged.papers, known)
    mine = {SCREENING, *rules, *(one.rule.id for _, one in judged.papers)}
    for rule_id, old in known.items():
        if old is not None and rule_id not in mine:
            yield _Change(rule_id=rule_id, content=None, since=None, parameters=frozenset(), why="")
    thresholds: Content = screening_book().model_dump(mode="json", exclude_defaults=True)
    if thresholds != (old := known.get(SCREENING)):
        yield _Change(
            rule_id=SCREENING,
            content=thresholds,
            since=differs_from(old, thresholds),
            parameters=frozenset(Parameter),
            why=dirt.SCREEN,
        )


def _of_books(rules: Iterable[Rule], known: Mapping[str, Content | None]) -> Iterable[_Change]:
    for rule in rules:
        new, old = content(rule), known.get(rule.id)
        if new != old:
            yield _Change(
                rule_id=rule.id,
                content=new,
                since=differs_from(old, new),
                parameters=_parameters(rule),
                why=dirt.RULED if isinstance(rule, LimitRule) else dirt.SLUG,
            )


def _of_papers(
    papers: Iterable[tuple[int, Binding]], known: Mapping[str, Content | None]
) -> Iterable[_Change]:
    for user_id, one in papers:
        new, old = content(one.rule), known.get(one.rule.id)
        if new != old:
            yield _Change(
                rule_id=one.rule.id,
                content=new,
                since=differs_from(old, new),
                parameters=frozenset({one.rule.parameter}),
                why=dirt.RULED,
                user_id=user_id,
                point=one.point,
            )


def _parameters(rule: Rule) -> frozenset[Parameter]:
    return frozenset({rule.parameter}) if isinstance(rule, LimitRule) else frozenset(SCREENED)


def _mark(db: Connection, channels: set[int], change: _Change, zone: ZoneInfo) -> set[int]:
    """Mark the readings of channels from the day of a change on; those that have any."""
    assert change.since is not None
    begin = datetime.min.replace(tzinfo=UTC)
    if change.since > date.min:
        begin = midnight(change.since, zone) - timedelta(hours=1)  # an event may run across it
    marks = {}
    for channel in sorted(channels):
        first, last = dirt.first_reading(db, channel), last_reading(db, channel)
        if first is None or last is None or last < begin:
            continue
        marks[channel] = dirt.Mark(since=max(first, begin), until=last + timedelta(microseconds=1))
    dirt.put(db, marks, why=change.why, together=1)
    return set(marks)


def _tell_gone(db: Connection, city: sites.City, change: _Change) -> None:
    what = (
        f"rule {change.rule_id} is in no rulebook of {city.name} any more; what was found under it "
        "stands, and nothing new is found: put it back, with the day on which it ended"
    )
    health.fault_once(db, "work", what, within=timedelta(hours=1))
