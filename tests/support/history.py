"""What tests of backfill share: rows as exports have them, and what became of them."""

from __future__ import annotations

import csv
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select

from compliance.records import tables as t

HEADER = "at,point,parameter,value,unit,quality\n"
BASE = datetime(2000, 1, 1, tzinfo=UTC)

Import = Callable[..., dict[str, Any]]


def rows(engine: Engine) -> list[tuple[int, str, float | None, int]]:
    """Every reading: channel, instant, value, quality."""
    r = t.reading.c
    with engine.connect() as db:
        found = db.execute(
            select(r.channel_id, r.read_at, r.value, r.quality).order_by(r.channel_id, r.read_at)
        )
        return [(c, f"{at:%Y-%m-%dT%H:%M:%S}", value, quality) for c, at, value, quality in found]


def cadences(engine: Engine, channel: int) -> list[tuple[datetime, int]]:
    c = t.channel_cadence.c
    with engine.connect() as db:
        found = db.execute(
            select(c.since, c.interval_ms).where(c.channel_id == channel).order_by(c.since)
        )
        return [tuple(row) for row in found]


def every(minutes: int, count: int, *, start: datetime, value: str = "7.25") -> str:
    """Rows of pH at MH-1, one every so many minutes."""
    return "".join(
        f"{start + timedelta(minutes=minutes * n):%Y-%m-%dT%H:%M:%SZ},MH-1,ph,{value},s.u.,\n"
        for n in range(count)
    )


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
