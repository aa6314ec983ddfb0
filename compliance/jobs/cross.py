"""Days that are over: each point's flow, added up, is laid beside its total."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Engine

from compliance.errors import NotInForce, UnitMismatch
from compliance.jobs.screen import DUTY, Tests, beside, flag, tests_of
from compliance.jobs.volumes import DayVolume, point_volume
from compliance.judging.screening.cross import Apart, denied
from compliance.model.flags import Reason
from compliance.model.parameters import Parameter
from compliance.model.periods import Window, day_of, from_us, local_day, to_us
from compliance.model.sites import Channel
from compliance.model.units import Unit, as_decimal, linear
from compliance.records import destructions, dirt, flags, sites
from compliance.records.sites import Place
from compliance.rules.screening import cross_checks

OVER = timedelta(hours=12)
"""So long after a day of UTC every civil day that it touches is over, wherever the plant is."""
DAYS_AT_ONCE = 31
"""What waits beyond so many days of a point is left for the next time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A point's flow, and the total that it is laid beside."""

    flow: Channel
    total: Channel
    zone: ZoneInfo

    @property
    def resolution(self) -> Decimal:
        """Of the total, in gallons. Raises: UnitMismatch."""
        factor = as_decimal(linear(self.total.unit, Unit.GAL)[0])
        return Decimal(self.total.resolution) * factor


def check_totals(engine: Engine, *, now: datetime, most: int = dirt.MOST) -> int:
    """Lay the marked days that are over beside their totals; how many points were looked at.

    Safe to run again, and by many processes. most: so many rows of marks.
    """
    with engine.begin() as db:
        marks = dirt.take(db, why=dirt.TOTAL, most=most, before=now - OVER)
        if not marks:
            return 0
        places = sites.places(db)
        pairs = _pairs(db, marks, places)
        dirt.lock(db, list(pairs), duty=DUTY)
        for pair, mark in pairs.values():
            days = _days(mark, pair.zone)
            _check(db, pair, places, days[:DAYS_AT_ONCE], now=now)
            if len(days) > DAYS_AT_ONCE:
                since = local_day(days[DAYS_AT_ONCE], pair.zone).start
                rest = dirt.Mark(since=since, until=mark.until)
                dirt.put(db, {pair.flow.id: rest}, why=dirt.TOTAL)
        return len(pairs)


def _pairs(
    db: Connection, marks: Mapping[int, dirt.Mark], places: Mapping[int, Place]
) -> dict[int, tuple[Pair, dirt.Mark]]:
    """Flows that have a total beside them, with the news of either, by the flow's channel."""
    channels = {channel.id: channel for channel in sites.channels(db)}
    found: dict[int, tuple[Pair, dirt.Mark]] = {}
    for channel, mark in marks.items():
        flow, total = (
            beside(channel, places, parameter) for parameter in (Parameter.FLOW, Parameter.VOLUME)
        )
        if flow in channels and total in channels:
            zone = ZoneInfo(places[channel].zone)
            pair = Pair(flow=channels[flow], total=channels[total], zone=zone)
            known = found.get(flow)
            found[flow] = (pair, known[1] | mark if known else mark)
    return found


def _days(mark: dirt.Mark, zone: ZoneInfo) -> list[date]:
    first, last = day_of(mark.since, zone), day_of(mark.until - timedelta(microseconds=1), zone)
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


def _check(
    db: Connection,
    pair: Pair,
    places: Mapping[int, Place],
    days: list[date],
    *,
    now: datetime,
) -> None:
    try:
        volume = point_volume(
            db,
            total=pair.total,
            flow=pair.flow,
            first=days[0],
            last=days[-1],
            zone=pair.zone,
            now=now,
        )
        found = list(_denied(pair, volume.days))
    except (NotInForce, UnitMismatch):
        return
    for day, is_denied in found:
        window = local_day(day, pair.zone)
        if _is_closed(db, pair, window):
            continue
        start, stop = to_us(window.start), to_us(window.end)
        mark = dirt.Mark(since=window.start, until=window.end)
        _flag(db, tests_of(pair.flow, places, mark), start, stop, is_denied=is_denied)


def _is_closed(db: Connection, pair: Pair, day: Window) -> bool:
    """Whether readings of either were destroyed: then a day stays as it was found."""
    channels = [pair.flow.id, pair.total.id]
    return bool(destructions.closed(db, channels, since=day.start, until=day.end))


def _denied(pair: Pair, days: tuple[DayVolume, ...]) -> Iterator[tuple[date, bool]]:
    for one in days:
        checks = cross_checks(one.day)[1]
        if checks.total is None or one.is_running:
            continue
        apart = Apart(share=checks.total.share, seconds=checks.total.seconds)
        said = one.volume.disagreement
        yield one.day, denied(said, apart, resolution=pair.resolution)


def _flag(db: Connection, tests: Tests, start: int, stop: int, *, is_denied: bool) -> None:
    """Flag a day, or take the doubt back; where there is none, nothing is done."""
    since, until = from_us(start), from_us(stop)
    stored = flags.between(db, [tests.channel], since=since, until=until)
    had = any(one.reason & Reason.CROSS_CHECK for one in stored.get(tests.channel, ()))
    if is_denied or had:
        flag(db, tests, start, stop, denied=is_denied)
