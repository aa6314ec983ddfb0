"""The cursor of a spool: up to where its readings are stored, in two checksummed slots."""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

_ACK = struct.Struct(">QQQQ")  # generation, segment, offset, sequence
_CRC = struct.Struct(">I")
_SLOT = 64


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in the spool: a segment's number and a byte in it."""

    segment: int
    offset: int


class Cursor:
    """What is acknowledged, in two slots written in turn, so that one is always whole."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        found = [slot for slot in map(self._slot, (0, 1)) if slot]
        self._generation, segment, offset, self.sequence = max(found, default=(0, 0, 0, 0))
        self.at = Position(segment, offset)

    def _slot(self, which: int) -> tuple[int, int, int, int] | None:
        content = os.pread(self._file, _ACK.size + _CRC.size, which * _SLOT)
        body, check = content[: _ACK.size], content[_ACK.size :]
        if len(check) < _CRC.size or _CRC.unpack(check)[0] != zlib.crc32(body):
            return None
        generation, segment, offset, sequence = _ACK.unpack(body)
        return generation, segment, offset, sequence

    def move(self, at: Position, sequence: int) -> None:
        """Note a new place, synced."""
        self._generation += 1
        body = _ACK.pack(self._generation, at.segment, at.offset, sequence)
        content = body + _CRC.pack(zlib.crc32(body))
        os.pwrite(self._file, content, self._generation % 2 * _SLOT)
        os.fdatasync(self._file)
        self.at, self.sequence = at, sequence

    def close(self) -> None:
        """Let the file go."""
        os.close(self._file)
