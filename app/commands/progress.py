"""How far a command is, on one line of a terminal's error output; into a file nothing is said."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

WIDTH = 78
_CLEAR = "\r\x1b[K"


def tell(text: str) -> None:
    """Say where a command is, in the place of what was said before."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"{_CLEAR}{text[:WIDTH]}")
        sys.stderr.flush()


@contextmanager
def told() -> Iterator[None]:
    """Within it a command tells; at its end the line is empty again, whatever happened."""
    try:
        yield
    finally:
        if sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
