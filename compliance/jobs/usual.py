"""What is usual at a channel's readings, by the stored quarter-hours of the weeks before."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import numpy as np
from sqlalchemy import Connection

from compliance.judging import usual
from compliance.model.periods import day_of, from_us
from compliance.model.readings import Series, Values
from compliance.records import rollups
from compliance.rules.slugs import settings_on


def baseline(db: Connection, channel_id: int, series: Series, *, zone: str) -> Values:
    """What is usual at each reading, in the channel's unit; NaN where history is too short.

    zone: of the plant, whose weekdays and hours count.
    """
    if not len(series):
        return np.empty(0)
    first, last = from_us(series.at_us[0]), from_us(series.at_us[-1])
    there = ZoneInfo(zone)
    settings = settings_on(day_of(last, there)).usual
    since = usual.needed_from(first, settings)
    found = rollups.quarters(db, [channel_id], since=since, until=last)[channel_id]
    return usual.at_hours(series.at_us, usual.means(found), settings, zone=there)
