"""What was measured on a day that was billed: before readings changed it, and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum

import numpy as np

from compliance.errors import UnitMismatch
from compliance.model.periods import Window, to_us
from compliance.model.readings import Series
from compliance.model.rollups import QUARTER_US, Figures, Quarters
from compliance.model.totals import Step
from compliance.model.units import Unit, as_decimal, linear, rounded
from compliance.model.volumes import percent, volume_between

NOTHING = "nothing was measured"
MEAN_PLACES = 3


class What(StrEnum):
    """Which figure of a day is compared."""

    VOLUME = "volume"
    MEAN = "mean"


@dataclass(frozen=True, slots=True, kw_only=True)
class DayFigure:
    """A day of a channel in one number: value None where nothing was measured.

    A volume is in whole gallons, so that no rounding looks like a change; working: in words.
    """

    what: What
    unit: Unit
    value: Decimal | None
    working: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A day that is another since a bill was issued over it, for a person to look at.

    version: counts the changes while it is open. The three that tell how it was settled are None
    until then.
    """

    id: int
    bill: str
    channel_id: int
    point: str
    parameter: str
    entry: str
    day: date
    what: What
    unit: str
    was: Decimal | None
    now: Decimal | None
    was_working: str
    now_working: str
    version: int
    opened_at: datetime
    changed_at: datetime
    settled_at: datetime | None
    settled_by: str | None
    settled_why: str | None

    @property
    def is_open(self) -> bool:
        """Whether nobody has settled it yet."""
        return self.settled_at is None


def by_rate(of: Figures | None, unit: Unit) -> DayFigure:
    """A day of a flow channel: its volume, or its mean where its unit is no flow's.

    of: the sums of the day; None, and one for which nothing was held, is nothing measured.
    """
    try:
        factor = linear(unit, Unit.GPM)[0]
    except UnitMismatch:
        return _mean(of, unit)
    if of is None or not of.held_us:
        return DayFigure(what=What.VOLUME, unit=Unit.GAL, value=None, working=NOTHING)
    gallons = rounded(Decimal(repr(of.area)) / 60 * as_decimal(factor), 0)
    held = percent(Decimal(of.held_us) / of.length_us)
    working = f"flow rate times time: {gallons:,} gal, from {held} of the day"
    return DayFigure(what=What.VOLUME, unit=Unit.GAL, value=gallons, working=working)


def _mean(of: Figures | None, unit: Unit) -> DayFigure:
    if of is None or of.mean is None:
        return DayFigure(what=What.MEAN, unit=unit, value=None, working=NOTHING)
    mean = rounded(Decimal(repr(of.mean)), MEAN_PLACES)
    held = percent(Decimal(of.held_us) / of.length_us)
    working = f"mean by time: {mean} {unit.value}, from {held} of the day"
    return DayFigure(what=What.MEAN, unit=unit, value=mean, working=working)


def by_total(steps: Sequence[Step], window: Window, unit: Unit) -> DayFigure:
    """A day of a totalizer: the volume of its steps, one that crosses midnight by its share.

    unit: of the count. A day that no step touches is nothing measured.
    """
    start, end = to_us(window.start), to_us(window.end)
    if not any(one.spans and one.since_us < end and one.at_us > start for one in steps):
        return DayFigure(what=What.VOLUME, unit=Unit.GAL, value=None, working=NOTHING)
    try:
        factor, given = linear(unit, Unit.GAL)[0], Unit.GAL
    except UnitMismatch:
        factor, given = linear(unit, unit)[0], unit
    volume = rounded(as_decimal(volume_between(steps, window) * factor), 0)
    working = f"by the meter's total: {volume:,} {given.value}"
    return DayFigure(what=What.VOLUME, unit=given, value=volume, working=working)


def counts_of(quarters: Quarters) -> Series:
    """The first and the last count of each quarter-hour of a total, at its two ends."""
    known = quarters.good > 0
    start = quarters.start_us[known]
    at = np.column_stack((start, start + QUARTER_US - 1)).ravel()
    value = np.column_stack((quarters.first[known], quarters.last[known])).ravel()
    return Series(
        at_us=at,
        value=value,
        quality=np.zeros(len(at), np.int64),
        interval_us=np.full(len(at), QUARTER_US, np.int64),
    )
