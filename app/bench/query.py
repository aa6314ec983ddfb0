"""`bench query`: what pages and reports ask, over millions of readings, beside the limit of each.

Asked through the functions that pages use. The daily loads and the hourly means are also asked of
the raw rows by SQL, so that the worth of the rollups is seen. For growth, the same questions on the
newest days are asked when a tenth of the history is there and again when all of it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial

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
GROWN = 10
"""The history grows so many times; a question may then take twice as long."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Days:
    """Days after the start, from the one up to the other."""

    start: int
    end: int

    @property
    def since(self) -> datetime:
        return FIRST + timedelta(days=self.start)

    @property
    def until(self) -> datetime:
        return FIRST + timedelta(days=self.end)

    def __len__(self) -> int:
        return self.end - self.start


def rows(settings: Settings, size: str) -> tuple[Row, ...]:
    """Each question's median time beside its limit, the raw rows, and a history of a tenth."""
    users, days, interval_s = SIZES[size]
    early = max(1, days // GROWN)
    with ground(settings, users=users, per_user=5, interval_s=interval_s) as engine:
        count = fill(engine, _Days(start=0, end=early), interval_s=interval_s)
        young, before = f"{count / 1e6:.2g}", _timed(engine, _Days(start=0, end=early))
        count += fill(engine, _Days(start=early, end=days), interval_s=interval_s)
        after = _timed(engine, _Days(start=days - early, end=days))
        with engine.connect() as db:
            found = [
                row
                for question in _questions(db, _Days(start=0, end=days))
                for row in _rows(db, question, raw_rounds=3 if size == "small" else 1)
            ]
    held = f"{count / 1e6:.2g} million readings"
    growth = [_growth(what, after[what], before[what], f"{held} after {young}") for what in after]
    return tuple(replace(row, what=f"{row.what}, {held}") for row in found) + tuple(growth)


def _growth(what: str, after: float, before: float, told: str) -> Row:
    return Row(
        what=f"growth: {what}, {told}",
        figure=after,
        unit="ms",
        against="the same while the history was short",
        against_figure=before,
        is_less_better=True,
    )


def fill(engine: Engine, days: _Days, *, interval_s: int) -> int:
    """Store these days and roll them up; how many readings."""
    with engine.connect() as db:
        known = levels(db)
    count = 0
    for day in range(days.start, days.end):
        of = history.day_of_channels(known, day=day, interval_s=interval_s)
        for frame in history.frames(of, worker="fill", first=day * 100_000, size=200_000):
            with engine.begin() as db:
                count += readings.store(db, frame.content)
    ids = list(known)
    mark = dirt.Mark(since=days.since, until=days.until)
    for start in range(0, len(ids), dirt.TOGETHER):
        with engine.begin() as db:
            dirt.put(db, dict.fromkeys(ids[start : start + dirt.TOGETHER], mark), why=dirt.ROLLUP)
        roll_up(engine)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as db:
        db.execute(text("VACUUM ANALYZE"))
    return count


def _questions(db: Connection, days: _Days) -> tuple[_Question, ...]:
    ids, flows, until = channels(db), channels(db, "flow"), days.until
    some, ten, one = ids[:500], ids[:10], ids[len(ids) // 2]
    begin = date(2026, 1, 1) + timedelta(days=days.start)
    raw = {"ids": ten, "since": days.since, "until": until, "flows": flows}
    return (
        _Question(
            what=f"last values of {len(some)} channels",
            limit_ms=5,
            ask=lambda db: readings.latest(db, some, since=until - timedelta(hours=1), until=until),
        ),
        _Question(
            what="24 hours of a channel",
            limit_ms=5,
            ask=lambda db: readings.usable(db, [one], since=until - timedelta(days=1), until=until),
        ),
        _Question(
            what=f"{len(days)} days by hours of 10 channels",
            limit_ms=100,
            ask=lambda db: hourly(db, ten, days),
            raw=lambda db: db.execute(_HOURS, raw).all(),
        ),
        _Question(
            what=f"daily loads of {len(flows)} users over {len(days)} days",
            limit_ms=200,
            ask=lambda db: rollups.days(
                db, flows, since=begin, until=begin + timedelta(days=len(days))
            ),
            raw=lambda db: db.execute(_DAYS, raw).all(),
        ),
    )


def hourly(db: Connection, ids: list[int], days: _Days) -> dict[int, np.ndarray]:
    """Time-weighted hourly means of channels, from their quarters."""
    found = rollups.quarters(db, ids, since=days.since, until=days.until)
    means = {}
    for channel, of in found.items():
        hour = of.start_us // 3_600_000_000
        begins = np.flatnonzero(np.diff(hour, prepend=-1))
        held = np.add.reduceat(of.held_us, begins) / 1e6
        with np.errstate(invalid="ignore", divide="ignore"):
            means[channel] = np.add.reduceat(of.area, begins) / held
    return means


def _timed(engine: Engine, days: _Days) -> dict[str, float]:
    """The median milliseconds of each question on some days."""
    with engine.connect() as db:
        return {one.what: median_ms(partial(one.ask, db)) for one in _questions(db, days)}


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
