"""Parts of an export into the database, one transaction each: what is new, there, or differs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine

from compliance.errors import InputError
from compliance.model.history import Piece
from compliance.model.periods import from_us
from compliance.model.readings import STORED_UNJUDGED
from compliance.records import present, readings
from compliance.records.batch import Frame, batch, frame
from compliance.records.present import Differing

_PART_BITS = 17
_FILE_BITS = 25
MOST_PARTS = 1 << _PART_BITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a part. new: readings stored; present: slots that had one; repeated: rows
    that say again what an earlier row of the part says; differing: values that were not taken."""

    new: int
    present: int
    repeated: int
    differing: tuple[Differing, ...]


NOTHING = Outcome(new=0, present=0, repeated=0, differing=())


def worker_of(sha256: str) -> str:
    """The name under which the batches of a file are kept."""
    return f"import:{sha256[:32]}"


def store(
    engine: Engine, piece: Piece, *, sha256: str, tolerances: Mapping[int, float], dry: bool = False
) -> Outcome:
    """Store a part of the file with that hash; a reading already there is left as it was.

    The same part with the same readings is stored once, by its key. tolerances: by channel, up to
    which two values are the same. dry: look, and change nothing.
    """
    if not len(piece):
        return NOTHING
    kept, repeated, inside = _once(piece, tolerances)
    made = _frame(kept, sha256)
    known = {channel: tolerances[channel] for channel in made.channels}
    with engine.begin() as db:
        new = 0 if dry else _append(db, made, worker_of(sha256))
        if new == made.count:
            return Outcome(new=new, present=0, repeated=repeated, differing=inside)
        found = present.compare(db, made.content, tolerances=known)
    there = found.present if dry else made.count - new
    return Outcome(
        new=made.count - there,
        present=there,
        repeated=repeated,
        differing=(*inside, *found.differing),
    )


def _append(db: Connection, made: Frame, worker: str) -> int:
    return readings.append(
        db,
        worker=worker,
        sequence=made.sequence,
        batch_id=made.batch_id,
        content=made.content,
        count=made.count,
        channels=made.channels,
        since=made.since,
        until=made.until,
    )


def _frame(piece: Piece, sha256: str) -> Frame:
    if piece.number >= MOST_PARTS:
        raise InputError(
            f"the file has more than {MOST_PARTS} parts; expected at most 128 GiB of text: split it"
        )
    many = batch(piece.channel_id, piece.at_us, piece.value, quality=piece.quality)
    return frame(many, worker=worker_of(sha256), sequence=sequence(piece, sha256))


def sequence(piece: Piece, sha256: str) -> int:
    """The key of a part: its number, and above it a hash of the file and of what it holds.

    The content counts too: the same lines mean more once a missing channel is added to the site.
    """
    seal = hashlib.sha256(sha256.encode())
    for column in (piece.channel_id, piece.at_us, piece.value, piece.quality):
        seal.update(np.ascontiguousarray(column).tobytes())
    high = int.from_bytes(seal.digest()[:4], "big") >> (32 - _FILE_BITS)
    return high << _PART_BITS | piece.number


def _once(
    piece: Piece, tolerances: Mapping[int, float]
) -> tuple[Piece, int, tuple[Differing, ...]]:
    """Each slot once, by channel and time: the first row of the file counts."""
    order = np.lexsort((piece.row, piece.at_us, piece.channel_id))
    same = (np.diff(piece.channel_id[order]) == 0) & (np.diff(piece.at_us[order]) == 0)
    if not same.any():
        return piece.take(order), 0, ()
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    kept = piece.take(order[starts])
    leader = np.repeat(order[starts], np.diff(np.append(starts, len(order))))
    later = np.flatnonzero(np.concatenate([[False], same]))
    pairs = zip(leader[later], order[later], strict=True)
    differing = tuple(
        _differing(piece, a, b) for a, b in pairs if _differs(piece, a, b, tolerances)
    )
    return kept, len(later) - len(differing), differing


def _differs(piece: Piece, one: np.intp, two: np.intp, tolerances: Mapping[int, float]) -> bool:
    values = piece.value[[one, two]]
    judged = (piece.quality[[one, two]] & STORED_UNJUDGED) == 0
    if judged[0] != judged[1] or np.isnan(values[0]) != np.isnan(values[1]):
        return True
    return bool(abs(values[0] - values[1]) > tolerances[int(piece.channel_id[one])])


def _differing(piece: Piece, one: np.intp, two: np.intp) -> Differing:
    return Differing(
        channel_id=int(piece.channel_id[one]),
        read_at=from_us(int(piece.at_us[one])),
        stored=_plain(piece.value, one),
        found=_plain(piece.value, two),
    )


def _plain(values: NDArray[np.float64], at: np.intp) -> float | None:
    return None if np.isnan(values[at]) else float(values[at])
