"""A city's records schedule is loaded from its file, in one audited transaction."""

from __future__ import annotations

import hashlib
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import Engine

from compliance.errors import InputError, NotFound
from compliance.model.periods import day_of
from compliance.records import audit, schedules, sites
from compliance.rules import keeping
from compliance.rules.keeping import ScheduleDocument

EVERYWHERE = ZoneInfo("Pacific/Kiritimati")
"""Where a day begins first: whatever is to come there is to come for every city."""


def load(engine: Engine, text: str, *, file: str, by: str, now: datetime) -> ScheduleDocument:
    """Load a schedule; it takes over from the city's earlier one. by: who loads it.

    Raises: InputError, also where the city is not here.
    """
    document = keeping.parse(text, file=file, today=day_of(now, EVERYWHERE))
    with engine.begin() as db:
        try:
            city = sites.city(db, document.records_schedule)
        except NotFound as error:
            raise InputError(f"{file}: records_schedule: {error}") from None
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        schedule = document.schedule
        number = schedules.put(db, city.id, schedule, file=file, sha256=sha256, by=by)
        audit.note(
            db,
            by=by,
            act="load a records schedule",
            subject=f"records schedule {number}",
            detail={
                "city": city.slug,
                "adopted_on": schedule.adopted_on,
                "adopted_by": schedule.adopted_by,
                "lines": [f"{line.name}: {line.years} years" for line in schedule.lines],
                "file": file,
                "file_sha256": sha256,
            },
        )
    return document
