"""Screening, kept by dirty marks: what is new or changed is flagged anew, and judged again if so.

Flags lie beside the readings, in spans cut at quarter-hours, so that flagging anew never touches a
reading. Where they change, the readings are marked dirty: a finding that rests on a flagged reading
is for review, by the same fold as all else.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
from sqlalchemy import Connection, Engine

from compliance.errors import NotInForce, UnitMismatch
from compliance.judging.screening import Settings, screen
from compliance.judging.screening.settings import settings_for
from compliance.model.flags import Flag, FlaggedSpan, spans
from compliance.model.periods import day_of, from_us, to_us
from compliance.model.readings import Series
from compliance.model.rollups import QUARTER_US, quarter_of
from compliance.model.sites import Channel
from compliance.records import dirt, flags, readings, sites
from compliance.rules.screening import thresholds

DUTY = 470410
AT_ONCE_US = 7 * 24 * 3600 * 1_000_000
"""So much time of a channel is screened at once."""
CHANGED = "screened"


def screen_readings(engine: Engine, *, most: int = dirt.MOST) -> int:
    """Flag what is marked; how many channels were. Safe to run again, and by many processes.

    most: so many rows of marks.
    """
    with engine.begin() as db:
        marks = dirt.take(db, why=dirt.SCREEN, most=most)
        if not marks:
            return 0
        dirt.lock(db, list(marks), duty=DUTY)
        places = sites.places(db)
        for channel in sites.channels(db):
            mark = marks.get(channel.id)
            if mark is not None:
                zone = ZoneInfo(places[channel.id].zone)
                settings = _settings(channel, zone, mark)
                if settings is not None:
                    _screen(db, channel.id, mark, settings)
        return len(marks)


def _settings(channel: Channel, zone: ZoneInfo, mark: dirt.Mark) -> Settings | None:
    """The thresholds in force for a channel; None where there are none that fit it."""
    span = None
    if channel.span_low is not None and channel.span_high is not None:
        span = (channel.span_low, channel.span_high)
    try:
        found = thresholds(channel.parameter, day_of(mark.since, zone))
        if found is None:
            return None
        return settings_for(found[1], version=found[0], unit=channel.unit, span=span)
    except (NotInForce, UnitMismatch):
        return None


def _screen(db: Connection, channel: int, mark: dirt.Mark, settings: Settings) -> None:
    """Flag the quarters whose flags the new readings can change: their own, and what follows."""
    neighbour = to_us(mark.since - timedelta(hours=1))
    since_us = quarter_of(neighbour)
    until_us = quarter_of(to_us(mark.until) + settings.looks_back_us) + QUARTER_US
    for start in range(since_us, until_us, AT_ONCE_US):
        stop = min(start + AT_ONCE_US, until_us)
        _flag(db, channel, (start, stop), settings)


def _flag(db: Connection, channel: int, span: tuple[int, int], settings: Settings) -> None:
    start, stop = span
    seen = readings.usable(
        db,
        [channel],
        since=from_us(start - settings.looks_back_us - QUARTER_US),
        until=from_us(stop + QUARTER_US),
    )[channel]
    found = _spans(seen, settings, start, stop)
    since, until = from_us(start), from_us(stop)
    before = flags.between(db, [channel], since=since, until=until).get(channel, [])
    if found == [one for one in before if one.since_us >= start]:
        return
    flags.replace(db, channel, found, since=since, until=until, ruleset=settings.version)
    readings.mark_dirty(db, [channel], since=since, until=until, why=CHANGED)


def _spans(seen: Series, settings: Settings, start: int, stop: int) -> list[FlaggedSpan]:
    """What is suspect or fails, by quarters; what is only missing or not evaluated has no span."""
    flag, reason = screen(seen, settings)
    flag[reason == 0] = Flag.PASS
    lo, hi = (int(at) for at in np.searchsorted(seen.at_us, [start, stop]))
    edges = np.flatnonzero(np.diff(seen.at_us[lo:hi] // QUARTER_US)) + 1 + lo
    found: list[FlaggedSpan] = []
    for begin, end in pairwise([lo, *edges.tolist(), hi]):
        found += spans(seen.at_us[begin:end], flag[begin:end], reason[begin:end])
    return found
