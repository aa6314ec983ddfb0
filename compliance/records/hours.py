"""How many readings of a channel came in each hour, from its quarter-hours wherever those stand."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import numpy as np
from sqlalchemy import Connection

from compliance.model.clocks import HOUR_US
from compliance.model.commissioning import holes
from compliance.model.completeness import Hour
from compliance.model.periods import from_us, to_us
from compliance.model.readings import UNJUDGED, Quality
from compliance.model.rollups import QUARTER_US, quarter_of
from compliance.records import counting, rollups
from compliance.records.readings import usable

_UNRELIABLE = UNJUDGED & ~int(Quality.NOT_COMMISSIONED)


def hours(db: Connection, channel: int, *, since: datetime, until: datetime) -> tuple[Hour, ...]:
    """How many readings came in each hour of ``[since, until)``, and how many of them are good.

    Good is what would be judged if the channel counted. An hour without any is left out. Whole
    quarters that nothing waits to change are taken as they are summed; the rest, and all of the
    time where the channel did not count throughout, is read.
    """
    since_us, until_us = to_us(since), to_us(until)
    begins, ends = _summed(db, channel, since, until)
    stored: Counter[int] = Counter()
    good: Counter[int] = Counter()
    if begins < ends:
        span = {"since": from_us(begins), "until": from_us(ends)}
        of = rollups.quarters(db, [channel], **span)[channel]
        for at, all_of_it, sound in zip(
            (of.start_us // HOUR_US * HOUR_US).tolist(),
            of.readings.tolist(),
            of.good.tolist(),
            strict=True,
        ):
            stored[at] += all_of_it
            good[at] += sound
        rest = [(since_us, begins), (ends, until_us)]
    else:
        rest = [(since_us, until_us)]
    for start, stop in rest:
        if start < stop:
            _count(db, channel, (start, stop), stored, good)
    return tuple(Hour(at_us=at, stored=stored[at], judged=good[at]) for at in sorted(+stored))


def _summed(db: Connection, channel: int, since: datetime, until: datetime) -> tuple[int, int]:
    """From where to where whole quarters may be taken; an empty span where none may."""
    since_us, until_us = to_us(since), to_us(until)
    spans = counting.spans(db, [channel]).get(channel, ())
    if holes(spans, since_us=since_us, until_us=until_us):
        return 0, 0
    known_to = rollups.settled(db, channel, until=until)
    return quarter_of(since_us + QUARTER_US - 1), quarter_of(to_us(known_to))


def _count(
    db: Connection,
    channel: int,
    span: tuple[int, int],
    stored: Counter[int],
    good: Counter[int],
) -> None:
    """Count the readings of a span one by one."""
    since, until = (from_us(at) for at in span)
    seen = usable(db, [channel], since=since, until=until)[channel]
    sound = ((seen.quality & _UNRELIABLE) == 0) & ~np.isnan(seen.value)
    hour = seen.at_us // HOUR_US * HOUR_US
    for found, counted in ((hour, stored), (hour[sound], good)):
        for at, count in zip(*np.unique(found, return_counts=True), strict=True):
            counted[int(at)] += int(count)
