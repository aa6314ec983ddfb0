"""Whether our statements on readings say of which time: one that does not reads every chunk."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

ROOT = Path(__file__).parents[2]
OURS = tuple(str(ROOT / name) for name in ("app", "compliance", "ingest"))
_EDGE = "the edge of a history that nothing else knows: one row from an end of the key"
ALLOWED = {
    "compliance/records/around.py:last_reading": _EDGE,
    "compliance/records/dirt.py:first_reading": _EDGE,
    "compliance/records/inventory.py:_count": "every row of a backup is counted, whatever its time",
}
"""By file and function, why a statement need not say of which time."""
_READS = re.compile(r"(?:\bFROM|\bJOIN|,)\s+reading\b", re.IGNORECASE)
_BOUND = re.compile(r"\bread_at\s*(?:>|<|=|\bIN\b|\bBETWEEN\b)", re.IGNORECASE)


def is_unbounded(statement: str) -> bool:
    """Whether a statement reads from readings without a word on their time."""
    return bool(_READS.search(statement)) and not _BOUND.search(statement)


@contextmanager
def watched(engine: Engine) -> Iterator[None]:
    """Fails at the end if any of our own statements meanwhile was unbounded."""
    found: set[str] = set()

    def look(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if is_unbounded(statement) and (place := _place()) and place not in ALLOWED:
            found.add(f"{place}: {' '.join(statement.split())[:300]}")

    event.listen(engine, "before_cursor_execute", look)
    try:
        yield
    finally:
        event.remove(engine, "before_cursor_execute", look)
    assert not found, f"statements on readings that say no time: {sorted(found)}"


def _place() -> str | None:
    """The file and function of ours that asks; None where a test asks by itself."""
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(OURS):
            return f"{Path(file).relative_to(ROOT)}:{frame.f_code.co_name}"
        if file.startswith(str(ROOT / "tests")) and file != __file__:
            return None
        frame = frame.f_back  # type: ignore[assignment]
    return None
