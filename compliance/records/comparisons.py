"""Comparisons of registers with a display, kept whatever came of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from compliance.records import tables as t
from compliance.records.setting_up import SetUp


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a display showed beside what was read.

    order: the one that the instrument is read in after it; lines: by channel id, as text; problem:
    why it confirms nothing, empty where it does.
    """

    question_id: int
    at: datetime
    by: str
    agrees: bool
    order: str | None
    lines: Mapping[str, Mapping[str, Any]]
    problem: str

    def told(self, of: SetUp) -> str:
        """In one sentence, for the record of the confirmation."""
        order = f" in order {self.order}" if self.order else ""
        shown = (self.lines[str(channel.id)] for channel in of.channels)
        parts = [f"{one['entry']} {one['display'] or 'not compared'}" for one in shown]
        return f"compared with the display{order}: {', '.join(parts)}"


def add(  # noqa: PLR0913 - a comparison is that much
    db: Connection,
    *,
    instrument_id: int,
    question_id: int,
    by: str,
    order: str | None,
    lines: Mapping[str, Mapping[str, Any]],
    problem: str,
) -> Comparison:
    """Keep a comparison."""
    row = {
        "instrument_id": instrument_id,
        "field_question_id": question_id,
        "by": by,
        "agrees": not problem,
        "byte_order": order,
        "lines": dict(lines),
        "problem": problem,
    }
    db.execute(t.comparison.insert().values(**row))
    made = newest(db, instrument_id)
    assert made is not None
    return made


def newest(db: Connection, instrument_id: int) -> Comparison | None:
    """The last comparison of an instrument."""
    c = t.comparison.c
    query = select(t.comparison).where(c.instrument_id == instrument_id).order_by(c.id.desc())
    row = db.execute(query.limit(1)).mappings().first()
    if row is None:
        return None
    return Comparison(
        question_id=row["field_question_id"],
        at=row["compared_at"],
        by=row["by"],
        agrees=row["agrees"],
        order=row["byte_order"],
        lines=row["lines"],
        problem=row["problem"],
    )
