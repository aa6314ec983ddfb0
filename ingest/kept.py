"""Small checksummed files beside a spool: what a worker must still know after any kind of end."""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from pathlib import Path

from ingest.segments import sync_folder


def write(path: Path, body: bytes) -> None:
    """Replace a file by a synced one; it is either the old or the new. Raises: OSError."""
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        file.write(b"%08x\n" % zlib.crc32(body) + body)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync_folder(path.parent)


def read(path: Path) -> bytes | None:
    """What was written; None where there is no file, or its checksum does not fit."""
    with suppress(FileNotFoundError):
        check, _, body = path.read_bytes().partition(b"\n")
        if check == b"%08x" % zlib.crc32(body):
            return body
    return None
