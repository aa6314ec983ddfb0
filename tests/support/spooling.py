"""What tests of the spool share: readings of one channel by their seconds, in and out again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from compliance.model.periods import to_us
from compliance.model.readings import Reading
from compliance.model.units import Unit
from compliance.records import tuples
from compliance.records.batch import ReadingBatch, from_readings
from ingest.outlet import Lane
from ingest.segments import Taken
from ingest.spool import Spool

AT = datetime(2026, 7, 1, tzinfo=UTC)


def readings(start: int, count: int) -> ReadingBatch:
    return from_readings(
        [
            Reading(channel_id=1, read_at=AT + timedelta(seconds=s), value=float(s), unit=Unit.GPM)
            for s in range(start, start + count)
        ]
    )


def at(second: int) -> int:
    return to_us(AT) + second * 1_000_000


def opened(folder: Path, **more: int) -> Spool:
    return Spool(folder, worker="w", now=lambda: AT, **more)


def seconds(content: bytes) -> list[int]:
    return [(row[1] - to_us(AT)) // 1_000_000 for row in tuples.rows(content)]


def one(spool: Spool, lane: Lane = Lane.BACKLOG) -> Taken | None:
    """The next frame of a lane."""
    return next(iter(spool.outlet.take(lane, frames=1)), None)


def drained(spool: Spool, lane: Lane = Lane.BACKLOG) -> list[int]:
    """The seconds of all readings that come out of a lane, each frame acknowledged."""
    found: list[int] = []
    while taken := one(spool, lane):
        found += seconds(taken.frame.content) if taken.frame else []
        spool.outlet.ack(lane, taken)
    return found


def filled(folder: Path, *, frames: int, each: int = 3) -> None:
    with opened(folder) as spool:
        for i in range(frames):
            spool.put(readings(i * each, each))
            spool.commit()


def written(spool: Spool, *starts: int, each: int = 3) -> None:
    for start in starts:
        spool.put(readings(start, each))
        spool.commit()
