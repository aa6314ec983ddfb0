"""The demo's past: readings every five minutes and days of discharge, from the scenario."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
from sqlalchemy import Engine

from compliance.model.periods import Period, to_us
from compliance.records import sites
from ingest import backfill, instrument
from ingest import scenario as scenarios

STEP = timedelta(minutes=5)


def fill(engine: Engine, world: scenarios.Scenario, *, since: datetime, until: datetime) -> int:
    """Store the readings of every channel every five minutes in ``[since, until)``."""
    with engine.begin() as db:
        known = {
            (place.point, place.unit_id, place.entry): place.channel_id
            for place in sites.places(db).values()
        }
        for channel_id in known.values():
            interval_ms = STEP // timedelta(milliseconds=1)
            sites.set_cadence(db, channel_id, since=since, interval_ms=interval_ms)
    step_us = STEP // timedelta(microseconds=1)
    at_us = np.arange(-(-to_us(since) // step_us) * step_us, to_us(until), step_us, dtype=np.int64)
    series: dict[int, backfill.History] = {}
    for manhole in world.started(until):
        for unit in manhole.units:
            for channel in unit.channels:
                value, quality = instrument.history(manhole, unit, channel, at_us=at_us)
                channel_id = known[manhole.point, unit.unit, channel.entry]
                series[channel_id] = backfill.History(at_us=at_us, value=value, quality=quality)
    return backfill.store(engine, worker="history", series=series)


def day_volumes(manhole: scenarios.Manhole, *, first: date, last: date) -> dict[date, Decimal]:
    """Gallons of each civil day from the first to the last, by the totalizer."""
    days = Period(start=first, end=last + timedelta(days=1))
    return {
        day: Decimal(round(gallons))
        for day, gallons in instrument.daily_gallons(manhole, days).items()
    }
