"""Faults of a row: what is wrong with it, and how a person repairs it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why a row of a file cannot be used, and how to repair it. Rows count from 1, the header's."""

    row: int
    column: str
    found: str
    expected: str
    repair: str

    def __str__(self) -> str:
        return (
            f"row {self.row}, column {self.column}: found {self.found!r}, "
            f"expected {self.expected}; {self.repair}"
        )
