"""Readings of one channel as a chart draws them: one by one, or gathered with their extremes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from compliance.model.periods import to_us
from compliance.model.readings import STORED_UNJUDGED, Quality, Series
from compliance.records.readings import usable

RAW_ROWS = 3000
"""A chart of fewer readings shows each of them."""
SILENT_INTERVALS = 3
"""More than this many intervals between neighbouring judged readings is a silence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Readings of one piece of time as a chart draws them; instants in microseconds since 1970.

    low, high, first, last: of the values that may be relied on, None where there is none; count:
    how many they are; uncounted: those of them that are not judged, since the channel did not count
    then; flagged: those that may not be relied on; declared: those of them in a declared window;
    silences: those that end in this piece, in the last one also that which reaches the end of the
    span. Each runs from one interval after a judged reading to the next one.
    """

    at_us: int
    low: float | None
    high: float | None
    first: float | None
    last: float | None
    count: int
    flagged: int
    declared: int = 0
    uncounted: int = 0
    silences: tuple[tuple[int, int], ...] = ()


def buckets(
    db: Connection, channel: int, *, since: datetime, until: datetime, buckets: int = 1200
) -> tuple[Bucket, ...]:
    """A channel in ``[since, until)`` for a chart, in time order; a gap has no bucket.

    Fewer than ``RAW_ROWS`` readings come each as a bucket of its own; more are gathered into at
    most ``buckets`` pieces of equal length, each with its extremes, first and last value. A silence
    is told by the interval in force at the reading before it (at the start of the span, after it):
    a channel may have had several.
    """
    series = usable(db, [channel], since=since, until=until)[channel]
    since_us, until_us = to_us(since), to_us(until)
    if len(series) < RAW_ROWS:
        piece = np.arange(len(series), dtype=np.int64)
        starts = series.at_us
    else:
        width = max(1, -(-(until_us - since_us) // buckets))
        piece = (series.at_us - since_us) // width
        starts = since_us + piece * width
    edges = np.flatnonzero(np.diff(piece, prepend=-1))
    ends = np.append(edges, len(series))[1:]
    good = ((series.quality & STORED_UNJUDGED) == 0) & ~np.isnan(series.value)
    declared = (series.quality & Quality.MAINTENANCE) != 0
    uncounted = good & ((series.quality & Quality.NOT_COMMISSIONED) != 0)
    silences = _silences(series.where(good), since_us=since_us, until_us=until_us)
    found = []
    for a, b in zip(edges, ends, strict=True):
        stop = int(series.at_us[b]) if b < len(series) else until_us + 1
        ending = [silences.popleft() for _ in range(len(silences)) if silences[0][1] < stop]
        bucket = _bucket(int(starts[a]), series.value[a:b][good[a:b]], int(b - a), tuple(ending))
        held, apart = (int(np.count_nonzero(mask[a:b])) for mask in (declared, uncounted))
        found.append(replace(bucket, declared=held, uncounted=apart))
    return tuple(found)


def _silences(judged: Series, *, since_us: int, until_us: int) -> deque[tuple[int, int]]:
    """Where nothing that may be judged came for more than three intervals, in time order."""
    if not len(judged):
        return deque([(since_us, until_us)])
    at = judged.at_us
    begins = np.concatenate([[since_us], at + judged.interval_us])
    stops = np.concatenate([at, [until_us]])
    steps = np.concatenate([judged.interval_us[:1], judged.interval_us])
    before = np.concatenate([[since_us], at])
    silent = np.flatnonzero(stops - before > SILENT_INTERVALS * steps)
    return deque((int(begins[i]), int(stops[i])) for i in silent)


def _bucket(
    at_us: int, values: NDArray[np.float64], rows: int, silences: tuple[tuple[int, int], ...]
) -> Bucket:
    any_good = len(values) > 0
    return Bucket(
        at_us=at_us,
        low=float(values.min()) if any_good else None,
        high=float(values.max()) if any_good else None,
        first=float(values[0]) if any_good else None,
        last=float(values[-1]) if any_good else None,
        count=len(values),
        flagged=rows - len(values),
        silences=silences,
    )
