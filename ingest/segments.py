"""Segment files of a spool: numbered, append-only, and read frame by frame whatever befell them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from compliance.errors import StorageError
from compliance.records.batch import MAGIC, BadFrame, Frame, TornFrame, decode
from ingest.cursor import Position


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What comes next: a frame, or damaged bytes with the reason; ``end`` is acknowledged."""

    frame: Frame | None
    damaged: bytes
    reason: str
    end: Position


class Segments:
    """A folder of segments; the numbers grow, and none is used twice."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, number: int) -> Path:
        """The file of a number, whether it is there or not."""
        return self.folder / f"{number:08d}.seg"

    def numbers(self) -> list[int]:
        """Those that are there, oldest first."""
        names = os.listdir(self.folder)  # noqa: PTH208 - a thousand names, many times a second
        return sorted(int(name[:-4]) for name in names if name.endswith(".seg"))

    def size(self, number: int) -> int:
        """How many bytes a segment has; 0 when it is gone."""
        with suppress(FileNotFoundError):
            return self.path(number).stat().st_size
        return 0

    def bytes(self) -> int:
        """How many bytes all of them have."""
        return sum(map(self.size, self.numbers()))

    def between(self, start: Position, end: Position) -> int:
        """How many bytes lie from one position to another."""
        if start.segment >= end.segment:
            return max(0, end.offset - start.offset)
        first = max(0, self.size(start.segment) - start.offset)
        others = (self.size(n) for n in self.numbers() if start.segment < n < end.segment)
        return first + sum(others) + end.offset

    def after(self, number: int, last: int) -> int:
        """The number of the next segment, at most ``last``."""
        return min((n for n in self.numbers() if n > number), default=last)

    def create(self, number: int) -> int:
        """A new, empty segment, open for writing; its name is synced. Raises: OSError."""
        file = os.open(self.path(number), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            sync_folder(self.folder)
        except OSError:
            os.close(file)
            raise
        return file

    def whole(self, number: int) -> Iterator[Frame]:
        """The sound frames of a segment; a torn tail is cut off and kept beside it."""
        content = self.path(number).read_bytes()
        offset = 0
        while offset < len(content):
            start = offset
            found, offset, problem = _next(content, offset)
            if found is not None:
                yield found
            elif isinstance(problem, TornFrame):
                self._cut(number, start)

    def _cut(self, number: int, offset: int) -> None:
        """Take a tail off; it is kept unless the disk has no room for it: it was never accepted."""
        path = self.path(number)
        with suppress(OSError):
            (self.folder / "cut").mkdir(exist_ok=True)
            kept = self.folder / "cut" / f"{number}-{offset}"
            kept.write_bytes(path.read_bytes()[offset:])
        with path.open("r+b") as file:
            file.truncate(offset)
            os.fsync(file.fileno())


class Reader:
    """Goes through the frames of a spool from a position."""

    def __init__(self, segments: Segments, at: Position) -> None:
        self.at = at
        self._segments = segments
        self._buffer, self._buffer_at = b"", Position(0, 0)
        self._peeked: Taken | None = None

    def peek(self, until: Position) -> Taken | None:
        """What comes next before a position, left where it is."""
        if self._peeked is None:
            self._peeked = self._read(until)
        return self._peeked

    def take(self, until: Position) -> Taken | None:
        """What comes next before a position; None when that is reached."""
        found, self._peeked = self.peek(until), None
        if found is not None:
            self.at = found.end
        return found

    def _read(self, until: Position) -> Taken | None:
        while not self._is_buffered():
            if not self._load(until):
                return None
        start = self.at.offset - self._buffer_at.offset
        found, end, problem = _next(self._buffer, start)
        return Taken(
            frame=found,
            damaged=problem.args[1] if problem else b"",
            reason=str(problem.args[0]) if problem else "",
            end=Position(self.at.segment, self._buffer_at.offset + end),
        )

    def _is_buffered(self) -> bool:
        start = self._buffer_at.offset
        same = self.at.segment == self._buffer_at.segment
        return same and start <= self.at.offset < start + len(self._buffer)

    def _load(self, until: Position) -> bool:
        """Read on; where a segment is finished, go to the next."""
        while self.at < until:
            content = self._content(until)
            if content:
                self._buffer, self._buffer_at = content, self.at
                return True
            if self.at.segment >= until.segment:
                return False
            self.at = Position(self._segments.after(self.at.segment, until.segment), 0)
        return False

    def _content(self, until: Position) -> bytes:
        limit = until.offset - self.at.offset if self.at.segment == until.segment else -1
        with (
            suppress(FileNotFoundError),
            self._segments.path(self.at.segment).open("rb") as file,
        ):
            file.seek(self.at.offset)
            return file.read(limit)
        return b""


def _next(content: bytes, offset: int) -> tuple[Frame | None, int, StorageError | None]:
    """The frame at an offset and the offset after it, or what is wrong up to the next sound one.

    A torn frame is one that nothing sound follows; its problem carries the damaged bytes.
    """
    try:
        found, end = decode(content, offset)
        return found, end, None
    except (TornFrame, BadFrame) as error:
        end = _resync(content, offset + 1)
        damaged = content[offset:end]
        # A machine that loses power may leave a tail of zeros: that too was never accepted.
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


def write_all(file: int, content: bytes) -> None:
    """Write every byte. Raises: OSError."""
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]


def sync_folder(folder: Path) -> None:
    """Make what was created or renamed in a folder durable. Raises: OSError."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
