"""Uploaded bytes → cells with their place. A row is never refused here, only what is no table."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter

from app.workbooks import rows_of
from compliance.errors import InputError
from compliance.sampling.headings import known
from compliance.sampling.sheets import Line, Sheet

LARGEST_BYTES = 20_000_000
_DELIMITERS = {",": "csv", ";": "csv", "\t": "tsv", "|": "csv"}
_MOST_CONTROL = 0.05
"""The share of control characters from which a file is no text: one NUL is a fault of its row."""
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f]")
_HEADER_WITHIN = 60
_EXPECTED = "expected a table as CSV, TSV or XLSX: export the report from the laboratory's system"


def sheet(content: bytes, *, filename: str) -> Sheet:
    """The cells of an uploaded file; rows count from 1 as a person sees them.

    Raises: InputError when the bytes are no table.
    """
    if len(content) > LARGEST_BYTES:
        raise InputError(
            f"{filename} has {len(content):,} bytes; expected at most {LARGEST_BYTES:,}: "
            "split the file"
        )
    if content.startswith(b"PK"):
        return Sheet(format="xlsx", lines=_numbered(rows_of(content, filename=filename)))
    return _text_sheet(content, filename)


def _numbered(rows: list[list[str]]) -> tuple[Line, ...]:
    return tuple(Line(row=n, cells=tuple(cells)) for n, cells in enumerate(rows, start=1))


def _text_sheet(content: bytes, filename: str) -> Sheet:
    text, warnings = _decoded(content, filename)
    delimiter, lines = max(
        ((sign, _split(text, sign, filename)) for sign in _DELIMITERS), key=lambda one: _fit(one[1])
    )
    if _fit(lines) == (0, 0):
        raise InputError(f"{filename} holds no columns that a comma, semicolon or tab would part; "
                         + _EXPECTED)  # fmt: skip
    return Sheet(format=_DELIMITERS[delimiter], lines=lines, warnings=warnings)


def _decoded(content: bytes, filename: str) -> tuple[str, tuple[str, ...]]:
    if not content.strip():
        raise InputError(f"{filename} is empty; {_EXPECTED}")
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))  # what Excel calls Unicode text
    notes: tuple[str, ...] = ()
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
        notes = ("the file is not UTF-8: it was read as Windows-1252",)
    if content.startswith(b"%PDF") or len(_CONTROL.findall(text)) > _MOST_CONTROL * len(text):
        raise InputError(f"{filename} is not text; {_EXPECTED}")
    return text, notes


def _split(text: str, delimiter: str, filename: str) -> tuple[Line, ...]:
    """Rows with the number of the line on which each begins."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    lines: list[Line] = []
    begins = 1
    try:
        for cells in reader:
            lines.append(Line(row=begins, cells=tuple(cells)))
            begins = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{filename}, line {begins}: {error}; {_EXPECTED}") from None
    return tuple(lines)


def _fit(lines: tuple[Line, ...]) -> tuple[int, int]:
    """How well a delimiter fits: known headings in the best row, then rows of the usual width."""
    headings = max((known(line.cells) for line in lines[:_HEADER_WITHIN]), default=0)
    widths = Counter(len(line.cells) for line in lines if any(line.cells))
    width, rows = max(widths.items(), key=lambda one: one[1], default=(0, 0))
    is_table = width > 1 and rows * 2 > sum(widths.values())
    if not is_table and headings < 2:
        return (0, 0)
    return headings, rows * width
