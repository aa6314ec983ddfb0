"""The bytes of a historian export → its rows as text: unpacked, decoded, and a table at all."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import sys
import warnings as python_warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from app.historian.columns import NAMED_FAULTS
from compliance.errors import InputError
from compliance.model.faults import Fault, brief

REQUIRED = ("at", "point", "parameter", "value", "unit")
OPTIONAL = {"quality": "good", "sample_type": "meter"}

LARGEST_BYTES = 2_000_000_000
LARGEST_RATIO = 200
MODEST_BYTES = 64_000_000
"""Up to here no ratio is suspect: a constant signal packs very well."""

ROWS_AT_ONCE = 200_000
"""So many rows are held as text; of all others only numbers are kept."""

_CHUNK = 1 << 20
_HEADINGS_SHOWN = 12
_HEADER = ",".join(REQUIRED)


def content(path: str, name: str, what: str = "readings") -> bytes:
    """The bytes of a file, or of standard input for ``-``, unpacked where they are gzip.

    Raises: InputError when it cannot be read, or would unpack to too much.
    """
    try:
        packed = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return _unpacked(packed, name) if packed[:2] == b"\x1f\x8b" else packed
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or str(error) or "the file is cut short"
        raise InputError(
            f"{name} cannot be read ({why}); expected a CSV of {what}, gzip or not"
        ) from None


def _unpacked(packed: bytes, name: str) -> bytes:
    """Gzip undone in parts, so that a bomb is refused before it fills the memory."""
    most = min(LARGEST_BYTES, max(MODEST_BYTES, LARGEST_RATIO * len(packed)))
    parts: list[bytes] = []
    size = 0
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
        while part := stream.read(_CHUNK):
            size += len(part)
            if size > most:
                raise InputError(
                    f"{name} has {len(packed):,} bytes and would unpack to more than {most:,}; "
                    f"expected at most {LARGEST_RATIO} times its size and {LARGEST_BYTES:,}: "
                    "unpack it yourself if it is what you mean, and split it"
                )
            parts.append(part)
    return b"".join(parts)


def frames(raw: bytes, name: str) -> Iterator[pd.DataFrame]:
    """The rows of a CSV as text, in the columns of the contract, some at a time.

    The index counts from 0 on through all of them. raw: UTF-8, UTF-16 with its mark, or code page
    1252. Raises: InputError.
    """
    text = as_utf8(raw, name)
    header = text[:4096].split(b"\n", maxsplit=1)[0]
    separator = max((",", ";", "\t"), key=lambda mark: header.count(mark.encode()))
    _check_headings(_header(text, separator, name), name)
    empty = True
    for piece in _pieces(text, separator, name):
        found = _named(piece)
        if not found.empty:
            empty = False
            yield found
    if empty:
        raise InputError(
            f"{name} has no reading at all, so nothing was judged; expected rows under the header"
        )


def _named(piece: pd.DataFrame) -> pd.DataFrame:
    """Rows in the columns of the contract, blank ones left out."""
    piece.columns = [str(column).strip().casefold() for column in piece.columns]
    for column, usual in OPTIONAL.items():
        piece[column] = piece[column].replace("", usual) if column in piece else usual
    blank = (piece["at"] == "").to_numpy(bool)
    if not blank.any():
        return piece
    blank = (piece[list(REQUIRED)] == "").all(axis=1).to_numpy(bool)
    return piece.loc[~blank]


def as_utf8(raw: bytes, name: str) -> bytes:
    """The file in UTF-8, without a mark. Raises: InputError when it is no text."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    else:
        encoding = "utf-8-sig" if _is_utf8(raw) else "cp1252"
    try:
        text = raw.decode(encoding).encode() if encoding != "utf-8-sig" else raw
    except UnicodeDecodeError:
        raise InputError(f"{name} is not text; expected a CSV, in UTF-8") from None
    text = text.removeprefix(b"\xef\xbb\xbf")
    nul = text.find(b"\0")
    if nul >= 0:
        row = text.count(b"\n", 0, nul) + 1
        raise InputError(
            f"{name}, row {row}: found a NUL byte, expected text; export the file again as a CSV"
        )
    return text


def _is_utf8(raw: bytes) -> bool:
    """Whether all of it is; looked at in parts, so that no second copy is made."""
    if raw.isascii():
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(raw), _CHUNK):
            decoder.decode(raw[start : start + _CHUNK])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _header(text: bytes, separator: str, name: str) -> list[str]:
    with _understood(name):
        read = pd.read_csv(
            io.BytesIO(text), sep=separator, dtype=str, na_filter=False, index_col=False,
            skip_blank_lines=False, encoding="utf-8", header=None, nrows=1,
        )  # fmt: skip
    return [str(heading) for heading in read.iloc[0]]


def _pieces(text: bytes, separator: str, name: str) -> Iterator[pd.DataFrame]:
    with _understood(name):
        reader = pd.read_csv(
            io.BytesIO(text), sep=separator, dtype=str, na_filter=False, index_col=False,
            skip_blank_lines=False, encoding="utf-8", header=0, chunksize=ROWS_AT_ONCE,
        )  # fmt: skip
    while True:
        with _understood(name):
            piece = next(reader, None)
        if piece is None:
            return
        yield piece


@contextmanager
def _understood(name: str) -> Iterator[None]:
    """What the reader of tables complains of, as one sentence."""
    try:
        with python_warnings.catch_warnings():
            python_warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except (pd.errors.ParserError, pd.errors.EmptyDataError, pd.errors.ParserWarning) as error:
        raise InputError(f"{name}: {_table_fault(str(error))}") from None
    except ValueError:
        raise InputError(f"{name} is not text; expected a CSV, in UTF-8") from None


def _check_headings(headings: Sequence[str], name: str) -> None:
    """Each column of the contract once. Raises: InputError naming what is missing or doubled."""
    written: dict[str, str] = {}
    for heading in headings:
        column = heading.strip().casefold()
        if column in written and column in (*REQUIRED, *OPTIONAL):
            raise InputError(
                f"{name}, row 1: the columns {written[column]!r} and {heading.strip()!r} both mean "
                f"{column}, expected one; remove or rename the other"
            )
        written[column] = heading.strip()
    missing = [column for column in REQUIRED if column not in written]
    if missing and headings[0].lstrip().startswith("#"):
        raise InputError(
            f"{name}, row 1: found a comment, {brief(headings[0].strip())!r}, expected the header "
            f"{_HEADER}; remove the lines above it"
        )
    if missing:
        shown = [brief(heading.strip()) for heading in headings[:_HEADINGS_SHOWN]]
        more = " …" if len(headings) > _HEADINGS_SHOWN else ""
        raise InputError(
            f"{name}, row 1: found the columns {', '.join(shown)}{more}, expected "
            f"{', '.join(REQUIRED)}; add {', '.join(missing)}"
        )


def _table_fault(said: str) -> str:
    fields = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", said)
    if fields:
        expected, row, saw = fields.groups()
        return f"row {row}: found {saw} fields, expected {expected} as in the header; quote commas"
    if "No columns" in said:
        return f"the file, or its first row, is empty; expected a header {_HEADER} and rows"
    opened = re.search(r"EOF inside string starting at row (\d+)", said)
    if opened:
        return (
            f"row {int(opened[1]) + 1}: a quotation mark is opened and never closed, expected "
            "a second one; close or remove it"
        )
    return "rows have more fields than the header; name every column and quote commas"


def comments(rows: pd.DataFrame) -> Iterator[Fault]:
    """The first rows that are remarks and not readings."""
    for at in rows.index[rows["at"].str.lstrip().str.startswith("#")][:NAMED_FAULTS]:
        yield Fault(
            row=int(at) + 2,
            column="at",
            found=str(rows["at"][at]),
            expected="a reading: this is a comment",
            repair="remove the line",
        )
