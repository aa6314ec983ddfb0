"""What is set apart in a run: bad rows and values not taken, each in a CSV of its own."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from compliance.errors import InputError

REJECTS = ("file", "row", "column", "found", "expected", "repair", "line")
CONFLICTS = ("file", "at", "point", "parameter", "entry", "unit", "stored", "found")


class Aside:
    """A CSV that exists only once it has a row; ``path`` is then where it lies."""

    def __init__(self, path: Path, columns: Sequence[str], *, option: str) -> None:
        self.path, self._columns, self._option = path, columns, option
        self._stack = ExitStack()
        self.rows = 0

    def __enter__(self) -> Self:
        self.path.unlink(missing_ok=True) if self._is_ours() else None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def add(self, rows: Iterable[Sequence[object]]) -> None:
        """Write rows. Raises: InputError where the file cannot be made."""
        for row in rows:
            if not self.rows:
                self._open()
            self._writer.writerow(row)
            self.rows += 1

    def _open(self) -> None:
        if self.path.exists():
            raise self._refused("a file of another kind is there")
        try:
            file = self._stack.enter_context(self.path.open("w", newline="", encoding="utf-8"))
        except OSError as error:
            raise self._refused(error.strerror or "no reason given") from None
        self._writer = csv.writer(file, lineterminator="\n")
        self._writer.writerow(self._columns)

    def _is_ours(self) -> bool:
        """Whether the file is one of an earlier run; anything else is left alone."""
        try:
            with self.path.open(encoding="utf-8", errors="replace") as file:
                return file.readline(1000).rstrip("\n") == ",".join(self._columns)
        except OSError:
            return False

    def _refused(self, why: str) -> InputError:
        return InputError(
            f"{self.path} cannot be written ({why}); expected a place for what is set apart: name "
            f"another with {self._option}"
        )
