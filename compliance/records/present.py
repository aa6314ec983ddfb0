"""Readings that come although one of their slot is there: which of them say something else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import psycopg
from sqlalchemy import ARRAY, Connection, Double, Integer, bindparam, text

from compliance.model.readings import STORED_UNJUDGED
from compliance.records.batch import COLUMNS, COPY_END, COPY_START

_COPY = f"COPY arriving ({', '.join(COLUMNS)}) FROM STDIN (FORMAT BINARY)"
_DIFFERING = text(
    """
    SELECT a.channel_id, a.read_at, there.value, a.value
    FROM arriving a
    JOIN unnest(:channels, :tolerances) AS known (channel_id, tolerance) USING (channel_id)
    CROSS JOIN LATERAL (
        SELECT r.value, r.quality FROM reading r
        WHERE r.channel_id = a.channel_id AND r.read_at = a.read_at
        LIMIT 1
    ) there
    WHERE (there.value IS NULL) <> (a.value IS NULL)
       OR ((there.quality & :unjudged) = 0) <> ((a.quality & :unjudged) = 0)
       OR abs(there.value - a.value) > known.tolerance
    ORDER BY a.channel_id, a.read_at
    """
).bindparams(
    bindparam("channels", type_=ARRAY(Integer)), bindparam("tolerances", type_=ARRAY(Double))
)
"""One look into the key for each row: a join would be free to read the whole table."""

_PRESENT = text(
    """
    SELECT count(*)
    FROM arriving a
    CROSS JOIN LATERAL (
        SELECT FROM reading r
        WHERE r.channel_id = a.channel_id AND r.read_at = a.read_at
        LIMIT 1
    ) there
    """
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """A reading that is there, and another value that came for its slot; None where missing."""

    channel_id: int
    read_at: datetime
    stored: float | None
    found: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Of readings that come: how many slots have one, and which differ, by channel and time."""

    present: int
    differing: tuple[Differing, ...]


def compare(db: Connection, content: bytes, *, tolerances: Mapping[int, float]) -> Compared:
    """Readings in COPY tuples beside those of their slots; nothing is stored.

    tolerances: by channel, up to which two values are the same. A missing value differs from a
    number, and one that may be judged from one that may not.
    """
    _arrive(db, content)
    found = db.execute(
        _DIFFERING,
        {
            "channels": list(tolerances),
            "tolerances": list(tolerances.values()),
            "unjudged": STORED_UNJUDGED,
        },
    )
    differing = tuple(
        Differing(channel_id=channel, read_at=at, stored=stored, found=came)
        for channel, at, stored, came in found
    )
    return Compared(present=int(db.scalar(_PRESENT) or 0), differing=differing)


def _arrive(db: Connection, content: bytes) -> None:
    db.execute(text("CREATE TEMP TABLE IF NOT EXISTS arriving (LIKE reading) ON COMMIT DROP"))
    db.execute(text("TRUNCATE arriving"))
    raw = db.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    with raw.cursor() as cursor, cursor.copy(_COPY.encode()) as copy:
        for part in (COPY_START, content, COPY_END):
            copy.write(part)
