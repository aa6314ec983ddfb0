"""History by the same path: arrays become batches like any other; exports: ``ingest.history``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine

from compliance.model.readings import Quality, Times, Values
from compliance.records import readings
from compliance.records.batch import Frame, batch, decode, encode, first_sequence, frame

COLUMNS = ("at", "point", "parameter", "value", "unit")
QUALITIES = {
    "": Quality.GOOD,
    "good": Quality.GOOD,
    "suspect": Quality.DECLARED_SUSPECT,
    "bad": Quality.DECLARED_BAD,
    "missing": Quality.MISSING_MARK,
    "maintenance": Quality.MAINTENANCE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Readings of one channel as arrays of one length.

    at_us: microseconds since 1970, in any order; value: in the channel's unit, NaN where missing
    (then the quality says why); quality: bits of ``Quality``; words: packed registers, where known.
    """

    at_us: Times
    value: Values
    quality: NDArray[np.integer]
    words: NDArray[np.int64] | None = None


def store(
    engine: Engine,
    *,
    worker: str,
    series: Mapping[int, History],
    frame_rows: int = 50_000,
    now: datetime | None = None,
) -> int:
    """Store history by channel, one transaction a frame; how many readings are new.

    worker: the name under which the batches are kept. now: what the batch numbers start from,
    else the clock. A reading already there is left as it was, so that it may be run again.
    Raises: InputError for a missing value without a reason.
    """
    sequence = first_sequence(now or datetime.now(UTC))
    new = 0
    for number, made in enumerate(_frames(series, worker, sequence, frame_rows)):
        sent, _ = decode(encode(made))
        with engine.begin() as db:
            new += readings.append(
                db,
                worker=worker,
                sequence=sequence + number,
                batch_id=sent.batch_id,
                content=sent.content,
                count=sent.count,
                channels=sent.channels,
                since=sent.since,
                until=sent.until,
            )
    return new


def _frames(
    series: Mapping[int, History], worker: str, sequence: int, frame_rows: int
) -> Iterator[Frame]:
    """Frames of about ``frame_rows`` readings; a channel is cut only where it is longer."""
    group: list[tuple[int, History]] = []
    for part in _parts(series, frame_rows):
        if group and sum(len(h.at_us) for _, h in [*group, part]) > frame_rows:
            yield _frame(group, worker, sequence)
            group, sequence = [], sequence + 1
        group.append(part)
    if group:
        yield _frame(group, worker, sequence)


def _parts(series: Mapping[int, History], frame_rows: int) -> Iterator[tuple[int, History]]:
    for channel, history in series.items():
        for start in range(0, len(history.at_us), frame_rows):
            cut = slice(start, start + frame_rows)
            yield (
                channel,
                History(
                    at_us=history.at_us[cut],
                    value=history.value[cut],
                    quality=history.quality[cut],
                    words=None if history.words is None else history.words[cut],
                ),
            )


def _frame(group: Sequence[tuple[int, History]], worker: str, sequence: int) -> Frame:
    ids = np.concatenate([np.full(len(h.at_us), channel) for channel, h in group])
    known = [np.full(len(h.at_us), h.words is not None) for _, h in group]
    words = [np.zeros(len(h.at_us), np.int64) if h.words is None else h.words for _, h in group]
    many = batch(
        ids,
        np.concatenate([h.at_us for _, h in group]),
        np.concatenate([h.value for _, h in group]),
        quality=np.concatenate([h.quality for _, h in group]),
        words=np.concatenate(words),
        has_words=np.concatenate(known),
    )
    return frame(many, worker=worker, sequence=sequence)
