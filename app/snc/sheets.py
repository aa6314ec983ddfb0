"""The worksheet of significant noncompliance as a CSV that a spreadsheet may open safely."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import astuple

from compliance.judging.noncompliance import Tally
from compliance.judging.worksheet import HEADINGS, rows
from compliance.model.noncompliance import SncRule

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def text(tallies: Iterable[Tally], rule: SncRule) -> str:
    """The whole file: a header, then each measurement beside its limit."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(HEADINGS)
    for row in rows(tallies, rule):
        writer.writerow(_safe(cell) for cell in astuple(row))
    return out.getvalue()


def _safe(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula; a negative number stays one."""
    is_number = cell[1:].replace(".", "", 1).isdigit()
    return f"'{cell}" if cell.startswith(_FORMULA) and not is_number else cell
