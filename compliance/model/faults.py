"""Faults of a row: what is wrong with it, and how a person repairs it."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST = 60
"""How many characters of a cell a sentence quotes."""


def brief(text: str) -> str:
    """A text as a sentence can quote it: cut to 60 characters where it is longer."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why a row of a file cannot be used, and how to repair it. Rows count from 1, the header's.

    column, found: as the file writes them, long ones cut by ``brief``.
    """

    row: int
    column: str
    found: str
    expected: str
    repair: str

    def __post_init__(self) -> None:
        """A file may hold a cell of megabytes: no page or answer repeats it."""
        object.__setattr__(self, "column", brief(self.column))
        object.__setattr__(self, "found", brief(self.found))

    def __str__(self) -> str:
        return (
            f"row {self.row}, column {self.column}: found {self.found!r}, "
            f"expected {self.expected}; {self.repair}"
        )
