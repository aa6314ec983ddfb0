"""COPY tuples taken apart again: to find the one that is bad, to check whose they are, to look."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from compliance.records.batch import COLUMNS, EPOCH_2000_US, TUPLE

_FIELDS = len(COLUMNS).to_bytes(2, "big")
_KEY = struct.Struct(">hiiiq")  # fields, length, channel, length, read_at
_BATCH = struct.Struct(">iq")  # the last field: length, batch id


@dataclass(frozen=True, slots=True)
class Key:
    """What a tuple says of itself: its channel, its slot, its batch."""

    channel_id: int
    at_us: int
    batch_id: int


def split(content: bytes) -> tuple[list[bytes], bytes]:
    """The single tuples of a frame's content, and what at its end is none."""
    found, start = [], 0
    while start < len(content) and content[start : start + 2] == _FIELDS:
        at = start + 2
        for _ in COLUMNS:
            size = int.from_bytes(content[at : at + 4], "big", signed=True)
            at += 4 + max(size, 0)
        if at > len(content):
            break
        found.append(content[start:at])
        start = at
    return found, content[start:]


def key(row: bytes) -> Key | None:
    """The key of one tuple; None where its fields have other lengths than ours."""
    if len(row) < _KEY.size + _BATCH.size:
        return None
    _, n1, channel, n2, read_at = _KEY.unpack_from(row)
    n3, batch = _BATCH.unpack_from(row, len(row) - _BATCH.size)
    if (n1, n2, n3) != (4, 8, 8):
        return None
    return Key(channel, read_at + EPOCH_2000_US, batch)


def rows(content: bytes) -> list[tuple[int | float | None, ...]]:
    """COPY tuples as rows in the order of ``COLUMNS``; ``read_at`` in microseconds since 1970.

    For tests and for looking at a quarantined one: it goes row by row.
    """
    formats = [TUPLE[name].str for name in COLUMNS]
    found, at = [], 0
    while at < len(content):
        at += 2
        row: list[int | float | None] = []
        for kind in formats:
            size = int.from_bytes(content[at : at + 4], "big", signed=True)
            at += 4
            row.append(None if size < 0 else np.frombuffer(content, kind, 1, at)[0].item())
            at += max(size, 0)
        row[1] = int(row[1] or 0) + EPOCH_2000_US
        found.append(tuple(row))
    return found
