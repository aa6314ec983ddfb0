"""`bench store`: the whole transaction of a batch beside a plain COPY of the same rows.

Ours has the batch key, the rows, the dirty mark and the notice in one transaction. The plain limit
copies the same tuples into an equal table and commits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import psycopg
from sqlalchemy import Engine

from app.bench import history
from app.bench.ground import FIRST, ground, levels
from compliance.model.bench import Row
from compliance.model.periods import to_us
from compliance.records import readings, timescale
from compliance.records.batch import COLUMNS, COPY_END, COPY_START, Frame
from compliance.records.engine import raw_connection
from compliance.settings import Settings

SIZES = {"small": (20, 1, 20), "full": (200, 20, 400)}
"""Users of five channels, days of a reading a minute, and live batches."""
FRAME = 5000
LIVE = 5000
TURN = 10
"""So many frames of ours, then as many of the plain limit."""
_PLAIN = f"COPY plain ({', '.join(COLUMNS)}) FROM STDIN WITH (FORMAT binary)"


def rows(settings: Settings, size: str) -> tuple[Row, ...]:
    """Backlog, live batches of one reading a channel, and a full replay."""
    users, days, batches = SIZES[size]
    with ground(settings, users=users, per_user=5, interval_s=60) as engine:
        with engine.begin() as db:
            known = levels(db)
            timescale.make_like_reading(db, "plain")
        made = [
            frame
            for day in range(days)
            for frame in history.frames(
                history.day_of_channels(known, day=day, interval_s=60),
                worker="bench",
                first=day * 10_000,
                size=FRAME,
            )
        ]
        backlog = _beside(engine, made, "backlog: frames of 5,000 readings")
        live = _beside(
            engine, _live(days, batches), "live: batches of 5,000 channels, one reading each"
        )
        again = _renamed(made)
        replay = Row(
            what="full replay: the same readings under new batch keys",
            figure=_rate(lambda one: _append(engine, one), again),
            unit="readings/s",
            against="plain COPY BINARY of the backlog, a commit each",
            against_figure=backlog.against_figure,
        )
        return backlog, live, replay


def _live(days: int, batches: int) -> list[Frame]:
    many = dict.fromkeys(range(1_000_000, 1_000_000 + LIVE), 7.4)
    of = history.day_of_channels(many, day=days + 1, interval_s=86_400 // batches)
    return list(history.frames(of, worker="live", first=1, size=LIVE))


def _beside(engine: Engine, made: Sequence[Frame], what: str) -> Row:
    """Ours and the plain limit by turns, so that what disturbs the machine disturbs both."""
    ours = theirs = 0.0
    count = sum(one.count for one in made)
    with raw_connection(engine) as plain:
        for start in range(0, len(made), TURN):
            part = made[start : start + TURN]
            ours += _seconds(lambda one: _append(engine, one), part)
            theirs += _seconds(lambda one: _copy(plain, one), part)
    return Row(
        what=what,
        figure=count / ours,
        unit="readings/s",
        against="plain COPY BINARY of the same tuples, a commit each",
        against_figure=count / theirs,
    )


def _rate(work: Callable[[Frame], object], made: Sequence[Frame]) -> float:
    return sum(one.count for one in made) / _seconds(work, made)


def _seconds(work: Callable[[Frame], object], made: Sequence[Frame]) -> float:
    started = time.perf_counter()
    for one in made:
        work(one)
    return time.perf_counter() - started


def _append(engine: Engine, one: Frame) -> None:
    with engine.begin() as db:
        readings.append(
            db,
            worker=f"bench-{one.batch_id >> 42}",
            sequence=one.sequence,
            batch_id=one.batch_id,
            content=one.content,
            count=one.count,
            channels=one.channels,
            since=one.since,
            until=one.until,
        )


def _copy(plain: psycopg.Connection[tuple[object, ...]], one: Frame) -> None:
    with plain.transaction(), plain.cursor() as cursor, cursor.copy(_PLAIN.encode()) as copy:
        copy.write(COPY_START)
        copy.write(one.content)
        copy.write(COPY_END)


def _renamed(made: Sequence[Frame]) -> list[Frame]:
    """The same content under other keys: a worker that lost its memory sends all again."""
    shift = to_us(FIRST) // 1_000_000
    return [
        Frame(
            sequence=one.sequence + shift,
            batch_id=one.batch_id + shift,
            count=one.count,
            channels=one.channels,
            since_us=one.since_us,
            until_us=one.until_us,
            content=one.content,
        )
        for one in made
    ]
