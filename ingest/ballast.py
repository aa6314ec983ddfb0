"""The ballast: room kept on the disk, so that a full one can still be told why nothing came."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

from compliance.model.gaps import Gap
from compliance.records.batch import BadFrame, TornFrame, decode, encode, gap_frame, gap_of
from ingest.segments import sync_folder

BYTES = 1024 * 1024
_HALF = BYTES // 2
_HEAD = struct.Struct(">QII")  # generation, length, CRC32


class Ballast:
    """A file of one MiB, written in place; two halves in turn, so that one is always whole."""

    def __init__(self, path: Path) -> None:
        """Raises: OSError when there is neither the file nor room for it."""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if os.fstat(self._file).st_size < BYTES:
            for start in range(0, BYTES, 65536):  # real bytes: holes would need room later
                os.pwrite(self._file, bytes(65536), start)
            os.fsync(self._file)
            sync_folder(path.parent)
        found = [half for half in map(self._half, (0, 1)) if half]
        self._generation, self._content = max(found, default=(0, b""))

    def _half(self, which: int) -> tuple[int, bytes] | None:
        head = os.pread(self._file, _HEAD.size, which * _HALF)
        if len(head) < _HEAD.size:
            return None
        generation, length, check = _HEAD.unpack(head)
        content = os.pread(self._file, length, which * _HALF + _HEAD.size)
        return (generation, content) if generation and zlib.crc32(content) == check else None

    def gaps(self) -> list[Gap]:
        """What was noted and not yet cleared."""
        found, at = [], 0
        while at < len(self._content):
            try:
                frame, at = decode(self._content, at)
            except (TornFrame, BadFrame):
                break
            found.append(gap_of(frame))
        return found

    def note(self, gaps: list[Gap]) -> None:
        """Replace what is noted, synced; of too many gaps the first stay. Raises: OSError."""
        content = b""
        for gap in gaps:
            one = encode(gap_frame(gap, worker="", sequence=0))
            if len(content) + len(one) <= _HALF - _HEAD.size:
                content += one
        if content == self._content:
            return
        self._generation += 1
        head = _HEAD.pack(self._generation, len(content), zlib.crc32(content))
        os.pwrite(self._file, head + content, self._generation % 2 * _HALF)
        os.fdatasync(self._file)
        self._content = content

    def close(self) -> None:
        """Let the file go."""
        os.close(self._file)
