"""Frames that arrive, from a spool or by HTTPS: stored once, and what is bad in them set aside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from psycopg import DataError as RawDataError
from psycopg import IntegrityError as RawIntegrityError
from sqlalchemy import Connection, func, select
from sqlalchemy.exc import DataError, IntegrityError

from compliance.model.periods import to_us
from compliance.records import gaps, late, readings, tables, tuples
from compliance.records.batch import Frame, Kind, gap_of

MOST_SINGLE = 100
"""So many bad readings of a frame are set aside one by one; the bad rest in larger pieces."""
AHEAD = timedelta(minutes=10)
"""So far may the clock of a worker be ahead of the database's; what is later is set aside."""
_REFUSALS = (RawDataError, RawIntegrityError, DataError, IntegrityError)


@dataclass(frozen=True, slots=True)
class Arrived:
    """What became of frames: readings new to the database, and pieces set aside."""

    stored: int = 0
    quarantined: int = 0

    def __add__(self, other: Arrived) -> Arrived:
        return Arrived(self.stored + other.stored, self.quarantined + other.quarantined)


def store(db: Connection, frames: Sequence[Frame], *, worker: str) -> Arrived:
    """Store frames in the caller's transaction; one that came before is left as it was.

    A reading that the database refuses, or that is dated ``AHEAD`` of its clock, is set aside with
    the reason, and the rest of its frame is stored.
    """
    now: datetime = db.execute(select(func.clock_timestamp())).scalar_one()
    return sum((_store(db, frame, worker=worker, now=now) for frame in frames), Arrived())


def _store(db: Connection, frame: Frame, *, worker: str, now: datetime) -> Arrived:
    if frame.kind is Kind.GAP:
        return _store_gap(db, frame, worker=worker)
    if frame.until_us > to_us(now + AHEAD):
        return _sift(db, frame, worker=worker, reason="not a whole reading", now=now)
    try:
        with db.begin_nested():
            new = readings.append(
                db,
                worker=worker,
                sequence=frame.sequence,
                batch_id=frame.batch_id,
                content=frame.content,
                count=frame.count,
                channels=frame.channels,
                since=frame.since,
                until=frame.until,
            )
        return Arrived(new)
    except readings.RefusedBatch as error:
        return _sift(db, frame, worker=worker, reason=str(error), now=now)


def _store_gap(db: Connection, frame: Frame, *, worker: str) -> Arrived:
    fresh = readings.first_time(
        db, worker=worker, sequence=frame.sequence, batch_id=frame.batch_id, count=0
    )
    if fresh:
        gaps.add(db, gap_of(frame), worker=worker)
    return Arrived()


def _sift(db: Connection, frame: Frame, *, worker: str, reason: str, now: datetime) -> Arrived:
    """Store what is sound of a frame, and set the rest aside: what the database refuses as single
    readings, what is dated in the future as one piece. reason: of what is no whole reading."""
    rows, rest = tuples.split(frame.content)
    try:
        with db.begin_nested():
            is_first = readings.first_time(
                db,
                worker=worker,
                sequence=frame.sequence,
                batch_id=frame.batch_id,
                count=len(rows),
            )
    except _REFUSALS:
        rows, rest = [], frame.content  # the key itself is refused: another worker has it
        is_first = True
    if not is_first:
        return Arrived()
    rows, closed = late.parted(
        db, rows, channels=frame.channels, since=frame.since, until=frame.until
    )
    rows, ahead = _parted(rows, until_us=to_us(now + AHEAD))
    pieces = [_Piece(*one) for one in closed]
    pieces += [_Piece(rest, reason)] if rest else []
    if ahead:
        pieces.append(
            _Piece(b"".join(ahead), _dated_ahead(frame, worker, count=len(ahead), now=now))
        )
    new = 0
    for outcome in _halved(db, rows):
        if isinstance(outcome, _Piece):
            pieces.append(outcome)
        else:
            new += outcome
    for piece in pieces:
        set_aside(
            db, worker=worker, sequence=frame.sequence, reason=piece.reason, content=piece.content
        )
    if new:
        readings.mark_dirty(
            db,
            frame.channels,
            since=frame.since,
            until=frame.until,
            why="batch",
            batch_id=frame.batch_id,
        )
    return Arrived(new, len(pieces))


def _parted(rows: Sequence[bytes], *, until_us: int) -> tuple[list[bytes], list[bytes]]:
    """Rows up to an instant, and those that are later."""
    sides: tuple[list[bytes], list[bytes]] = [], []
    for row in rows:
        key = tuples.key(row)
        sides[key is not None and key.at_us > until_us].append(row)
    return sides


def _dated_ahead(frame: Frame, worker: str, *, count: int, now: datetime) -> str:
    minutes = AHEAD // timedelta(minutes=1)
    return (
        f"frame {frame.sequence} of worker {worker} has {count} readings dated later than "
        f"{minutes} minutes after the server's clock ({now:%Y-%m-%d %H:%M} UTC), expected none: "
        "set the clock that is wrong; the readings are kept here as they came"
    )


@dataclass(frozen=True, slots=True)
class _Piece:
    content: bytes
    reason: str


def _halved(db: Connection, rows: Sequence[bytes]) -> Iterator[int | _Piece]:
    """Rows stored, in ever smaller groups down to the bad ones: how many were new, or what is bad.

    After ``MOST_SINGLE`` bad pieces a group that is refused is given up whole.
    """
    waiting, bad = [rows] if rows else [], 0
    while waiting:
        group = waiting.pop()
        content = b"".join(group)
        try:
            with db.begin_nested():
                new = readings.store(db, content)
        except _REFUSALS as error:
            if len(group) == 1 or bad >= MOST_SINGLE:
                bad += 1
                yield _Piece(
                    content, f"refused by the database: {str(error).partition(chr(10))[0]}"
                )
            else:
                middle = len(group) // 2
                waiting += [group[middle:], group[:middle]]
        else:
            yield new


def other_content(db: Connection, frames: Sequence[Frame], *, worker: str) -> int | None:
    """The sequence of a frame under which another number of readings came before, if any."""
    t = tables.batch.c
    counts = {one.sequence: one.count for one in frames}
    known = db.execute(
        select(t.sequence, t.readings).where(t.worker == worker, t.sequence.in_(counts))
    )
    return next((sequence for sequence, count in known if count != counts[sequence]), None)


def set_aside(
    db: Connection, *, worker: str, sequence: int | None, reason: str, content: bytes
) -> None:
    """Keep in quarantine what cannot be stored, with the reason."""
    db.execute(
        tables.quarantine.insert().values(
            worker=worker, sequence=sequence, reason=reason, content=content
        )
    )
