"""XLSX → rows of text, in a child process with little memory and time: a workbook may be a bomb."""

from __future__ import annotations

import io
import json
import resource
import subprocess
import sys
import zipfile
from datetime import date, datetime, time, timedelta

from python_calamine import CalamineError, CalamineWorkbook

from compliance.errors import InputError

LARGEST_BYTES = 50_000_000
LARGEST_RATIO = 100
MEMORY_BYTES = 512 * 1024 * 1024
SECONDS = 20
_EXPECTED = "expected a workbook of one plain table: save it as CSV and upload that"


def rows_of(content: bytes, *, filename: str) -> list[list[str]]:
    """The first sheet's rows, every cell as text: dates in ISO form, numbers to 15 digits.

    Raises: InputError when it is no workbook, or one too large when unpacked.
    """
    _must_be_modest(content, filename)
    command = [sys.executable, "-m", "app.workbooks"]
    try:
        child = subprocess.run(
            command, input=content, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"{filename} took over {SECONDS} s to read; {_EXPECTED}") from None
    if child.returncode != 0:
        raise InputError(f"{filename} cannot be read as a workbook; {_EXPECTED}")
    rows: list[list[str]] = json.loads(child.stdout)
    return rows


def _must_be_modest(content: bytes, filename: str) -> None:
    try:
        parts = zipfile.ZipFile(io.BytesIO(content)).infolist()
    except zipfile.BadZipFile:
        raise InputError(f"{filename} is a damaged archive; {_EXPECTED}") from None
    unpacked = sum(part.file_size for part in parts)
    if unpacked > LARGEST_BYTES or unpacked > LARGEST_RATIO * max(1, len(content)):
        raise InputError(f"{filename} would unpack to {unpacked:,} bytes; {_EXPECTED}")


def cell_text(cell: object) -> str:
    """A cell as text: a number as Excel shows it, a date without time as a date."""
    if isinstance(cell, bool) or cell is None:
        return "" if cell is None else str(cell)
    if isinstance(cell, float):
        return format(cell, ".15g")
    if isinstance(cell, datetime | date | time):
        return cell.isoformat(" ") if isinstance(cell, datetime) else cell.isoformat()
    if isinstance(cell, timedelta):
        return str(cell)
    return str(cell)


def main() -> int:
    """The child: a workbook on standard input, its rows as JSON on standard output."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(sys.stdin.buffer.read()))
        rows = book.get_sheet_by_index(0).to_python(skip_empty_area=False)
    except (CalamineError, OSError, MemoryError, IndexError):
        return 1
    json.dump([[cell_text(cell) for cell in row] for row in rows], sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
