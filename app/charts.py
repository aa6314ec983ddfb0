"""Buckets of readings as columns for a chart and rows for its table; gaps stay gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from compliance.model.periods import from_us
from compliance.records.buckets import Bucket

ROWS = 96


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What a chart draws; ``None`` breaks the line. at_ms: milliseconds since 1970.

    low and high are the same where each bucket is one reading.
    """

    at_ms: list[int]
    low: list[float | None]
    high: list[float | None]
    gaps: list[tuple[int, int]]
    judged: int
    flagged: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A piece of time in the chart's table."""

    at: datetime
    low: float | None
    high: float | None
    count: int
    flagged: int


def columns(buckets: Sequence[Bucket], *, since_us: int, until_us: int) -> Columns:
    """Columns of buckets in time order.

    Each silence is listed; where one lies between two values, the line is broken there.
    """
    at_ms: list[int] = []
    low: list[float | None] = []
    high: list[float | None] = []
    gaps = _gaps(buckets, since_us=since_us, until_us=until_us)
    for one in buckets:
        if not one.count:
            continue
        for begins, _ in one.silences:
            if begins < one.at_us:  # one inside a piece is listed, and too short to be seen
                at_ms.append(begins // 1000)
                low.append(None)
                high.append(None)
        at_ms.append(one.at_us // 1000)
        low.append(one.low)
        high.append(one.high)
    return Columns(
        at_ms=at_ms,
        low=low,
        high=high,
        gaps=[(begins // 1000, ends // 1000) for begins, ends in gaps],
        judged=sum(one.count - one.uncounted for one in buckets),
        flagged=sum(one.flagged for one in buckets),
    )


def _gaps(buckets: Sequence[Bucket], *, since_us: int, until_us: int) -> list[tuple[int, int]]:
    if not any(one.count for one in buckets):
        return [(since_us, until_us)]
    return [silence for one in buckets for silence in one.silences]


def rows(buckets: Sequence[Bucket], *, since: datetime, until: datetime) -> tuple[Row, ...]:
    """The same readings as a table of at most ``ROWS`` rows, each with its extremes."""
    span = max(1, ((until - since) // timedelta(microseconds=1)) // ROWS)
    found: dict[int, list[Bucket]] = {}
    for one in buckets:
        found.setdefault(one.at_us // span, []).append(one)
    return tuple(
        Row(
            at=from_us(part[0].at_us),
            low=min((b.low for b in part if b.low is not None), default=None),
            high=max((b.high for b in part if b.high is not None), default=None),
            count=sum(b.count - b.uncounted for b in part),
            flagged=sum(b.flagged for b in part),
        )
        for _, part in sorted(found.items())
    )
