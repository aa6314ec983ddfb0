"""The records schedules of cities: each as it was loaded, the newest in force."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select
from sqlalchemy.dialects.postgresql import distinct_on

from compliance.model.keeping import Line, Schedule
from compliance.model.parameters import Parameter
from compliance.records import tables as t


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A schedule with its number, and who loaded it when from which file."""

    id: int
    city_id: int
    schedule: Schedule
    file: str
    sha256: str
    loaded_by: str
    loaded_at: datetime


def put(
    db: Connection, city_id: int, schedule: Schedule, *, file: str, sha256: str, by: str
) -> int:
    """Keep a schedule; it takes over from the city's earlier ones. Its number."""
    row = insert(t.records_schedule).values(
        city_id=city_id,
        adopted_on=schedule.adopted_on,
        adopted_by=schedule.adopted_by,
        lines=[
            {
                "line": line.name,
                "years": line.years,
                "citation": line.citation,
                "parameters": sorted(line.parameters),
            }
            for line in schedule.lines
        ],
        file=file,
        sha256=sha256,
        loaded_by=by,
    )
    return int(db.scalar(row.returning(t.records_schedule.c.id)) or 0)


def in_force(db: Connection) -> dict[int, Loaded]:
    """The newest schedule of each city that has one, by city."""
    s = t.records_schedule
    newest = select(s).ext(distinct_on(s.c.city_id)).order_by(s.c.city_id, s.c.id.desc())
    return {row["city_id"]: _loaded(row) for row in db.execute(newest).mappings()}


def _loaded(row: Any) -> Loaded:
    return Loaded(
        id=row["id"],
        city_id=row["city_id"],
        schedule=Schedule(
            adopted_on=row["adopted_on"],
            adopted_by=row["adopted_by"],
            lines=tuple(
                Line(
                    name=line["line"],
                    years=line["years"],
                    citation=line["citation"],
                    parameters=frozenset(Parameter(one) for one in line["parameters"]),
                )
                for line in row["lines"]
            ),
        ),
        file=row["file"],
        sha256=row["sha256"],
        loaded_by=row["loaded_by"],
        loaded_at=row["loaded_at"],
    )
