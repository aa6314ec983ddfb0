"""The answers of a moment to a batch of readings, all instruments asked alike in one call. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from compliance.model.readings import Quality
from compliance.records.batch import ReadingBatch, batch
from ingest.alike import Alike, Layout
from ingest.columns import Floats
from ingest.decode_many import Qualities, decode_many

Channels = NDArray[np.int32]


class Row(NamedTuple):
    """What one instrument answered at a slot, in microseconds since 1970.

    words: by the layout ``whole`` of its plan, or where unread is given by ``apart``; unread: why
    an entry did not come, 0 where it did. stale: of each channel whether its value is an old one;
    empty where none is. device_ms: the instrument's own time less ours, None where it tells none;
    empty where no channel has one.
    """

    channels: Channels
    slot_us: int
    offset_ms: int
    words: Sequence[int]
    unread: Sequence[int] = ()
    stale: Sequence[bool] = ()
    device_ms: Sequence[int | None] = ()


class Blank(NamedTuple):
    """A slot of some channels that was not read, with the reason."""

    channels: Channels
    slot_us: int
    offset_ms: int
    quality: Quality


def readings(of: Alike, rows: Sequence[Row]) -> ReadingBatch:
    """The readings of rows that all came, or of which each lacks something; a row after the other.

    Raises: InputError for words that do not fit.
    """
    is_whole = not rows[0].unread
    layout = of.whole if is_whole else of.apart
    words = np.array([row.words for row in rows], np.uint16)
    unread = None if is_whole else np.array([row.unread for row in rows], np.int16)
    values, quality = decode_many(layout.plan, words, unread)
    values, quality = np.ascontiguousarray(values), np.ascontiguousarray(quality)
    came = np.ones(values.shape, np.bool_)
    if unread is not None:
        came = unread[:, layout.plan.block_of] == 0
    if of.is_open.any():
        values[:, of.is_open] = np.nan
        quality[came & of.is_open] = np.int16(Quality.ORDER_OPEN)
    if any(row.stale for row in rows):
        old = np.array([row.stale or (False,) * len(of.wanted) for row in rows])
        quality[old & came] |= np.int16(Quality.STALE)
    _doubt(of, values, quality)
    device, has_device = _device(of, rows, came)
    each = len(of.wanted)
    return batch(
        np.concatenate([row.channels for row in rows]),
        np.repeat(np.array([row.slot_us for row in rows], np.int64), each),
        values.ravel(),
        quality=quality.ravel(),
        words=np.where(came, _packed(words, layout), 0).ravel(),
        has_words=came.ravel(),
        offset_ms=np.repeat(np.array([row.offset_ms for row in rows], np.int32), each),
        device_offset_ms=device.ravel(),
        has_device_offset=has_device.ravel(),
    )


def _doubt(of: Alike, values: Floats, quality: Qualities) -> None:
    """Flag what is no number for no reason yet, and what physics does not allow."""
    none = np.isnan(values)
    quality[none & (quality == 0)] = np.int16(Quality.NOT_FINITE)
    with np.errstate(invalid="ignore"):
        impossible = (values < of.lowest) | (values > of.highest)
    quality[impossible] |= np.int16(Quality.OUT_OF_RANGE)


def _packed(words: NDArray[np.uint16], layout: Layout) -> NDArray[np.int64]:
    """The registers of each value as ``pack_words`` joins them."""
    packed = np.zeros((len(words), len(layout.starts)), np.uint64)
    for place in range(int(layout.words.max(initial=0))):
        has = layout.words > place
        packed[:, has] = packed[:, has] << np.uint64(16) | words[:, layout.starts[has] + place]
    return packed.view(np.int64)


def _device(
    of: Alike, rows: Sequence[Row], came: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    told, has = np.zeros(came.shape, np.int32), np.zeros(came.shape, np.bool_)
    if any(clock is not None for clock in of.clocks):
        for at, row in enumerate(rows):
            if row.device_ms:
                has[at] = [apart is not None for apart in row.device_ms]
                told[at] = [apart or 0 for apart in row.device_ms]
    return told, has & came


def blanks(rows: Sequence[Blank]) -> ReadingBatch:
    """The readings that say why there are none; a row after the other."""
    sizes = [len(row.channels) for row in rows]
    return batch(
        np.concatenate([row.channels for row in rows]),
        np.repeat(np.array([row.slot_us for row in rows], np.int64), sizes),
        np.full(sum(sizes), np.nan),
        quality=np.repeat(np.array([int(row.quality) for row in rows], np.int16), sizes),
        offset_ms=np.repeat(np.array([row.offset_ms for row in rows], np.int32), sizes),
    )
