"""Quarter-hours and civil days, kept by dirty marks: what is new or changed is summed anew."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from sqlalchemy import Connection, Engine

from compliance.jobs import reviews
from compliance.model.periods import day_of, from_us, local_day, to_us
from compliance.model.rollups import (
    QUARTER_US,
    Figures,
    Quarters,
    quarter_of,
    quarters,
    total,
)
from compliance.model.volumes import LONGEST_HOLD_US
from compliance.records import dirt, readings, rollups, sites

DUTY = 470409
AT_ONCE = timedelta(days=7)
"""So much time of some channels is read at once."""


def roll_up(engine: Engine, *, most: int = dirt.MOST, longest: timedelta | None = None) -> int:
    """Sum the marked quarters anew, and the days that hold them; how many channels were marked.

    Safe to run again, and by many processes at once. most: so many rows of marks; longest: so much
    time of each.
    """
    with engine.begin() as db:
        marks = dirt.take(db, why=dirt.ROLLUP, most=most, longest=longest)
        if not marks:
            return 0
        dirt.lock(db, list(marks), duty=DUTY)
        zones = {c: ZoneInfo(place.zone) for c, place in sites.places(db).items()}
        spans: dict[tuple[int, int], list[int]] = {}
        for channel, mark in marks.items():
            spans.setdefault(_span(mark), []).append(channel)
        for (since_us, until_us), channels in spans.items():
            _sum(db, {c: zones[c] for c in channels}, since_us, until_us)
        return len(marks)


def _sum(db: Connection, zones: Mapping[int, ZoneInfo], since_us: int, until_us: int) -> None:
    """Sum a span of channels; where it was billed and is another now, somebody is to look."""
    billed = reviews.watch(db, zones, since_us=since_us, until_us=until_us)
    _roll(db, list(zones), since_us, until_us)
    _sum_days(db, zones, since_us, until_us)
    if billed is not None:
        reviews.note(db, billed)


def _span(mark: dirt.Mark) -> tuple[int, int]:
    """The quarters that the readings of a mark can change: they are held into the next one."""
    last = to_us(mark.until) - 1 + LONGEST_HOLD_US
    return quarter_of(to_us(mark.since)), quarter_of(last) + QUARTER_US


def _roll(db: Connection, channels: list[int], since_us: int, until_us: int) -> None:
    step = to_us(from_us(0) + AT_ONCE)
    for start in range(since_us, until_us, step):
        stop = min(start + step, until_us)
        held = from_us(start - LONGEST_HOLD_US)
        found = readings.usable(db, channels, since=held, until=from_us(stop))
        rows = {c: quarters(s, since_us=start, until_us=stop) for c, s in found.items()}
        rollups.put_quarters(db, rows, since=from_us(start), until=from_us(stop))


def _sum_days(db: Connection, zones: Mapping[int, ZoneInfo], since_us: int, until_us: int) -> None:
    """The civil days of each channel's plant that hold a changed quarter."""
    for zone in set(zones.values()):
        mine = [channel for channel, own in zones.items() if own == zone]
        first, last = (day_of(from_us(at), zone) for at in (since_us, until_us - 1))
        window = (local_day(first, zone).start, local_day(last, zone).end)
        found = rollups.quarters(db, mine, since=window[0], until=window[1])
        for channel, of in found.items():
            rollups.put_days(db, channel, _days(of, zone))


def _days(of: Quarters, zone: ZoneInfo) -> dict[date, tuple[Figures, datetime]]:
    """Quarters as civil days, each with the instant up to which it is summed."""
    found = {}
    for day in sorted({day_of(from_us(int(at)), zone) for at in of.start_us}):
        window = local_day(day, zone)
        since, until = to_us(window.start), to_us(window.end)
        part = _between(of, since, until)
        as_of = min(int(part.start_us[-1]) + QUARTER_US, until)
        found[day] = (total(part, length_us=until - since), from_us(as_of))
    return found


def _between(of: Quarters, since_us: int, until_us: int) -> Quarters:
    lo, hi = np.searchsorted(of.start_us, [since_us, until_us])
    return Quarters(**{name: getattr(of, name)[lo:hi] for name in Quarters.__slots__})
