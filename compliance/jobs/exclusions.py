"""The readings of a channel that a month left out, from its quarter-hours and what they hide."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from zoneinfo import ZoneInfo

import numpy as np
from sqlalchemy import Connection

from compliance.jobs.refold import under
from compliance.jobs.stack import rules_of
from compliance.judging.exclusions import Exclusions, Part, exclusions, plain
from compliance.judging.refold import Under
from compliance.model.periods import Window, add_months, from_us, midnight, to_us
from compliance.model.readings import Flags, Times
from compliance.model.rollups import QUARTER_US, quarter_of
from compliance.records import destructions, readings, rollups, sites

AT_ONCE_US = 7 * 24 * 3600 * 1_000_000


def of_month(db: Connection, channel_id: int, month: date, *, now: datetime) -> Exclusions | None:
    """The exclusions of a channel in the civil month that begins on a day.

    None without a limit, and where the readings of the month were destroyed.

    Whole quarters of the month's rollups in which nothing was left out and nothing is beyond are
    counted as they stand; the readings of all others are looked at.
    """
    place = sites.places(db)[channel_id]
    limits = tuple(under(rule, place) for rule in rules_of(db, place))
    if not limits:
        return None
    zone = ZoneInfo(place.zone)
    window = Window(start=midnight(month, zone), end=midnight(add_months(month, 1), zone))
    end = min(window.end, now)
    if end <= window.start:
        return Exclusions()
    if destructions.closed(db, [channel_id], since=window.start, until=window.end):
        return None
    return _counted(db, place, limits, Window(start=window.start, end=end))


def _counted(
    db: Connection, place: sites.Place, limits: tuple[Under, ...], window: Window
) -> Exclusions:
    channel = place.channel_id
    known_to = min(rollups.settled(db, channel, until=window.end), window.end)
    whole = rollups.quarters(db, [channel], since=window.start, until=known_to)[channel]
    calm = plain(whole, limits, place.parameter)
    calm &= whole.start_us + QUARTER_US <= to_us(known_to)
    found = Exclusions(inside=Part(readings=int(whole.good[calm].sum())))
    for since, until in _others(whole.start_us, calm, window, to_us(known_to)):
        seen = readings.usable(db, [channel], since=from_us(since), until=from_us(until))
        found += exclusions(seen[channel], limits, place.parameter)
    return found


def _others(
    start_us: Times, calm: Flags, window: Window, known_to: int
) -> Iterator[tuple[int, int]]:
    """The spans to be looked at: quarters that are not calm, and what is not summed yet."""
    unsummed = max(quarter_of(known_to), to_us(window.start))
    busy = [int(at) for at in start_us[~calm] if at < unsummed]
    spans: list[list[int]] = []
    for at in busy:
        if spans and at == spans[-1][1] and at - spans[-1][0] < AT_ONCE_US:
            spans[-1][1] = at + QUARTER_US
        else:
            spans.append([at, at + QUARTER_US])
    end = to_us(window.end)
    edges = [*np.arange(unsummed, end, AT_ONCE_US).tolist(), end]
    spans += [[a, b] for a, b in zip(edges[:-1], edges[1:], strict=True)]
    yield from ((a, b) for a, b in spans)
