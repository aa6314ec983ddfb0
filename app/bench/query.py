"""`bench query`: what pages and reports ask, over millions of readings, beside the limit of each.

Asked through the functions that pages use. The daily loads and the hourly means are also asked of
the raw rows by SQL, so that the worth of the rollups is seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
from sqlalchemy import Connection, Engine, text

from app.bench import history
from app.bench.ground import FIRST, channels, ground, levels, median_ms
from compliance.jobs.rollup import roll_up
from compliance.model.bench import Row
from compliance.records import dirt, readings, rollups
from compliance.settings import Settings

SIZES = {"small": (10, 14, 900), "full": (200, 90, 156)}
"""Users of five channels, days, and the seconds between readings: 50 million when full."""

_HOURS = text(
    """
    SELECT channel_id, date_bin('1 hour', read_at, '1970-01-01Z'), avg(value) FROM reading
    WHERE channel_id = ANY(:ids) AND read_at >= :since AND read_at < :until GROUP BY 1, 2
    """
)
_DAYS = text(
    """
    SELECT channel_id, date_trunc('day', read_at, 'America/Chicago'), avg(value) FROM reading
    WHERE channel_id = ANY(:flows) AND read_at >= :since AND read_at < :until GROUP BY 1, 2
    """
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    what: str
    limit_ms: float
    ask: Callable[[Connection], object]
    raw: Callable[[Connection], object] | None = None


def rows(settings: Settings, size: str) -> tuple[Row, ...]:
    """Each question's median time beside its limit, and beside the raw rows where there is one."""
    users, days, interval_s = SIZES[size]
    with ground(settings, users=users, per_user=5, interval_s=interval_s) as engine:
        count = fill(engine, days=days, interval_s=interval_s)
        with engine.connect() as db:
            found = [
                row
                for question in _questions(db, days, f"{count / 1e6:.1f} million readings")
                for row in _rows(db, question, raw_rounds=3 if size == "small" else 1)
            ]
        return tuple(found)


def fill(engine: Engine, *, days: int, interval_s: int) -> int:
    """Store the history and roll it up; how many readings."""
    with engine.connect() as db:
        known = levels(db)
    count = 0
    for day in range(days):
        of = history.day_of_channels(known, day=day, interval_s=interval_s)
        for frame in history.frames(of, worker="fill", first=day * 100_000, size=200_000):
            with engine.begin() as db:
                count += readings.store(db, frame.content)
    until = FIRST + timedelta(days=days)
    ids = list(known)
    for start in range(0, len(ids), dirt.TOGETHER):
        part = ids[start : start + dirt.TOGETHER]
        with engine.begin() as db:
            dirt.put(db, {c: dirt.Mark(since=FIRST, until=until) for c in part}, why=dirt.ROLLUP)
        roll_up(engine)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as db:
        db.execute(text("VACUUM ANALYZE"))
    return count


def _questions(db: Connection, days: int, held: str) -> tuple[_Question, ...]:
    ids = channels(db)
    flows, until = channels(db, "flow"), FIRST + timedelta(days=days)
    some, ten, one = ids[:500], ids[:10], ids[len(ids) // 2]
    last = until - timedelta(hours=1)
    first_day, last_day = date(2026, 1, 1), date(2026, 1, 1) + timedelta(days=days)
    raw = {"ids": ten, "since": FIRST, "until": until, "flows": flows}
    return (
        _Question(
            what=f"last values of {len(some)} channels, {held}",
            limit_ms=5,
            ask=lambda db: readings.latest(db, some, since=last),
        ),
        _Question(
            what="24 hours of a channel",
            limit_ms=5,
            ask=lambda db: readings.usable(db, [one], since=until - timedelta(days=1), until=until),
        ),
        _Question(
            what=f"{days} days by hours of 10 channels",
            limit_ms=100,
            ask=lambda db: hourly(db, ten, days),
            raw=lambda db: db.execute(_HOURS, raw).all(),
        ),
        _Question(
            what=f"daily loads of {len(flows)} users over {days} days",
            limit_ms=200,
            ask=lambda db: rollups.days(db, flows, since=first_day, until=last_day),
            raw=lambda db: db.execute(_DAYS, raw).all(),
        ),
    )


def hourly(db: Connection, ids: list[int], days: int) -> dict[int, np.ndarray]:
    """Time-weighted hourly means of channels, from their quarters."""
    found = rollups.quarters(db, ids, since=FIRST, until=FIRST + timedelta(days=days))
    means = {}
    for channel, of in found.items():
        hour = of.start_us // 3_600_000_000
        begins = np.flatnonzero(np.diff(hour, prepend=-1))
        held = np.add.reduceat(of.held_us, begins) / 1e6
        with np.errstate(invalid="ignore", divide="ignore"):
            means[channel] = np.add.reduceat(of.area, begins) / held
    return means


def _rows(db: Connection, question: _Question, *, raw_rounds: int) -> list[Row]:
    ours = median_ms(lambda: question.ask(db))
    rows = [
        Row(
            what=question.what,
            figure=ours,
            unit="ms",
            against="the limit",
            against_figure=question.limit_ms,
            is_less_better=True,
        )
    ]
    if question.raw is not None:
        by_sql = question.raw
        raw = median_ms(lambda: by_sql(db), rounds=raw_rounds)
        rows.append(
            Row(
                what=question.what,
                figure=ours,
                unit="ms",
                against="SQL over the raw rows",
                against_figure=raw,
                is_less_better=True,
            )
        )
    return rows
