"""The evidence of a finding as a page lays it out: readings around the worst, and their papers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from sqlalchemy import Connection

from app.maps import laid_out
from app.templating import number
from compliance.model.calibrations import is_current
from compliance.model.periods import from_us, to_us
from compliance.model.readings import Quality, grade, reasons
from compliance.records import counting, readings, sites
from compliance.records.places import Signal, register_maps

SIDE = 5
"""How many readings are shown before and after the worst."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A reading as it came: value, quality in words, raw registers."""

    at: datetime
    shown: str
    quality: str
    words: tuple[int, ...]
    is_worst: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Papers:
    """What makes a continuous measurement count, in plain values; empty where there is none."""

    commissioning: Mapping[str, Any]
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    is_current: bool
    instrument: Mapping[str, Any]
    map_name: str
    map_sha256: str
    map_document: str
    unverified: tuple[str, ...]


def around(db: Connection, signal: Signal, worst_at: datetime) -> tuple[Line, ...]:
    """The worst reading and its neighbours, by the interval of then, with their raw words."""
    alone = readings.usable(
        db, [signal.channel_id], since=worst_at, until=worst_at + timedelta(microseconds=1)
    )[signal.channel_id]
    interval_us = int(alone.interval_us[0]) if len(alone) else 1000 * signal.interval_ms
    margin = timedelta(microseconds=(SIDE + 1) * interval_us)
    series = readings.usable(
        db, [signal.channel_id], since=worst_at - margin, until=worst_at + margin
    )[signal.channel_id]
    middle = int(np.searchsorted(series.at_us, to_us(worst_at)))
    near = range(max(0, middle - SIDE), min(len(series), middle + SIDE + 1))
    count = _words(db, signal)
    lines = []
    for index in near:
        at = from_us(series.at_us[index])
        quality = Quality(int(series.quality[index]))
        value = float(series.value[index])
        lines.append(
            Line(
                at=at,
                shown=number(None if np.isnan(value) else value, signal.resolution),
                quality=reasons(quality) or grade(quality).value,
                words=readings.words_at(db, signal.channel_id, at, count=count) or (),
                is_worst=at == worst_at,
            )
        )
    return tuple(lines)


def papers_of(db: Connection, channel_id: int, *, at: datetime, zone: str) -> Papers:
    """Approval, calibrations and register map of a channel, as they stood at an instant."""
    found = sites.papers(db, channel_id)
    done = [
        (when, {**one, "at": when})
        for one in found.calibrations
        for when in (datetime.fromisoformat(one["calibrated_at"]),)
    ]
    before = [one for when, one in done if when <= at]
    after = [one for when, one in done if when > at]
    approved = dict(found.commissioning or {})
    last = max((when for when, _ in done if when <= at), default=None)
    days = approved.get("calibration_days")
    published = found.register_map or {}
    read = laid_out(published.get("content"))
    instrument = dict(found.instrument or {})
    if confirmed_at := instrument.get("confirmed_at"):
        instrument["confirmed_at"] = datetime.fromisoformat(str(confirmed_at))
    if (then := counting.at(db, channel_id, at)) and then.until is not None:
        words = {"confirmed_by": then.by, "confirmed_at": then.since, "confirmed_how": then.how}
        instrument |= words  # what holds now is another comparison, or none
    return Papers(
        commissioning=approved,
        before=before[-1] if before else {},
        after=after[0] if after else {},
        is_current=bool(last and days and is_current(at, last, days=days, zone=ZoneInfo(zone))),
        instrument=instrument,
        map_name=str(instrument.get("map_name", "")),
        map_sha256=str(published.get("sha256", "")),
        map_document=read.document if read else "",
        unverified=read.unverified if read else (),
    )


def _words(db: Connection, signal: Signal) -> int:
    published = register_maps(db).get(signal.map_name or "")
    read = laid_out(published[1]) if published else None
    return read.words(signal.entry) if read else 2
