"""Buckets of readings as columns for a chart and rows for its table; gaps stay gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from compliance.model.periods import from_us
from compliance.records.readings import Bucket

SILENCE = 3
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


def columns(buckets: Sequence[Bucket], *, step_us: int, since_us: int, until_us: int) -> Columns:
    """Columns of buckets in time order.

    step_us: the interval of readings, or the width of a bucket where that is longer. More than
    three of them between neighbouring values is a gap: the line is broken there and it is listed.
    """
    valued = [one for one in buckets if one.count]
    at_ms: list[int] = []
    low: list[float | None] = []
    high: list[float | None] = []
    gaps: list[tuple[int, int]] = []
    before = since_us - step_us
    for one in valued:
        if one.at_us - before > SILENCE * step_us:
            gaps.append(((before + step_us) // 1000, one.at_us // 1000))
            at_ms.append((before + step_us) // 1000)
            low.append(None)
            high.append(None)
        at_ms.append(one.at_us // 1000)
        low.append(one.low)
        high.append(one.high)
        before = one.at_us
    if until_us - before > SILENCE * step_us:
        gaps.append(((before + step_us) // 1000, until_us // 1000))
    return Columns(
        at_ms=at_ms,
        low=low,
        high=high,
        gaps=gaps,
        judged=sum(one.count for one in buckets),
        flagged=sum(one.flagged for one in buckets),
    )


def step_us(
    interval_ms: int, *, since: datetime, until: datetime, buckets: Sequence[Bucket]
) -> int:
    """The interval that neighbouring buckets may have without a gap between them."""
    each_alone = all(one.count + one.flagged == 1 for one in buckets)
    width = 0 if each_alone else (until - since) // timedelta(microseconds=1) // 1200
    return max(1000 * interval_ms, width)


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
            count=sum(b.count for b in part),
            flagged=sum(b.flagged for b in part),
        )
        for _, part in sorted(found.items())
    )
