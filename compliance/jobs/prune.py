"""What a city's records schedule lets go, month by month; nothing goes that anything rests on.

A month of a channel is closed in a transaction of its own: its readings are removed, a record of
the destruction with their hash is left, and the audit log says who did it. Sums, facts, evidence
and bills stay for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Engine

from compliance.errors import StorageError
from compliance.jobs import rollup, screen
from compliance.model.keeping import Claim, Fate, Hold, Line, fate, months, removable
from compliance.model.periods import Period, Window, day_of
from compliance.records import (
    audit,
    claims,
    destructions,
    dirt,
    holds,
    readings,
    rollups,
    schedules,
    sites,
    timescale,
)
from compliance.records.around import last_reading
from compliance.records.claims import Claims
from compliance.records.schedules import Loaded

WAITING = "its readings wait to be judged or summed, which pretreat work does"
MEANWHILE = "it went meanwhile, by another run"
FEW = "its few readings lie next to others that stay, which are judged with them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A month of a channel and what becomes of it.

    span, rows: the readings that go, or went; sha256: of them, once they have gone. is_unsummed:
    it stays since its sums lack readings.
    """

    place: sites.Place
    month: Period
    fate: Fate
    span: Window
    rows: int = 0
    sha256: str | None = None
    is_unsummed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CityPlan:
    """A city with its schedule, None where it has none and all stays; every month in time order."""

    city: sites.City
    today: date
    loaded: Loaded | None
    items: tuple[Item, ...] = ()

    @property
    def going(self) -> tuple[Item, ...]:
        return tuple(one for one in self.items if one.fate.goes)

    @property
    def staying(self) -> tuple[Item, ...]:
        return tuple(one for one in self.items if not one.fate.goes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Desk:
    """What a channel's months are decided by."""

    db: Connection
    place: sites.Place
    line: Line | None
    holds: tuple[Hold, ...]
    claims: tuple[Claim, ...]
    today: date

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.place.zone)


def plan(
    db: Connection, *, now: datetime, city: str | None = None, on: date | None = None
) -> tuple[CityPlan, ...]:
    """What would go and what stays, city by city. Nothing is changed.

    city: of this one alone; on: as of another day than today. Raises: NotFound.
    """
    own = schedules.in_force(db)
    cities = sites.cities(db) if city is None else (sites.city(db, city),)
    places = sorted(
        sites.places(db).values(), key=lambda one: (one.industrial_user, one.point, one.channel_id)
    )
    plans = []
    for one in cities:
        here = [place for place in places if place.city_id == one.id]
        today = on or day_of(now, ZoneInfo(one.zone))
        plans.append(_city(db, one, here, loaded=own.get(one.id), today=today))
    return tuple(plans)


def _city(
    db: Connection,
    city: sites.City,
    places: Sequence[sites.Place],
    *,
    loaded: Loaded | None,
    today: date,
) -> CityPlan:
    if loaded is None:
        return CityPlan(city=city, today=today, loaded=None)
    rests = claims.of_city(db, city.id, ZoneInfo(city.zone))
    items = tuple(
        item
        for place in places
        for item in _months(_desk(db, place, loaded=loaded, rests=rests, today=today))
    )
    return CityPlan(city=city, today=today, loaded=loaded, items=items)


def _desk(
    db: Connection, place: sites.Place, *, loaded: Loaded, rests: Claims, today: date
) -> _Desk:
    channel, point, user = place.channel_id, place.point_id, place.industrial_user_id
    return _Desk(
        db=db,
        place=place,
        line=loaded.schedule.line_for(place.parameter),
        holds=holds.covering(db, channel=channel, point=point, user=user, city=place.city_id),
        claims=rests.on(channel=channel, point=point, user=user),
        today=today,
    )


def _months(desk: _Desk, only: Period | None = None) -> Iterator[Item]:
    """The months of a channel that are not closed, the oldest first; only: this one alone."""
    db, channel = desk.db, desk.place.channel_id
    first, last = dirt.first_reading(db, channel), last_reading(db, channel)
    if first is None or last is None:
        return
    known = destructions.closed(db, [channel], since=first, until=last).get(channel, ())
    closed = list(known)
    for month in months(day_of(first, desk.zone), day_of(last, desk.zone)):
        window = month.window(desk.zone)
        if window in closed or only not in (None, month):
            continue
        span = removable(window, closed, first=first, last=last)
        item = _looked_at(desk, month, span)
        if item.fate.goes:
            closed.append(window)
        yield item


def _looked_at(desk: _Desk, month: Period, span: Window) -> Item:
    window = month.window(desk.zone)
    joint = Window(start=min(window.start, span.start), end=max(window.end, span.end))
    found = fate(
        joint,
        month,
        line=desk.line,
        holds=desk.holds,
        claims=desk.claims,
        today=desk.today,
        zone=desk.zone,
    )
    item = Item(place=desk.place, month=month, fate=found, span=span)
    return _ready(desk, item) if found.goes else item


def _ready(desk: _Desk, item: Item) -> Item:
    """A month that may go by schedule, with how many readings, or why it cannot be done yet."""
    db, channel, window = desk.db, desk.place.channel_id, item.month.window(desk.zone)
    if claims.waiting(db, channel, since=window.start, until=window.end):
        return _kept(item, WAITING)
    stored = destructions.count(db, channel, since=window.start, until=window.end)
    summed = rollups.summed(db, channel, since=item.month.start, until=item.month.end)
    if stored != summed:
        why = f"{stored} readings are stored and {summed} are summed: pretreat work sums them first"
        return replace(_kept(item, why), is_unsummed=True)
    rows = destructions.count(db, channel, since=item.span.start, until=item.span.end)
    return replace(item, rows=rows) if rows else _kept(item, FEW if stored else "it has none")


def _kept(item: Item, why: str) -> Item:
    return replace(item, fate=replace(item.fate, why=(why,)))


def prune(
    engine: Engine, *, now: datetime, by: str, city: str | None = None
) -> tuple[CityPlan, ...]:
    """Remove what the schedules let go, month by month; the plans as they came out.

    by: who does it. Raises: NotFound, StorageError.
    """
    with engine.connect() as db:
        found = plan(db, now=now, city=city)
    return carry_out(engine, found, by=by)


def carry_out(engine: Engine, plans: Sequence[CityPlan], *, by: str) -> tuple[CityPlan, ...]:
    """Do what was planned; the plans as they came out.

    Safe to stop at any time and to run again: each month is removed whole or not at all, and looked
    at once more when its turn comes. Raises: StorageError.
    """
    done = tuple(replace(one, items=tuple(_carried_out(engine, one, by=by))) for one in plans)
    _give_back(engine)
    return done


def _give_back(engine: Engine) -> None:
    """Drop what is empty since readings were destroyed: by this run, or one that was stopped."""
    with engine.begin() as db:
        destructions.lock(db)
        last = destructions.last_end(db)
        if last is not None:
            timescale.drop_empty_parts(db, until=last)


def _carried_out(engine: Engine, planned: CityPlan, *, by: str) -> Iterator[Item]:
    for item in planned.items:
        if item.fate.goes and planned.loaded is not None:
            yield _close(engine, item, planned.loaded, today=planned.today, by=by)
        else:
            if item.is_unsummed:
                _have_summed(engine, item)
            yield item


def _have_summed(engine: Engine, item: Item) -> None:
    window = item.month.window(ZoneInfo(item.place.zone))
    with engine.begin() as db:
        mark = dirt.Mark(since=window.start, until=window.end)
        dirt.put(db, {item.place.channel_id: mark}, why=dirt.ROLLUP)


def _close(engine: Engine, item: Item, loaded: Loaded, *, today: date, by: str) -> Item:
    """Close one month, all of it or nothing, if it still may go: a hold may have come meanwhile."""
    place, channel = item.place, item.place.channel_id
    with engine.begin() as db:
        dirt.lock(db, [channel])
        for duty in (rollup.DUTY, screen.DUTY):
            dirt.lock(db, [channel], duty=duty)
        destructions.lock(db)
        rests = claims.of_city(db, place.city_id, ZoneInfo(place.zone))
        desk = _desk(db, place, loaded=loaded, rests=rests, today=today)
        item = next(_months(desk, only=item.month), _kept(item, MEANWHILE))
        line = item.fate.line
        if item.fate.goes and line is not None:
            item = replace(item, sha256=_remove(db, item, loaded, line, by=by))
            _note(db, item, line, by=by)
    return item


def _remove(db: Connection, item: Item, loaded: Loaded, line: Line, *, by: str) -> str:
    """Remove the readings of a month and leave the record of it; their hash."""
    channel, span = item.place.channel_id, item.span
    sha256 = readings.digest(db, channel, span.start, span.end)
    removed = destructions.remove(db, channel, since=span.start, until=span.end)
    if removed != item.rows:
        raise StorageError(
            f"of channel {channel}, {item.month}, {item.rows} readings were counted and {removed} "
            "removed: somebody writes past the locks; nothing of it was removed"
        )
    destructions.add(
        db,
        channel,
        month=item.month.window(ZoneInfo(item.place.zone)),
        span=span,
        rows=removed,
        sha256=sha256,
        schedule_id=loaded.id,
        line=line,
        by=by,
    )
    return sha256


def _note(db: Connection, item: Item, line: Line, *, by: str) -> None:
    audit.note(
        db,
        by=by,
        act="destroy readings",
        subject=f"channel:{item.place.channel_id}",
        detail={
            "point": item.place.point,
            "parameter": item.place.parameter.value,
            "month": f"{item.month.start:%Y-%m}",
            "since": item.span.start,
            "until": item.span.end,
            "readings": item.rows,
            "readings_sha256": item.sha256,
            "line": line.name,
            "years": line.years,
            "citation": line.citation,
        },
    )
