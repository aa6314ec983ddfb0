"""Batches of readings as bytes: PostgreSQL's binary COPY tuples, and the frames that carry them.

A tuple holds all eight columns of table ``reading``, the batch id among them, so that spooled bytes
go into COPY unchanged. The id must therefore be known when the readings are spooled, long before a
database sees them: ``batch_id()`` makes it of the worker's name (21 bits of its hash) and of the
worker's sequence (42 bits). A new spool starts its sequence at the milliseconds since 1970
(``first_sequence``), so that a spool which was thrown away never repeats the keys of its past.

A frame is ``header, channels, content, crc``: magic ``PTRF``, kind, format version, counts,
sequence, batch id and span, then one int32 for each channel, the content, and a CRC32 over all
before it. The content is tuples, or of a gap its cause: why readings of these channels are missing.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from compliance.errors import InputError, StorageError
from compliance.model.gaps import Gap
from compliance.model.periods import from_us, to_us
from compliance.model.readings import Flags, Reading, Times, Values

COLUMNS = (
    "channel_id",
    "read_at",
    "value",
    "quality",
    "words",
    "offset_ms",
    "device_offset_ms",
    "batch_id",
)
COPY_START = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_END = b"\xff\xff"
EPOCH_2000_US = 946_684_800_000_000  # PostgreSQL counts from 2000

MAGIC = b"PTRF"
VERSION = 1
_HEADER = struct.Struct(">4sBBHIIQqqq")
"""Magic, kind, version, channels, count, length, sequence, id, span."""
_CRC = struct.Struct(">I")
MAX_CONTENT = 64 * 1024 * 1024

# One tuple with every field present: length words and values alternate, as COPY wants them.
TUPLE = np.dtype(
    [
        ("fields", ">i2"),
        ("n1", ">i4"),
        ("channel_id", ">i4"),
        ("n2", ">i4"),
        ("read_at", ">i8"),
        ("n3", ">i4"),
        ("value", ">f8"),
        ("n4", ">i4"),
        ("quality", ">i2"),
        ("n5", ">i4"),
        ("words", ">i8"),
        ("n6", ">i4"),
        ("offset_ms", ">i4"),
        ("n7", ">i4"),
        ("device_offset_ms", ">i4"),
        ("n8", ">i4"),
        ("batch_id", ">i8"),
    ]
)
_LENGTH_OF = dict(zip(COLUMNS, ("n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"), strict=True))


class TornFrame(StorageError):
    """The bytes end inside a frame: it was never accepted."""


class BadFrame(StorageError):
    """Bytes that are no frame, or whose checksum does not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingBatch:
    """Readings as arrays of one length; instants in microseconds since 1970.

    value, words and device_offset_ms count only where their mask is set; elsewhere they are NULL.
    Made by ``batch()`` or ``from_readings()``, which check it.
    """

    channel_id: NDArray[np.int32]
    at_us: Times
    value: Values
    has_value: Flags
    quality: NDArray[np.int16]
    words: NDArray[np.int64]
    has_words: Flags
    offset_ms: NDArray[np.int32]
    device_offset_ms: NDArray[np.int32]
    has_device_offset: Flags

    def __len__(self) -> int:
        return len(self.at_us)

    def part(self, which: slice | Flags | NDArray[np.intp]) -> ReadingBatch:
        """Some of the readings, by a mask or by their places."""
        return ReadingBatch(**{name: getattr(self, name)[which] for name in self.__slots__})


class Kind(IntEnum):
    """What a frame carries."""

    READINGS = 0
    GAP = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One group of readings on its way: COPY tuples and what the database must know of them.

    span: from the first instant up to just after the last, in microseconds since 1970. A gap has
    no readings; its content is the cause, as UTF-8.
    """

    sequence: int
    batch_id: int
    count: int
    channels: tuple[int, ...]
    since_us: int
    until_us: int
    content: bytes
    kind: Kind = Kind.READINGS

    @property
    def since(self) -> datetime:
        return from_us(self.since_us)

    @property
    def until(self) -> datetime:
        return from_us(self.until_us)


def batch(  # noqa: PLR0913 - one argument a column
    channel_id: NDArray[np.integer],
    at_us: NDArray[np.integer],
    value: Values,
    *,
    quality: NDArray[np.integer],
    words: NDArray[np.int64] | None = None,
    has_words: Flags | None = None,
    offset_ms: NDArray[np.integer] | None = None,
    device_offset_ms: NDArray[np.integer] | None = None,
    has_device_offset: Flags | None = None,
) -> ReadingBatch:
    """Readings from arrays of one length; a NaN in ``value`` is a missing value and needs a flag.

    words: packed by ``pack_words``; where absent, NULL. Masks default to "all" where the array is
    given. Raises: InputError on NaN with a good quality, on infinity, on unequal lengths.
    """
    n = len(at_us)
    made = ReadingBatch(
        channel_id=channel_id.astype(np.int32),
        at_us=at_us.astype(np.int64),
        value=value.astype(np.float64),
        has_value=~np.isnan(value),
        quality=quality.astype(np.int16),
        words=_filled(words, n).astype(np.int64),
        has_words=_mask(has_words, words is not None, n),
        offset_ms=_filled(offset_ms, n).astype(np.int32),
        device_offset_ms=_filled(device_offset_ms, n).astype(np.int32),
        has_device_offset=_mask(has_device_offset, device_offset_ms is not None, n),
    )
    _refuse_rows(made)
    return made


def _filled(array: NDArray[np.integer] | None, n: int) -> NDArray[np.integer]:
    return np.zeros(n, np.int64) if array is None else array


def _mask(mask: Flags | None, given: bool, n: int) -> Flags:
    return np.full(n, given) if mask is None else mask.astype(np.bool_)


def _refuse_rows(made: ReadingBatch) -> None:
    n = len(made)
    if any(len(getattr(made, name)) != n for name in ReadingBatch.__slots__):
        raise InputError(f"a batch of readings has columns of unequal length; expected {n} each")
    bad = np.isinf(made.value) | (~made.has_value & (made.quality == 0))
    if bad.any():
        i = int(np.argmax(bad))
        raise InputError(
            f"channel {made.channel_id[i]} at {from_us(int(made.at_us[i])).isoformat()}: found "
            f"{made.value[i]} with a good quality; expected a finite number, or no value and a "
            "flag that says why"
        )


def joined(batches: Sequence[ReadingBatch]) -> ReadingBatch:
    """Batches one after another; none of them gives an empty one."""
    if len(batches) == 1:
        return batches[0]
    some = batches or (from_readings(()),)
    return ReadingBatch(
        **{
            name: np.concatenate([getattr(each, name) for each in some])
            for name in ReadingBatch.__slots__
        }
    )


def from_readings(readings: Sequence[Reading]) -> ReadingBatch:
    """Readings as a batch.

    Raises: InputError on a missing value with a good quality, or a value that is not finite.
    """
    refuse_nonsense(readings)
    device = [r.device_offset_ms for r in readings]
    return batch(
        np.array([r.channel_id for r in readings], np.int32),
        np.array([to_us(r.read_at) for r in readings], np.int64),
        np.array([np.nan if r.value is None else r.value for r in readings], np.float64),
        quality=np.array([int(r.quality) for r in readings], np.int16),
        words=np.array([pack_words(r.words) for r in readings], np.int64),
        has_words=np.array([bool(r.words) for r in readings], np.bool_),
        offset_ms=np.array([r.offset_ms for r in readings], np.int32),
        device_offset_ms=np.array([d or 0 for d in device], np.int32),
        has_device_offset=np.array([d is not None for d in device], np.bool_),
    )


def refuse_nonsense(readings: Sequence[Reading]) -> None:
    """Let only finite numbers through, and missing ones that say why.

    Raises: InputError naming the channel and the instant.
    """
    for r in readings:
        if not r.quality if r.value is None else not isfinite(r.value):
            raise InputError(
                f"channel {r.channel_id} at {r.read_at.isoformat()}: found {r.value} with quality "
                f"{int(r.quality)}; expected a finite number, or None and a flag that says why"
            )


def pack_words(words: Sequence[int]) -> int:
    """Up to four registers as one signed 64-bit number, the first in the high bits."""
    if len(words) > 4:
        raise InputError(f"{len(words)} registers do not fit one reading; expected at most 4")
    joined = 0
    for word in words:
        joined = joined << 16 | word
    return joined - (1 << 64) if joined >> 63 else joined


def unpack_words(packed: int, count: int) -> tuple[int, ...]:
    """The ``count`` registers that ``pack_words`` joined."""
    return tuple(packed >> (16 * i) & 0xFFFF for i in reversed(range(count)))


def batch_id(worker: str, sequence: int) -> int:
    """The 63-bit id of a worker's batch: known without asking anybody."""
    number = int.from_bytes(hashlib.sha256(worker.encode()).digest()[:4], "big") >> 11
    return number << 42 | sequence & (1 << 42) - 1


def first_sequence(now: datetime) -> int:
    """Where a new spool starts to count: far above whatever an earlier one used."""
    return to_us(now) // 1000


def copy_tuples(readings: ReadingBatch, *, batch: int) -> bytes:
    """The tuples of a batch as COPY wants them, without COPY's own start and end.

    Every row is laid out in full; the bytes of NULL fields are then left out by a mask.
    """
    rows = np.zeros(len(readings), TUPLE)
    rows["fields"] = len(COLUMNS)
    for name, length in _LENGTH_OF.items():
        rows[length] = TUPLE[name].itemsize
    rows["channel_id"] = readings.channel_id
    rows["read_at"] = readings.at_us - EPOCH_2000_US
    rows["value"] = np.where(readings.has_value, readings.value, 0)
    rows["quality"] = readings.quality
    rows["words"] = readings.words
    rows["offset_ms"] = readings.offset_ms
    rows["device_offset_ms"] = readings.device_offset_ms
    rows["batch_id"] = batch
    keep = np.ones((len(rows), TUPLE.itemsize), np.bool_)
    _leave_out(rows, keep, "value", readings.has_value)
    _leave_out(rows, keep, "words", readings.has_words)
    _leave_out(rows, keep, "device_offset_ms", readings.has_device_offset)
    return bytes(rows.view(np.uint8).reshape(keep.shape)[keep].tobytes())


def _leave_out(rows: NDArray[np.void], keep: Flags, name: str, present: Flags) -> None:
    dtype, offset = rows.dtype.fields[name][:2]  # type: ignore[index]
    rows[_LENGTH_OF[name]][~present] = -1
    keep[~present, offset : offset + dtype.itemsize] = False


def frame(readings: ReadingBatch, *, worker: str, sequence: int) -> Frame:
    """A batch as the frame ``sequence`` of a worker.

    Raises: InputError on an empty batch.
    """
    if len(readings) == 0:
        raise InputError("a frame of readings is empty; expected one reading at least")
    key = batch_id(worker, sequence)
    return Frame(
        sequence=sequence,
        batch_id=key,
        count=len(readings),
        channels=tuple(np.unique(readings.channel_id).tolist()),
        since_us=int(readings.at_us.min()),
        until_us=int(readings.at_us.max()) + 1,
        content=copy_tuples(readings, batch=key),
    )


def gap_frame(gap: Gap, *, worker: str, sequence: int) -> Frame:
    """A gap as the frame ``sequence`` of a worker."""
    return Frame(
        sequence=sequence,
        batch_id=batch_id(worker, sequence),
        count=0,
        channels=gap.channels,
        since_us=gap.since_us,
        until_us=gap.until_us,
        content=gap.cause.encode(),
        kind=Kind.GAP,
    )


def gap_of(frame: Frame) -> Gap:
    """The gap that a frame carries."""
    return Gap(
        channels=frame.channels,
        since_us=frame.since_us,
        until_us=frame.until_us,
        cause=frame.content.decode(errors="replace"),
    )


def encode(frame: Frame) -> bytes:
    """A frame as bytes, checksum included."""
    head = _HEADER.pack(
        MAGIC,
        frame.kind,
        VERSION,
        len(frame.channels),
        frame.count,
        len(frame.content),
        frame.sequence,
        frame.batch_id,
        frame.since_us,
        frame.until_us,
    )
    body = head + np.array(frame.channels, ">i4").tobytes() + frame.content
    return body + _CRC.pack(zlib.crc32(body))


def decode(data: bytes | memoryview, offset: int = 0) -> tuple[Frame, int]:
    """The frame at ``offset`` and the offset after it.

    Raises: TornFrame where the bytes end too early, BadFrame where they are not a sound frame.
    """
    view = memoryview(data)
    if len(view) - offset < _HEADER.size:
        raise TornFrame(f"the bytes end at {len(view)}, inside the header of the frame at {offset}")
    magic, kind, version, n, count, length, sequence, key, since, until = _HEADER.unpack_from(
        view, offset
    )
    if magic != MAGIC:
        raise BadFrame(f"no frame starts at byte {offset}: found {magic!r}, expected {MAGIC!r}")
    if version != VERSION or kind > Kind.GAP or length > MAX_CONTENT:
        raise BadFrame(f"the frame at byte {offset} has format {version} and {length} bytes")
    start = offset + _HEADER.size + 4 * n
    end = start + length
    if len(view) < end + _CRC.size:
        raise TornFrame(f"the bytes end at {len(view)}, inside the frame at {offset}")
    if _CRC.unpack_from(view, end)[0] != zlib.crc32(view[offset:end]):
        raise BadFrame(f"the checksum of the frame at byte {offset} does not fit its content")
    channels = np.frombuffer(view[start - 4 * n : start], ">i4")
    found = Frame(
        sequence=sequence,
        batch_id=key,
        count=count,
        channels=tuple(channels.tolist()),
        since_us=since,
        until_us=until,
        content=bytes(view[start:end]),
        kind=Kind(kind),
    )
    return found, end + _CRC.size
