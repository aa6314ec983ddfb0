"""Seeded readings as they come off instruments: noise about a daily course, holes, slugs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from app.bench.ground import FIRST
from compliance.model.periods import to_us
from compliance.model.readings import Quality
from compliance.records.batch import Frame, ReadingBatch, batch, frame

_LEVEL = {"flow": 120.0, "ph": 7.4, "temperature": 78.0}
_S = 1_000_000


def values(
    random: np.random.Generator, at_s: NDArray[np.int64], level: float
) -> NDArray[np.float64]:
    """One channel's values at seconds after the start."""
    course = 1 + 0.2 * np.sin(2 * np.pi * at_s / 86_400)
    return (level * course + random.normal(0, 0.02 * level, len(at_s))).round(2)


def day_of_channels(
    channels: list[int], *, day: int, interval_s: int, seed: int = 1
) -> ReadingBatch:
    """One day of every channel, in the order in which workers bring it: instant by instant."""
    slots = np.arange(0, 86_400, interval_s, dtype=np.int64) + 86_400 * day
    random = np.random.default_rng((seed, day))
    table = np.stack([values(random, slots, _level(c)) for c in channels], axis=1)
    value = table.ravel()
    missing = random.random(len(value)) < 0.001
    value[missing] = np.nan
    return batch(
        np.tile(np.array(channels, np.int32), len(slots)),
        np.repeat(to_us(FIRST) + slots * _S, len(channels)),
        value,
        quality=np.where(missing, int(Quality.NO_ANSWER), 0).astype(np.int16),
    )


def _level(channel: int) -> float:
    return 6.5 + channel % 50


def frames(of: ReadingBatch, *, worker: str, first: int, size: int) -> Iterator[Frame]:
    """A batch cut into frames of ``size`` readings."""
    for number, start in enumerate(range(0, len(of), size)):
        part = slice(start, start + size)
        cut = ReadingBatch(**{name: getattr(of, name)[part] for name in ReadingBatch.__slots__})
        yield frame(cut, worker=worker, sequence=first + number)
