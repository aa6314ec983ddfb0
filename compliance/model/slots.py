"""Slots: the instants at which a channel is read, on a grid from 1970 on or beside it."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from compliance.model.readings import Times


def phase_of(name: str, interval: int) -> int:
    """Where in an interval the slots of a gateway lie that keeps away from the others, in ms.

    name: of the gateway; interval: in ms.
    """
    return crc32(name.encode()) % interval


def slots(since_us: int, until_us: int, *, interval_ms: int, phase_ms: int = 0) -> Times:
    """The slots in ``[since, until)``, in microseconds since 1970.

    phase_ms: how far after each point of the grid they lie.
    """
    step, phase = 1000 * interval_ms, 1000 * phase_ms
    first = -(-(since_us - phase) // step) * step + phase
    return np.arange(first, until_us, step, dtype=np.int64)
