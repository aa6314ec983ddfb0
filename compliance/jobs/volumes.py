"""The volume of civil days at a point: its total and its flow rate read, and laid side by side."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
from sqlalchemy import Connection

from compliance.jobs.totals import StoredTotal, stored_total
from compliance.model.periods import Window, from_us, local_day, to_us
from compliance.model.readings import Series
from compliance.model.sites import Channel
from compliance.model.thinning import PIECE_US
from compliance.model.totals import FlowIntegral, Step, Volume
from compliance.model.units import Unit
from compliance.model.volume_pieces import Odd, Piece, hours, near, odd_readings, pieces
from compliance.model.volumes import LONGEST_HOLD_US, day_volume, flow_integral
from compliance.records import meters, readings

LONGEST = timedelta(days=31)
FINE = timedelta(days=2)
"""Longer spans are added up from coarser pieces of the total: the sum is the same."""
COARSE_US = 5 * PIECE_US


@dataclass(frozen=True, slots=True, kw_only=True)
class DayVolume:
    """A civil day: its volume, the flow integral beside it, what was odd, and its hours.

    flow: None where the point has no flow channel. is_running: the day has not ended yet, and the
    figures are up to now.
    """

    day: date
    volume: Volume
    flow: FlowIntegral | None
    odd: tuple[Odd, ...]
    is_running: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PointVolume:
    """Days of a point, oldest first, in hours or days for a plot, with notes of its meter."""

    days: tuple[DayVolume, ...]
    pieces: tuple[Piece, ...]
    notes: tuple[meters.MeterEvent, ...]
    problem: str


def point_volume(  # noqa: PLR0913 - two channels and a span
    db: Connection,
    *,
    total: Channel | None,
    flow: Channel | None,
    first: date,
    last: date,
    zone: ZoneInfo,
    now: datetime,
) -> PointVolume:
    """The volumes of the civil days from the first to the last; days to come are left out."""
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    windows = {day: local_day(day, zone) for day in days if local_day(day, zone).start < now}
    if not windows:
        return PointVolume(days=(), pieces=(), notes=(), problem="")
    span = Window(start=windows[days[0]].start, end=list(windows.values())[-1].end)
    stored = _total(db, total, span)
    flows = _flows(db, flow, span)
    steps = stored.steps.steps if stored else ()
    units = (
        Unit.GAL if total is None else total.unit,
        Unit.GPM if flow is None else flow.unit,
    )
    read_to = from_us(steps[-1].at_us) if steps else now
    found = tuple(
        _day(
            day,
            _so_far(window, now, read_to),
            steps=steps,
            flows=_near(flows, window),
            units=units,
            resolution=Decimal(total.resolution) if total else Decimal(0),
            is_running=window.end > now,
        )
        for day, window in windows.items()
    )
    cut = hours(span) if len(windows) == 1 else tuple(windows.values())
    return PointVolume(
        days=found,
        pieces=tuple(
            piece
            for window in cut
            for piece in pieces(
                [window], steps, _near(flows, window), total_unit=units[0], flow_unit=units[1]
            )
        ),
        notes=stored.notes if stored else (),
        problem=stored.problem if stored else "",
    )


def window_volume(
    db: Connection, *, total: Channel | None, flow: Channel | None, window: Window
) -> Volume:
    """The volume of any window at a point, such as that of a composite.

    Raises: UnitMismatch.
    """
    stored = _total(db, total, window)
    return day_volume(
        stored.steps.steps if stored else (),
        _flows(db, flow, window),
        window,
        total_unit=Unit.GAL if total is None else total.unit,
        flow_unit=Unit.GPM if flow is None else flow.unit,
        resolution=Decimal(total.resolution) if total else Decimal(0),
    )


def _so_far(window: Window, now: datetime, read_to: datetime) -> Window:
    """A day that has not ended goes up to now, or up to the last reading of its total."""
    if window.end <= now:
        return window
    end = read_to if window.start < read_to < now else now
    return Window(start=window.start, end=end)


def _total(db: Connection, total: Channel | None, span: Window) -> StoredTotal | None:
    if total is None:
        return None
    is_long = span.length > FINE
    piece_us = COARSE_US if is_long else PIECE_US
    return stored_total(db, total, since=span.start, until=span.end, piece_us=piece_us)


def _flows(db: Connection, flow: Channel | None, span: Window) -> Series | None:
    if flow is None:
        return None
    before = timedelta(microseconds=LONGEST_HOLD_US)
    return readings.usable(db, [flow.id], since=span.start - before, until=span.end)[flow.id]


def _near(flows: Series | None, window: Window) -> Series | None:
    """The readings of a window, and those before it that may reach into it."""
    if flows is None:
        return None
    edges = [to_us(window.start) - LONGEST_HOLD_US, to_us(window.end)]
    low, high = np.searchsorted(flows.at_us, edges)
    inside = np.zeros(len(flows), np.bool_)
    inside[low:high] = True
    return flows.where(inside)


def _day(  # noqa: PLR0913 - what a day's figures rest on
    day: date,
    window: Window,
    *,
    steps: tuple[Step, ...],
    flows: Series | None,
    units: tuple[Unit, Unit],
    resolution: Decimal,
    is_running: bool,
) -> DayVolume:
    inside = near(steps, window)
    return DayVolume(
        day=day,
        volume=day_volume(
            inside,
            flows,
            window,
            total_unit=units[0],
            flow_unit=units[1],
            resolution=resolution,
        ),
        flow=None if flows is None else flow_integral(flows, window, unit=units[1]),
        odd=odd_readings(inside, window),
        is_running=is_running,
    )
