"""A large text file in blocks of whole lines, gzip or not: what is in memory is one block."""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from compliance.errors import InputError

BLOCK = 1024 * 1024
"""Bytes of text in a block; the same file has the same blocks each time."""
LONGEST_LINE = 128 * 1024
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Whole lines of a file. first: the row of the first line; position: bytes read on disk."""

    number: int
    first: int
    position: int
    lines: list[str]


class _Watched:
    """A file that counts and hashes what is read of it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.position = 0
        self.seal = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(size)
        self.position += len(content)
        self.seal.update(content)
        return content


class TextFile:
    """A file of lines that is read more than once.

    name: as people know it; sha256: of its bytes on disk, once ``blocks`` came to the end.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.name
        self.sha256 = ""
        try:
            self._state = self._stamp()
        except OSError as error:
            raise self._unreadable(error.strerror or "it cannot be opened") from None
        self.size = self._state[0]

    def header(self) -> str:
        """The first line. Raises: InputError for an empty file."""
        for block in self.blocks():
            return block.lines[0]
        raise InputError(
            f"{self.name} is empty; expected a header and rows: export it again, or leave it out"
        )

    def blocks(self) -> Iterator[Block]:
        """All lines from the first on, in blocks.

        Raises: InputError where the file cannot be read to its end, or changed since it was opened.
        """
        try:
            if self._stamp() != self._state:
                raise InputError(
                    f"{self.name} changed while it was read; let its writer finish, and import it "
                    "again: what is stored is known"
                )
            with self.path.open("rb") as file:
                is_gzip = file.peek(2)[:2] == _GZIP
                watched = _Watched(file)
                stream = cast("BinaryIO", watched)
                yield from self._numbered(gzip.GzipFile(fileobj=stream) if is_gzip else stream,
                                          watched)  # fmt: skip
                self.sha256 = watched.seal.hexdigest()
        except (OSError, EOFError, zlib.error) as error:
            why = getattr(error, "strerror", None) or str(error) or "it is cut short"
            raise self._unreadable(why) from None

    def _numbered(self, stream: BinaryIO | gzip.GzipFile, watched: _Watched) -> Iterator[Block]:
        number, row, rest = 0, 1, b""
        for content in _utf8(stream):
            rest += content
            whole, mark, rest = rest.rpartition(b"\n")
            if len(rest) > LONGEST_LINE:
                raise InputError(
                    f"{self.name}, row {row + whole.count(mark or b'?')}: a line of more than "
                    f"{LONGEST_LINE} bytes; expected a CSV with one row a line: export it as text"
                )
            if mark:
                lines = _lines(whole)
                yield Block(number=number, first=row, position=watched.position, lines=lines)
                number, row = number + 1, row + len(lines)
        if rest:
            yield Block(number=number, first=row, position=watched.position, lines=_lines(rest))

    def _stamp(self) -> tuple[int, int]:
        state = self.path.stat()
        return state.st_size, state.st_mtime_ns

    def _unreadable(self, why: str) -> InputError:
        return InputError(
            f"{self.name} cannot be read ({why}); expected a CSV of readings, gzip or not: check "
            "its name and copy it again"
        )


def _utf8(stream: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    """The bytes of a stream as they are; those of UTF-16 with its mark as UTF-8."""
    content = stream.read(BLOCK)
    decoder = codecs.getincrementaldecoder("utf-16")("replace") if content[:2] in _WIDE else None
    content = content.removeprefix(codecs.BOM_UTF8)
    while content:
        yield decoder.decode(content).encode() if decoder else content
        content = stream.read(BLOCK)


def _lines(whole: bytes) -> list[str]:
    """Lines without their ends: UTF-8, and where a line is none, Windows' code page 1252."""
    try:
        text = whole.decode()
    except UnicodeDecodeError:
        text = "\n".join(_decoded(line) for line in whole.split(b"\n"))
    return [line.rstrip("\r").replace("\r", " ") for line in text.split("\n")]


def _decoded(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("cp1252", errors="replace")


def separator(header: str) -> str:
    """What stands between the cells of a header: a comma, a semicolon or a tab."""
    return max((",", ";", "\t"), key=header.count)


def cells(lines: list[str], mark: str) -> list[list[str] | None]:
    """The cells of each line; none for a blank one, None where a quote is not closed.

    No cell spans lines: a stray quote spoils its own row and not the thousand after it.
    """
    try:
        rows = list(csv.reader(lines, delimiter=mark, strict=True))
    except csv.Error:
        rows = []
    if len(rows) == len(lines):
        return list(rows)
    return [_cells(line, mark) for line in lines]


def _cells(line: str, mark: str) -> list[str] | None:
    try:
        return next(csv.reader([line], delimiter=mark, strict=True), [])
    except csv.Error:
        return None
