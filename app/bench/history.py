"""Seeded readings as they come off instruments: noise about a daily course, holes, slugs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from app.bench.ground import FIRST
from compliance.model.periods import to_us
from compliance.model.readings import Quality
from compliance.records.batch import Frame, ReadingBatch, batch, frame

EVENTS = 0.03
"""The share of a channel's days on which something passes a limit."""
_S = 1_000_000


def values(
    random: np.random.Generator, at_s: NDArray[np.int64], level: float
) -> NDArray[np.float64]:
    """One channel's values at seconds after the start."""
    course = 1 + 0.08 * np.sin(2 * np.pi * at_s / 86_400)
    value = level * course + random.normal(0, 0.02 * level, len(at_s))
    if random.random() < EVENTS:
        start = random.integers(0, len(at_s))
        value[start : start + 20] *= 0.6
    return value.round(2)


def day_of_channels(
    levels: Mapping[int, float], *, day: int, interval_s: int, seed: int = 1
) -> ReadingBatch:
    """One day of every channel, in the order in which workers bring it: instant by instant."""
    slots = np.arange(0, 86_400, interval_s, dtype=np.int64) + 86_400 * day
    random = np.random.default_rng((seed, day))
    table = np.stack([values(random, slots, level) for level in levels.values()], axis=1)
    value = table.ravel()
    missing = random.random(len(value)) < 0.001
    value[missing] = np.nan
    return batch(
        np.tile(np.array(list(levels), np.int32), len(slots)),
        np.repeat(to_us(FIRST) + slots * _S, len(levels)),
        value,
        quality=np.where(missing, int(Quality.NO_ANSWER), 0).astype(np.int16),
    )


def frames(of: ReadingBatch, *, worker: str, first: int, size: int) -> Iterator[Frame]:
    """A batch cut into frames of ``size`` readings."""
    for number, start in enumerate(range(0, len(of), size)):
        part = slice(start, start + size)
        cut = ReadingBatch(**{name: getattr(of, name)[part] for name in ReadingBatch.__slots__})
        yield frame(cut, worker=worker, sequence=first + number)
