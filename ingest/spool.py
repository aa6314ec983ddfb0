"""The spool: readings on disk first, in append-only segments of frames.

A folder of one worker holds ``NUMBER.seg`` files, the cursor ``ack`` of what is stored, a ``lock``,
and ``cut``, where bytes go that were torn off. A reading is accepted once ``commit()`` has
returned: it is synced. Segments are freed by unlink, so that a full disk can always drain.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType

from compliance.errors import StorageError
from compliance.model.readings import Reading
from compliance.records.batch import (
    MAGIC,
    BadFrame,
    Frame,
    TornFrame,
    decode,
    encode,
    first_sequence,
    frame,
    from_readings,
    refuse_nonsense,
)
from ingest.cursor import Cursor, Position

SEGMENT_BYTES = 16 * 1024 * 1024
FRAME_READINGS = 5_000
MOST_WAITING = 500_000
"""Readings that wait in memory while the disk refuses; more are refused."""


class SpoolFailed(StorageError):
    """The disk does not take any more: these readings are not accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What comes next: a frame, or damaged bytes with the reason; ``end`` is acknowledged."""

    frame: Frame | None
    damaged: bytes
    reason: str
    end: Position


class Spool:
    """One worker's spool. ``put`` and ``commit`` are for pollers, ``take`` and ``ack`` for one
    forwarder; both sides may be threads.

    now: the clock that starts the sequence of a new spool.
    Raises: StorageError when another worker has the folder, or it cannot be used.
    """

    def __init__(
        self,
        folder: Path,
        *,
        worker: str,
        now: Callable[[], datetime],
        segment: int = SEGMENT_BYTES,
    ) -> None:
        self.worker = worker
        self.accepted = 0
        self.synced = threading.Event()  # set after each commit
        self._folder, self._segment_bytes = folder, segment
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._waiting: list[Reading] = []
        self._file: int | None = None
        self._buffer, self._buffer_at = b"", Position(0, 0)
        try:
            (folder / "cut").mkdir(parents=True, exist_ok=True)
            self._flock = _locked(folder / "lock")
            self._cursor = Cursor(folder / "ack")
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
        segments = self._segments()
        last = max(self._cursor.sequence, self._scan(segments[-1]) if segments else 0)
        # A sequence that may have been used is never used again, even where its frame is damaged.
        self._sequence = max(last + 1, first_sequence(now()))
        # Never append to what another life of this worker wrote.
        self._end = Position(max([*segments, self._cursor.at.segment]) + 1, 0)
        self._read = max(self._cursor.at, Position(segments[0] if segments else 0, 0))

    def _scan(self, number: int) -> int:
        """The last sequence in the newest segment; a torn tail is cut off and kept."""
        content = self._path(number).read_bytes()
        last = offset = 0
        while offset < len(content):
            start = offset
            found, offset, problem = _next(content, offset)
            if found is not None:
                last = max(last, found.sequence)
            elif isinstance(problem, TornFrame):
                self._cut(number, start)
        return last

    def _cut(self, number: int, offset: int) -> None:
        path = self._path(number)
        (self._folder / "cut" / f"{number}-{offset}").write_bytes(path.read_bytes()[offset:])
        with path.open("r+b") as file:
            file.truncate(offset)
            os.fsync(file.fileno())

    # -- pollers

    def put(self, readings: Sequence[Reading]) -> None:
        """Hand over readings; they are accepted by the next commit.

        Raises: SpoolFailed when the disk has refused for so long that memory is full, InputError
        for a number that is none.
        """
        refuse_nonsense(readings)
        with self._lock:
            if len(self._waiting) + len(readings) > MOST_WAITING:
                raise SpoolFailed(
                    f"the spool {self._folder} has {len(self._waiting)} readings waiting for the "
                    "disk and takes no more; free some space"
                )
            self._waiting.extend(readings)

    @property
    def waiting(self) -> int:
        """How many readings are handed over and not yet accepted."""
        return len(self._waiting)

    def commit(self) -> int:
        """Write and sync whatever waits; how many readings are accepted by it.

        After a failure nothing is lost: the readings wait, and the next try goes to a new segment
        under new sequences, since a failed sync says nothing of what reached the disk.
        Raises: SpoolFailed.
        """
        with self._writing:
            with self._lock:
                many, self._waiting = self._waiting, []
            if not many:
                return 0
            try:
                self._write(many)
            except OSError as error:
                with self._lock:
                    self._waiting = many + self._waiting
                raise SpoolFailed(
                    f"the spool {self._folder} cannot be written: {error.strerror}"
                ) from error
            self.accepted += len(many)
        self.synced.set()
        return len(many)

    def _write(self, many: Sequence[Reading]) -> None:
        pieces = []
        for start in range(0, len(many), FRAME_READINGS):
            part = from_readings(many[start : start + FRAME_READINGS])
            pieces.append(encode(frame(part, worker=self.worker, sequence=self._sequence)))
            self._sequence += 1
        content = b"".join(pieces)
        if self._file is None or self._end.offset >= self._segment_bytes:
            self._open_segment()
        try:
            _write_all(self._file, content)
            os.fdatasync(self._file)  # type: ignore[arg-type]
        except OSError:
            self._abandon_segment()
            raise
        with self._lock:
            self._end = Position(self._end.segment, self._end.offset + len(content))

    def _open_segment(self) -> None:
        number = self._end.segment
        while self._path(number).exists():
            number += 1
        file = os.open(self._path(number), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            _sync_folder(self._folder)
        except OSError:
            os.close(file)
            raise
        self._close_segment()
        with self._lock:
            self._file, self._end = file, Position(number, 0)

    def _abandon_segment(self) -> None:
        """Take back what may stand unsynced at its end, and never write to it again."""
        if self._file is not None:
            os.ftruncate(self._file, self._end.offset)
            self._close_segment()
            with self._lock:
                self._end = Position(self._end.segment + 1, 0)

    def _close_segment(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    # -- the forwarder

    def take(self) -> Taken | None:
        """The oldest synced frame not yet taken, or None; the same one again after ``rewind``."""
        while not self._buffered(self._read):
            if not self._load(self._read):
                return None
        start = self._read.offset - self._buffer_at.offset
        found, end, problem = _next(self._buffer, start)
        self._read = Position(self._read.segment, self._buffer_at.offset + end)
        return Taken(
            frame=found,
            damaged=problem.args[1] if problem else b"",
            reason=str(problem.args[0]) if problem else "",
            end=self._read,
        )

    def rewind(self) -> None:
        """Go back to the first frame that is not acknowledged."""
        self._read = self._cursor.at
        self._buffer = b""

    def _buffered(self, at: Position) -> bool:
        start = self._buffer_at.offset
        same = at.segment == self._buffer_at.segment
        return same and start <= at.offset < start + len(self._buffer)

    def _load(self, at: Position) -> bool:
        """Read on from a position; where its segment is finished, go to the next."""
        with self._lock:
            end = self._end
        if at >= end:
            return False
        content = b""
        if self._path(at.segment).exists():
            limit = end.offset if at.segment == end.segment else None
            with self._path(at.segment).open("rb") as file:
                file.seek(at.offset)
                content = file.read(None if limit is None else limit - at.offset)
        if content:
            self._buffer, self._buffer_at = content, at
        elif at.segment < end.segment:
            self._read = Position(self._after(at.segment, end.segment), 0)
            return self._load(self._read)
        return bool(content)

    def _after(self, number: int, last: int) -> int:
        return min((n for n in self._segments() if n > number), default=last)

    def ack(self, taken: Taken) -> None:
        """Note that all up to here is stored, and free the segments before it."""
        sequence = taken.frame.sequence if taken.frame else self._cursor.sequence
        self._cursor.move(taken.end, max(sequence, self._cursor.sequence))
        for number in self._segments():
            if number < taken.end.segment or self._finished(number, taken.end):
                self._path(number).unlink()

    def _finished(self, number: int, at: Position) -> bool:
        with self._lock:
            active = self._file is not None and number == self._end.segment
        return (
            number == at.segment and not active and at.offset >= self._path(number).stat().st_size
        )

    def backlog_bytes(self) -> int:
        """How many bytes on disk are not yet acknowledged, about."""
        at = self._cursor.at
        sizes = {}
        for number in self._segments():
            with suppress(FileNotFoundError):  # the forwarder frees segments meanwhile
                sizes[number] = self._path(number).stat().st_size
        return sum(size - (at.offset if n == at.segment else 0) for n, size in sizes.items())

    def close(self) -> None:
        """Commit what waits and let the folder go."""
        try:
            self.commit()
        finally:
            self._close_segment()
            self._cursor.close()
            os.close(self._flock)

    def _segments(self) -> list[int]:
        return sorted(int(path.stem) for path in self._folder.glob("*.seg"))

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:08d}.seg"


def _next(content: bytes, offset: int) -> tuple[Frame | None, int, StorageError | None]:
    """The frame at an offset and the offset after it, or what is wrong up to the next sound one.

    A problem carries the sentence and the damaged bytes; it is a TornFrame only where the bytes
    simply end inside a frame and nothing sound follows.
    """
    try:
        found, end = decode(content, offset)
        return found, end, None
    except (TornFrame, BadFrame) as error:
        end = _resync(content, offset + 1)
        damaged = content[offset:end]
        torn = end == len(content) and (isinstance(error, TornFrame) or not any(damaged))
        kind = TornFrame if torn else BadFrame
        return None, end, kind(str(error), damaged)


def _resync(content: bytes, start: int) -> int:
    """Where the next sound frame begins, or the end."""
    at = content.find(MAGIC, start)
    while at >= 0:
        try:
            decode(content, at)
            return at
        except (TornFrame, BadFrame):
            at = content.find(MAGIC, at + 1)
    return len(content)


def _write_all(file: int | None, content: bytes) -> None:
    assert file is not None
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]


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


def _sync_folder(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
