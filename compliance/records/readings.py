"""Readings in and out: stored by COPY, read as arrays; every query is bounded in time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import psycopg
from numpy.typing import NDArray
from sqlalchemy import Connection, and_, func, lateral, select, text, true
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import DataError, IntegrityError

from compliance.errors import StorageError
from compliance.model.commissioning import uncounted
from compliance.model.periods import EPOCH, to_us
from compliance.model.readings import STORED_UNJUDGED, Quality, Reading, Series, Times
from compliance.model.units import Unit
from compliance.model.windows import inside
from compliance.records import counting, tables, windows
from compliance.records.batch import COLUMNS, COPY_END, COPY_START, EPOCH_2000_US, unpack_words

DEFAULT_INTERVAL_US = 60_000_000
"""Of a channel whose cadence nobody declared."""

_LIST = ", ".join(COLUMNS)
COPY_IN = f"COPY {{}} ({_LIST}) FROM {{}} (FORMAT BINARY)"
STAGING = "CREATE TEMP TABLE IF NOT EXISTS staging (LIKE reading) ON COMMIT DROP"
FROM_STAGING = (
    f"INSERT INTO reading ({_LIST}) SELECT {_LIST} FROM staging"  # noqa: S608 - constants
    " ON CONFLICT DO NOTHING"
)
_COPY_OUT = (
    "COPY (SELECT channel_id, read_at, coalesce(value, 'NaN'), quality FROM reading"
    " WHERE channel_id = ANY(%s) AND read_at >= %s AND read_at < %s"
    " ORDER BY channel_id, read_at) TO STDOUT (FORMAT BINARY)"
)
_OUT = np.dtype(
    [
        ("fields", ">i2"),
        ("n1", ">i4"),
        ("channel_id", ">i4"),
        ("n2", ">i4"),
        ("read_at", ">i8"),
        ("n3", ">i4"),
        ("value", ">f8"),
        ("n4", ">i4"),
        ("quality", ">i2"),
    ]
)


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
    key = insert(tables.batch).values(id=batch_id, worker=worker, sequence=sequence, readings=count)
    fresh = key.on_conflict_do_nothing(index_elements=["worker", "sequence"])
    return db.execute(fresh.returning(tables.batch.c.id)).first() is not None


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
    db.execute(
        tables.dirty.insert().values(
            batch_id=batch_id, channels=list(channels), since=since, until=until, why=why
        )
    )
    db.execute(text("NOTIFY pretreat_dirty"))


def store(db: Connection, content: bytes) -> int:
    """Copy tuples in; how many are new. What the server then refuses is rolled back to here."""
    try:
        with db.begin_nested():
            return _copy(db, "reading", content)
    except psycopg.errors.UniqueViolation:
        return _store_by_staging(db, content)


def _store_by_staging(db: Connection, content: bytes) -> int:
    db.execute(text(STAGING))
    db.execute(text("TRUNCATE staging"))
    _copy(db, "staging", content)
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
    Source: COPY binary out of the server, which numpy reads in place; a NULL comes as NaN.
    """
    data = b"".join(_copied(db, channels, since, until))
    found = np.frombuffer(data[len(COPY_START) : -len(COPY_END)], _OUT)
    ids = found["channel_id"].astype(np.int64)
    at_us = found["read_at"].astype(np.int64) + EPOCH_2000_US
    cadences = _cadences(db, channels)
    declared = windows.by_channel(db, channels, since=since, until=until)
    counted_in = counting.spans(db, channels)
    series = {}
    for channel in channels:
        part = slice(*np.searchsorted(ids, [channel, channel + 1]))
        quality = found["quality"][part].astype(np.int64)
        quality[inside(at_us[part], declared.get(channel, ()))] |= int(Quality.MAINTENANCE)
        outside = uncounted(at_us[part], counted_in.get(channel, ()))
        quality[outside] |= int(Quality.NOT_COMMISSIONED)
        series[channel] = Series(
            at_us=at_us[part],
            value=found["value"][part].astype(np.float64),
            quality=quality,
            interval_us=_interval(at_us[part], cadences.get(channel, ())),
        )
    return series


def _copied(
    db: Connection, channels: Sequence[int], since: datetime, until: datetime
) -> Iterator[bytes]:
    with (
        _raw(db).cursor() as cursor,
        cursor.copy(_COPY_OUT, (list(channels), since, until)) as copy,
    ):
        for piece in copy:
            yield bytes(piece)


def _cadences(db: Connection, channels: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    t = tables.channel_cadence
    found = db.execute(
        select(t.c.channel_id, t.c.since, t.c.interval_ms)
        .where(t.c.channel_id.in_(channels))
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
    newest row of each channel comes from its own end of the index, and where a declared window
    holds it, what may be judged is looked for before that window.
    """
    c, r, w = tables.channel, tables.reading, tables.declared_window
    wanted = ("read_at", "value", "quality", "offset_ms", "device_offset_ms")
    recent = (
        select(*(r.c[name] for name in wanted))
        .where(r.c.channel_id == c.c.id, r.c.read_at >= since, r.c.read_at < until)
        .order_by(r.c.read_at.desc())
        .limit(1)
    )
    new = lateral(recent, "newest")
    begun = select(func.min(w.c.since).label("since"))
    held = lateral(begun.where(windows.holding(c.c.id, new.c.read_at)), "held")
    judged = recent.where(
        r.c.value.is_not(None),
        r.c.quality.op("&")(STORED_UNJUDGED) == 0,
        r.c.read_at < func.coalesce(held.c.since, text("'infinity'::timestamptz")),
        windows.outside(c.c.id, r.c.read_at),
    )
    good = lateral(judged, "newest_valid")
    found = db.execute(
        select(c.c.id, c.c.unit, held.c.since, *new.c, *good.c)
        .select_from(c.join(new, true()).join(held, true()).outerjoin(good, true()))
        .where(c.c.id.in_(channels))
    )
    return {
        row[0]: Latest(
            reading=_reading(row[0], row[1], row[3:8], is_held=row[2] is not None),
            valid=None if row[8] is None else _reading(row[0], row[1], row[8:13]),
        )
        for row in (tuple(row) for row in found)
    }


def _reading(channel: int, unit: str, row: Sequence[object], *, is_held: bool = False) -> Reading:
    read_at, value, quality, offset_ms, device_offset_ms = row
    held = Quality.MAINTENANCE if is_held else Quality.GOOD
    return Reading(
        channel_id=channel,
        read_at=read_at,  # type: ignore[arg-type]
        value=value,  # type: ignore[arg-type]
        unit=Unit(unit),
        quality=Quality(quality) | held,  # type: ignore[arg-type]
        offset_ms=offset_ms,  # type: ignore[arg-type]
        device_offset_ms=device_offset_ms,  # type: ignore[arg-type]
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
