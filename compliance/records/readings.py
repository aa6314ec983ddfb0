"""Readings in and out: stored by COPY, read as arrays; every query is bounded in time."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    FromClause,
    Integer,
    Select,
    and_,
    any_,
    bindparam,
    cast,
    func,
    lateral,
    not_,
    select,
    text,
    true,
    type_coerce,
)
from sqlalchemy.exc import DataError, IntegrityError, OperationalError

from compliance.errors import StorageError
from compliance.model.commissioning import uncounted
from compliance.model.periods import EPOCH, to_us
from compliance.model.readings import STORED_UNJUDGED, Quality, Reading, Series, Times
from compliance.model.units import Unit
from compliance.model.windows import inside
from compliance.records import counting, late, tables, timescale, windows
from compliance.records.arrays import Int4Array, Whole
from compliance.records.batch import COLUMNS, COPY_END, COPY_START, EPOCH_2000_US, unpack_words
from compliance.records.copying import copied, row_of
from compliance.records.overlay import corrected, laid_over

_HELD = int(Quality.MAINTENANCE)
DEFAULT_INTERVAL_US = 60_000_000
"""Of a channel whose cadence nobody declared."""

DIGESTED_AT_ONCE = 10_000
"""Rows held while a digest is made: months of readings by the second pass through it."""

_LIST = ", ".join(COLUMNS)
COPY_IN = f"COPY {{}} ({_LIST}) FROM {{}} (FORMAT BINARY)"
STAGING = "CREATE TEMP TABLE IF NOT EXISTS staging (LIKE reading) ON COMMIT DROP"
FROM_STAGING = (
    f"INSERT INTO reading ({_LIST}) SELECT {_LIST} FROM staging"  # noqa: S608 - constants
    " ON CONFLICT DO NOTHING"
)
_KEY = text(
    "INSERT INTO batch (id, worker, sequence, readings)"
    " VALUES (:id, :worker, :sequence, :readings)"
    " ON CONFLICT (worker, sequence) DO NOTHING RETURNING id"
)
_MARK = text(
    "WITH mark AS (INSERT INTO dirty (batch_id, channels, since, until, why)"
    " VALUES (:batch_id, :channels, :since, :until, :why))"
    " SELECT pg_notify('pretreat_dirty', '')"
)
"""Written out, as each live batch runs them: building such a statement takes longer than it."""
_OUT = """
    SELECT channel_id, read_at, coalesce(value, 'NaN'), quality FROM reading
    WHERE channel_id = ANY(%s) AND read_at >= %s AND read_at < %s
    ORDER BY channel_id, read_at
"""
_ROW = row_of(("channel_id", "i4"), ("read_at", "i8"), ("value", "f8"), ("quality", "i2"))


class RefusedBatch(StorageError):
    """The database refuses the content of a batch, and would again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latest:
    """The newest reading of a channel, and the newest that may be judged, where there is one."""

    reading: Reading
    valid: Reading | None


# -- in


def append(  # noqa: PLR0913 - a batch and its key
    db: Connection,
    *,
    worker: str,
    sequence: int,
    batch_id: int,
    content: bytes,
    count: int,
    channels: Sequence[int],
    since: datetime,
    until: datetime,
) -> int:
    """Store a batch in the caller's transaction; a reading already there is left as it was.

    content: COPY tuples (``batch.copy_tuples``) of ``count`` readings in ``[since, until)``. The
    batch key makes a second delivery a no-op. Copies straight into the table; only when a reading's
    key is already there does the batch go through a staging table. Returns how many are new.
    Raises: RefusedBatch when the content cannot be stored, now or later.
    """
    try:
        if not first_time(db, worker=worker, sequence=sequence, batch_id=batch_id, count=count):
            return 0
        closed = late.first(db, content, channels=channels, since=since, until=until)
        if closed:
            raise RefusedBatch(f"batch {sequence} of worker {worker} cannot be stored: {closed}")
        new = store(db, content)
    except (psycopg.DataError, psycopg.IntegrityError, DataError, IntegrityError) as error:
        raise RefusedBatch(
            f"batch {sequence} of worker {worker} cannot be stored: {_first_line(error)}"
        ) from error
    if new:
        mark_dirty(db, channels, since=since, until=until, why="batch", batch_id=batch_id)
    return new


def first_time(db: Connection, *, worker: str, sequence: int, batch_id: int, count: int) -> bool:
    """Note the key of a batch of ``count`` readings; False when it came before."""
    key = {"id": batch_id, "worker": worker, "sequence": sequence, "readings": count}
    return db.execute(_KEY, key).first() is not None


def mark_dirty(
    db: Connection,
    channels: Sequence[int],
    *,
    since: datetime,
    until: datetime,
    why: str,
    batch_id: int | None = None,
) -> None:
    """Ask for evaluation of channels over ``[since, until)`` and wake the evaluators at commit.

    batch_id: only the readings of that batch are new; None: all of the span.
    """
    mark = {"batch_id": batch_id, "since": since, "until": until, "why": why}
    db.execute(_MARK, {"channels": Int4Array(channels), **mark})


def store(db: Connection, content: bytes) -> int:
    """Copy tuples in; how many are new. What the server then refuses is rolled back to here."""
    try:
        with db.begin_nested():
            return _copy(db, "reading", content)
    except psycopg.errors.UniqueViolation:
        pass
    except psycopg.Error as error:
        if not timescale.lacks_room(error):
            raise
    return _store_by_staging(db, content)


def _store_by_staging(db: Connection, content: bytes) -> int:
    db.execute(text(STAGING))
    db.execute(text("TRUNCATE staging"))
    _copy(db, "staging", content)
    timescale.make_room(db, "staging")
    try:
        with db.begin_nested():
            return db.execute(text(FROM_STAGING)).rowcount
    except OperationalError as error:
        if not timescale.lacks_room(error.orig):
            raise
    timescale.lift_limit(db)
    return db.execute(text(FROM_STAGING)).rowcount


def _copy(db: Connection, table: str, content: bytes) -> int:
    with _raw(db).cursor() as cursor:
        with cursor.copy(COPY_IN.format(table, "STDIN").encode()) as copy:
            copy.write(COPY_START)
            copy.write(content)
            copy.write(COPY_END)
        return cursor.rowcount


def _raw(db: Connection) -> psycopg.Connection[tuple[object, ...]]:
    raw = db.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    return raw


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


# -- out


def usable(
    db: Connection, channels: Sequence[int], *, since: datetime, until: datetime
) -> dict[int, Series]:
    """The readings of channels in ``[since, until)``, by channel; one without any has an empty one.

    What was read in a declared window in force is marked ``Quality.MAINTENANCE``, and what was
    read while the channel did not count ``Quality.NOT_COMMISSIONED``: here, where every reader
    passes, and not in the table.
    Missing values come as NaN.
    """
    found = copied(db, _OUT, (list(channels), since, until), _ROW)
    ids = found["channel_id"].astype(np.int64)
    at_us = found["read_at"].astype(np.int64) + EPOCH_2000_US
    cadences = _cadences(db, channels)
    declared = windows.by_channel(db, channels, since=since, until=until)
    counted_in = counting.spans(db, channels)
    series = {}
    for channel in channels:
        part = slice(*np.searchsorted(ids, [channel, channel + 1]))
        series[channel] = Series(
            at_us=at_us[part],
            value=found["value"][part].astype(np.float64),
            quality=found["quality"][part].astype(np.int64),
            interval_us=_interval(at_us[part], cadences.get(channel, ())),
        )
    series = corrected(db, series, since=since, until=until)
    for channel, own in series.items():
        own.quality[inside(own.at_us, declared.get(channel, ()))] |= int(Quality.MAINTENANCE)
        outside = uncounted(own.at_us, counted_in.get(channel, ()))
        own.quality[outside] |= int(Quality.NOT_COMMISSIONED)
    return laid_over(db, series, since=since, until=until)


def _cadences(db: Connection, channels: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    t = tables.channel_cadence
    found = db.execute(
        select(t.c.channel_id, t.c.since, t.c.interval_ms)
        .where(t.c.channel_id == any_(cast(list(channels), ARRAY(Integer))))
        .order_by(t.c.channel_id, t.c.since)
    )
    cadences: dict[int, list[tuple[int, int]]] = {}
    for channel, since, interval_ms in found:
        cadences.setdefault(channel, []).append((to_us(since), 1000 * interval_ms))
    return cadences


def _interval(at_us: Times, cadence: Sequence[tuple[int, int]]) -> Times:
    """The interval in force at each instant; before the first declared one, the first."""
    if not cadence:
        return np.full(len(at_us), DEFAULT_INTERVAL_US, np.int64)
    starts, steps = np.array(cadence, np.int64).T
    index: NDArray[np.intp] = np.searchsorted(starts, at_us, side="right") - 1
    intervals: Times = steps[np.maximum(index, 0)]
    return intervals


def latest(
    db: Connection, channels: Sequence[int], *, since: datetime, until: datetime
) -> dict[int, Latest]:
    """The newest reading of each channel in ``[since, until)``, and the newest that may be judged.

    until: now, or a moment later: a reading dated in the future must not hide that none comes.
    A channel without any is left out. Words are not read (``words_at``). One LATERAL query: the
    newest row of each channel comes from its own end of the index. Only where that one may not be
    judged is another looked for, where a declared window holds it before that window.
    """
    wanted = {"channels": Int4Array(channels), "since": since, "until": until}
    found = db.execute(_newest(), wanted)
    return {row[0]: _latest(tuple(row)) for row in found}


@cache
def _newest() -> Select[Any]:
    """Made once: it takes as long as the server does."""
    c, r, w = tables.channel, tables.reading, tables.declared_window
    wanted = ("read_at", "value", "quality", "offset_ms", "device_offset_ms")
    recent = (
        select(*(r.c[name] for name in wanted))
        .where(
            r.c.channel_id == c.c.id,
            r.c.read_at >= bindparam("since"),
            r.c.read_at < bindparam("until"),
        )
        .order_by(r.c.read_at.desc())
        .limit(1)
    )
    new = lateral(recent, "newest")
    begun = select(func.min(w.c.since).label("since"))
    held = lateral(begun.where(windows.holding(c.c.id, new.c.read_at)), "held")
    inside = select(true()).where(windows.holding(c.c.id, r.c.read_at)).correlate(c, r).limit(1)
    judged = recent.where(
        not_(_is_judged(new) & held.c.since.is_(None)),
        _is_judged(r),
        r.c.read_at < func.coalesce(held.c.since, text("'infinity'::timestamptz")),
        inside.scalar_subquery().is_(None),  # no join: the index is read from its end, and left
    )
    good = lateral(judged, "newest_valid")
    return (
        select(c.c.id, c.c.unit, held.c.since, *new.c, *good.c)
        .select_from(c.join(new, true()).join(held, true()).outerjoin(good, true()))
        .where(c.c.id == any_(type_coerce(bindparam("channels", type_=Whole()), ARRAY(Integer))))
    )


def _is_judged(of: FromClause) -> ColumnElement[bool]:
    """The condition that a reading has a value and nothing stored against it."""
    return of.c.value.is_not(None) & (of.c.quality.op("&")(STORED_UNJUDGED) == 0)


def _latest(row: Sequence[Any]) -> Latest:
    """From a channel, its unit, since when it is held, its newest row, and one before that."""
    channel, unit, held = row[:3]
    mark = 0 if held is None else _HELD
    newest = _reading(channel, unit, row[3:8], mark=mark)
    if row[8] is not None:
        return Latest(reading=newest, valid=_reading(channel, unit, row[8:13]))
    is_judged = newest.value is not None and not (row[5] | mark) & (STORED_UNJUDGED | _HELD)
    return Latest(reading=newest, valid=newest if is_judged else None)


def _reading(channel: int, unit: str, row: Sequence[Any], *, mark: int = 0) -> Reading:
    read_at, value, quality, offset_ms, device_offset_ms = row
    return Reading(
        channel_id=channel,
        read_at=read_at,
        value=value,
        unit=Unit(unit),
        quality=Quality(quality | mark),
        offset_ms=offset_ms,
        device_offset_ms=device_offset_ms,
    )


def words_at(db: Connection, channel: int, at: datetime, *, count: int) -> tuple[int, ...] | None:
    """The registers as they came with one reading; None where there is none or it had no words.

    count: how many registers the channel's map entry has.
    """
    r = tables.reading
    packed = db.scalar(select(r.c.words).where(and_(r.c.channel_id == channel, r.c.read_at == at)))
    return None if packed is None else unpack_words(packed, count)


def digest(db: Connection, channel: int, since: datetime, until: datetime) -> str:
    """SHA-256 over a channel's readings in ``[since, until)``, one canonical line each.

    A line: microseconds since 1970, value as Python writes a float (empty when missing), quality,
    packed words; separated by commas, ended by a line feed. Batch and clock offsets are left out.
    """
    r = tables.reading
    found = db.execute(
        select(r.c.read_at, r.c.value, r.c.quality, r.c.words)
        .where(r.c.channel_id == channel, r.c.read_at >= since, r.c.read_at < until)
        .order_by(r.c.read_at)
        .execution_options(yield_per=DIGESTED_AT_ONCE)
    )
    seal = hashlib.sha256()
    for at, value, quality, words in found:
        shown = "" if value is None else repr(float(value))
        sealed = "" if words is None else words
        line = f"{(at - EPOCH) // timedelta(microseconds=1)},{shown},{quality},{sealed}\n"
        seal.update(line.encode())
    return seal.hexdigest()


def counted(db: Connection, *, since: datetime, until: datetime) -> int:
    """How many readings there are in ``[since, until)``."""
    r = tables.reading
    return (
        db.scalar(
            select(func.count()).select_from(r).where(r.c.read_at >= since, r.c.read_at < until)
        )
        or 0
    )
