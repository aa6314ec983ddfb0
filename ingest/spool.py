"""The spool: readings on disk first, in append-only segments of frames.

A folder of one worker holds ``NUMBER.seg`` files, the cursors of what is stored (``ack``,
``live-from``, ``live-to``), the ``ballast``, what must be known after a restart (``id``, ``last``),
a ``lock``, and ``cut``, where bytes go that were torn off. A reading is accepted once ``commit()``
has returned: it is synced. Segments are freed by unlink, so that a full disk can always drain.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType

from compliance.errors import StorageError
from compliance.model.gaps import SPOOL_FULL, Gap
from compliance.records.batch import (
    Frame,
    ReadingBatch,
    encode,
    first_sequence,
    frame,
    gap_frame,
    joined,
)
from ingest import kept
from ingest.ballast import Ballast
from ingest.cursor import Position
from ingest.outlet import Outlet
from ingest.quota import Level, Quota, Thinner, disk
from ingest.segments import Segments, write_all

SEGMENT_BYTES = 16 * 1024 * 1024
FRAME_READINGS = 5_000
MOST_WAITING = 500_000
"""Readings that wait in memory while the disk refuses; more are refused."""
NOTED_ANEW = 40
"""A refusal that lasts is noted anew in the ballast at each so manieth try: about every 10 s."""


class SpoolFailed(StorageError):
    """The disk does not take any more: these readings are not accepted."""


class Spool:
    """One worker's spool. ``put`` and ``commit`` are for pollers, ``outlet`` for one forwarder;
    both sides may be threads.

    now: the clock that starts the sequence of a new spool; quota: as many bytes as the disk allows
    where absent; sync: makes what was written to a file durable.
    Raises: StorageError when another worker has the folder, or it cannot be used.
    """

    def __init__(  # noqa: PLR0913 - what it may do is told from outside
        self,
        folder: Path,
        *,
        worker: str,
        now: Callable[[], datetime],
        segment: int = SEGMENT_BYTES,
        quota: Quota | None = None,
        sync: Callable[[int], None] = os.fdatasync,
    ) -> None:
        self.worker = worker
        self.accepted = 0
        self.level = Level.ROOMY
        self.state = ""  # why nothing is accepted at the moment
        self.synced = threading.Event()  # set after each commit
        self.thinner = Thinner()
        self._folder, self._segment_bytes, self._sync = folder, segment, sync
        self._quota = quota or Quota(most=1 << 62, disk=lambda: disk(folder))
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._waiting: list[ReadingBatch] = []
        self.waiting = 0  # readings handed over and not yet accepted
        self._gaps: list[Gap] = []
        self._refused: Gap | None = None  # what was not taken at all
        self._failures = 0
        self._file: int | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._flock = _locked(folder / "lock")
            self._segments = Segments(folder)
            self._recover(now)
        except OSError as error:
            raise StorageError(f"the spool {folder} cannot be used: {error.strerror}") from error

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _recover(self, now: Callable[[], datetime]) -> None:
        self.id = _identity(self._folder / "id")
        self._ballast = Ballast(self._folder / "ballast")
        self._gaps = self._ballast.gaps()
        self._last = _read_last(self._folder / "last")
        self._newest = max(self._last.values(), default=0)
        numbers = self._segments.numbers()
        last = 0
        for found in self._segments.whole(numbers[-1]) if numbers else ():
            last = max(last, found.sequence)
            self._note_last(found)
        self.outlet = Outlet(
            self._segments,
            end=lambda: self._synced_end()[0],
            newest=lambda: self._newest,
            busy=lambda: self._synced_end()[1],
        )
        # A sequence that may have been used is never used again, even where its frame is damaged;
        # nor is a segment that another life of this worker wrote.
        self._end = Position(max([*numbers, self.outlet.at.segment]) + 1, 0)
        self._sequence = max(max(last, self.outlet.sequence) + 1, first_sequence(now()))

    def _synced_end(self) -> tuple[Position, int | None]:
        """Up to where all is synced, and the segment that is written to."""
        with self._lock:
            return self._end, None if self._file is None else self._end.segment

    def _note_last(self, found: Frame) -> None:
        """Remember the last slot of each channel; of a frame's slots its first, to be sure."""
        since, last = found.since_us, self._last
        if found.count and since >= self._newest:  # as nearly always: later than any before
            last.update(dict.fromkeys(found.channels, since))
        elif found.count:
            last.update({c: max(since, last.get(c, 0)) for c in found.channels})
        self._newest = found.until_us - 1

    # -- pollers

    def put(self, readings: ReadingBatch) -> None:
        """Hand over readings; they are accepted by the next commit.

        Raises: SpoolFailed when the disk has refused for so long that memory is full (what is then
        missing becomes a gap).
        """
        if not len(readings):
            return
        with self._lock:
            if self.waiting + len(readings) > MOST_WAITING:
                self._refused = _spanning(readings, self._refused)
                raise SpoolFailed(
                    f"the spool {self._folder} has {self.waiting} readings waiting for the "
                    "disk and takes no more; free some space"
                )
            self._waiting.append(readings)
            self.waiting += len(readings)

    def note(self, gaps: Iterable[Gap]) -> None:
        """Hand over gaps, which go the way of readings."""
        with self._lock:
            self._gaps.extend(gaps)

    def last_slots(self, channels: Iterable[int]) -> dict[int, int]:
        """The last slot accepted here of each channel that has one, in microseconds since 1970.

        It may name an earlier one, never a later.
        """
        return {c: self._last[c] for c in channels if c in self._last}

    def commit(self) -> int:
        """Write and sync whatever waits; how many readings are accepted by it.

        After a failure nothing is lost: the readings wait, and the next try goes to a new segment
        under new sequences, since a failed sync says nothing of what reached the disk.
        Raises: SpoolFailed.
        """
        with self._writing:
            with self._lock:
                many, self._waiting, self.waiting = self._waiting, [], 0
                gaps, self._gaps = self._gaps, []
                refused, self._refused = self._refused, None
            told = [*gaps, *([refused] if refused else [])]
            if not many and not told:
                self._measure()
                return 0
            try:
                accepted = self._accept(joined(many), told)
            except Exception as error:  # whatever it was, what waits must not be lost by it
                self._keep_waiting(many, gaps, refused)
                reason = error.strerror if isinstance(error, OSError) else repr(error)
                self.state = f"the spool {self._folder} cannot be written: {reason}"
                raise SpoolFailed(self.state) from error
            self.state = ""
            self.accepted += accepted
        self.synced.set()
        return accepted

    def _measure(self) -> Level:
        used = self._segments.bytes()
        self.level = self._quota.level(used)
        return self.level

    def _accept(self, many: ReadingBatch, told: list[Gap]) -> int:
        """Raises: OSError."""
        if self._measure() is Level.FULL:
            raise OSError(0, f"it has used all its room ({self._segments.bytes()} bytes)")
        keep, thinned = self.thinner.sift(many, self.level)
        self._write(self._frames(keep, [*told, *([thinned] if thinned else [])]))
        if self._failures or told:
            self._failures = 0
            self._note_refusal(None, [])
        return len(keep)

    def _keep_waiting(self, many: list[ReadingBatch], gaps: list[Gap], refused: Gap | None) -> None:
        """Everything waits on; now and then it is noted in the ballast why it is not there."""
        with self._lock:
            self._waiting = many + self._waiting
            self.waiting = sum(map(len, self._waiting))
            self._gaps = gaps + self._gaps
            self._refused = _joined(refused, self._refused)
            waiting, gaps, refused = list(self._waiting), list(self._gaps), self._refused
        if self._failures % NOTED_ANEW == 0:
            lost = _spanning(joined(waiting), refused) if waiting else refused
            self._note_refusal(lost, gaps)
        self._failures += 1

    def _note_refusal(self, refused: Gap | None, gaps: list[Gap]) -> None:
        try:
            self._ballast.note([*gaps, *([refused] if refused else [])])
        except OSError:
            return  # even the room that was kept is gone; the next start still tells of a gap

    def _frames(self, many: ReadingBatch, gaps: Sequence[Gap]) -> list[Frame]:
        made = [gap_frame(g, worker=self.worker, sequence=self._next_sequence()) for g in gaps]
        for start in range(0, len(many), FRAME_READINGS):
            part = many.part(slice(start, start + FRAME_READINGS))
            made.append(frame(part, worker=self.worker, sequence=self._next_sequence()))
        return made

    def _next_sequence(self) -> int:
        self._sequence += 1
        return self._sequence - 1

    def _write(self, frames: Sequence[Frame]) -> None:
        content = b"".join(map(encode, frames))
        if self._file is None or self._end.offset >= self._segment_bytes:
            self._open_segment()
        assert self._file is not None
        try:
            write_all(self._file, content)
            self._sync(self._file)
        except OSError:
            self._abandon_segment(self._file)
            raise
        with self._lock:
            self._end = Position(self._end.segment, self._end.offset + len(content))
            for written in sorted(frames, key=lambda one: one.until_us):
                self._note_last(written)

    def _open_segment(self) -> None:
        """Raises: OSError."""
        kept.write(self._folder / "last", json.dumps(self._last).encode())
        number = self._end.segment
        while self._segments.path(number).exists():
            number += 1
        file = self._segments.create(number)
        self._close_segment()
        with self._lock:
            self._file, self._end = file, Position(number, 0)

    def _abandon_segment(self, file: int) -> None:
        """Take back what may stand unsynced at its end, and never write to it again."""
        try:
            os.ftruncate(file, self._end.offset)
        finally:
            self._close_segment()
            with self._lock:
                self._end = Position(self._end.segment + 1, 0)

    def _close_segment(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def close(self) -> None:
        """Commit what waits and let the folder go; what the disk then refuses is noted as a gap."""
        try:
            self.commit()
            with suppress(OSError):  # the newest segment tells the same, with more reading
                kept.write(self._folder / "last", json.dumps(self._last).encode())
        except SpoolFailed:
            waiting = self._waiting
            lost = _spanning(joined(waiting), self._refused) if waiting else self._refused
            self._note_refusal(lost, self._gaps)
            raise
        finally:
            self._close_segment()
            self._ballast.close()
            self.outlet.close()
            os.close(self._flock)


def _spanning(readings: ReadingBatch, known: Gap | None) -> Gap:
    """The gap that covers readings which were not accepted, and an earlier such gap."""
    own = Gap(
        channels=tuple(sorted(set(readings.channel_id.tolist()))),
        since_us=int(readings.at_us.min()),
        until_us=int(readings.at_us.max()) + 1,
        cause=SPOOL_FULL,
    )
    return _joined(own, known) or own


def _joined(one: Gap | None, other: Gap | None) -> Gap | None:
    if one is None or other is None:
        return one or other
    return Gap(
        channels=tuple(sorted({*one.channels, *other.channels})),
        since_us=min(one.since_us, other.since_us),
        until_us=max(one.until_us, other.until_us),
        cause=one.cause,
    )


def _identity(path: Path) -> str:
    """The id of this spool, made once. Raises: OSError."""
    found = kept.read(path)
    if found is None:
        found = uuid.uuid4().hex.encode()
        kept.write(path, found)
    return found.decode()


def _read_last(path: Path) -> dict[int, int]:
    found = json.loads(kept.read(path) or b"{}")
    return {int(channel): slot for channel, slot in found.items()}


def _locked(path: Path) -> int:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise StorageError(
            f"the spool {path.parent} belongs to a worker that runs already; "
            "stop it, or start this one with another --worker name"
        ) from None
    return file
