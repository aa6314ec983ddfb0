"""The pounds in results: each with the water of its own composite, or of its civil day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from compliance.errors import UnitMismatch
from compliance.jobs.volumes import window_volume
from compliance.judging.averaging import Found, written
from compliance.judging.loading import Amount, days_of, mass, per_day
from compliance.model.parameters import Parameter
from compliance.model.periods import Window
from compliance.model.samples import Sample, SampleType
from compliance.model.sites import Channel
from compliance.model.units import Unit
from compliance.records import sites
from compliance.records.samples import StoredResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Water:
    """Where the volumes of a point come from: its meters, and its record by civil day."""

    zone: ZoneInfo
    pound_factor: Decimal
    by_day: Mapping[date, Decimal | None]
    total: Channel | None = None
    flow: Channel | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """A result in pounds a day, with the volume it was weighed with, in words."""

    found: Found
    stored: StoredResult
    gallons: Decimal
    how: str
    working: tuple[str, ...]


def meters_of(db: Connection, point_id: int) -> tuple[Channel | None, Channel | None]:
    """The totalizer and the flow meter of a point; None where it has none, or more than one."""
    mine = {id for id, place in sites.places(db).items() if place.point_id == point_id}
    channels = [one for one in sites.channels(db) if one.id in mine]
    total, flow = (
        [one for one in channels if one.parameter is parameter]
        for parameter in (Parameter.VOLUME, Parameter.FLOW)
    )
    return total[0] if len(total) == 1 else None, flow[0] if len(flow) == 1 else None


def weigh(db: Connection, stored: StoredResult, day: date, water: Water) -> Weighed | str:
    """A result in lb/day; or why its water is not known: then nothing is weighed, and never zero.

    A composite is weighed with the water of its own time where a meter tells all of it, everything
    else with the record of its civil day.
    """
    window = _window(stored.sample)
    own = None if window is None else _own(db, window, water)
    if own is not None and window is not None:
        return _weighed(stored, day, own, "by meter in the composite's own time", water, window)
    gallons = water.by_day.get(day)
    if gallons is None:
        return f"no volume is on record for {day.isoformat()}"
    return _weighed(stored, day, gallons, f"record of {day.isoformat()}", water, None)


def _window(sample: Sample) -> Window | None:
    starts, ends = sample.sampled_from, sample.sampled_to
    if sample.sample_type is not SampleType.COMPOSITE:
        return None
    if not isinstance(starts, datetime) or not isinstance(ends, datetime) or starts >= ends:
        return None
    return Window(start=starts, end=ends)


def _own(db: Connection, window: Window, water: Water) -> Decimal | None:
    """The water of a composite's time, where a meter tells the whole of it."""
    if water.total is None and water.flow is None:
        return None
    try:
        volume = window_volume(db, total=water.total, flow=water.flow, window=window)
    except UnitMismatch:
        return None
    return volume.gallons if volume.covered == 1 else None


def _weighed(  # noqa: PLR0913 - a result, its water, and how that was found
    stored: StoredResult,
    day: date,
    gallons: Decimal,
    how: str,
    water: Water,
    window: Window | None,
) -> Weighed:
    result = stored.result
    days = 1 if window is None else days_of(window, water.zone)

    def pounds(value: Decimal) -> Amount:
        found = mass(value, gallons, pound_factor=water.pound_factor, strength_unit=result.unit)
        return per_day(found, days)

    own = pounds(result.value)
    found = Found(
        day=day,
        value=own.value,
        qualifier=result.qualifier,
        written=written(own.value),
        unit=Unit.LB_DAY,
        mdl=None if result.mdl is None else pounds(result.mdl).value,
        name=str(stored.sample.label or stored.id),
    )
    return Weighed(found=found, stored=stored, gallons=gallons, how=how, working=own.working)


def parts_of_days(weighed: Sequence[Weighed]) -> tuple[Found, ...]:
    """What enters an average: composites of one day that do not overlap are parts of it, and add.

    Others of one day are measured of the same water, and stay beside each other.
    """
    by_day: dict[date, list[Weighed]] = {}
    for one in weighed:
        by_day.setdefault(one.found.day, []).append(one)
    return tuple(found for same in by_day.values() for found in _parts(same))


def _parts(same: Sequence[Weighed]) -> list[Found]:
    windows = [_window(one.stored.sample) for one in same]
    known = sorted((w for w in windows if w is not None), key=lambda w: w.start)
    by_meter = all(one.how.startswith("by meter") for one in same)
    apart = all(one.end <= two.start for one, two in zip(known, known[1:], strict=False))
    plain = all(one.found.qualifier == "" for one in same)
    if len(same) < 2 or not by_meter or not apart or len(known) < len(same) or not plain:
        return [one.found for one in same]
    total = sum((Fraction(one.found.value) for one in same), Fraction(0))
    return [
        Found(
            day=same[0].found.day,
            value=total,
            qualifier="",
            written=written(total),
            unit=Unit.LB_DAY,
            name=" + ".join(one.found.name for one in same),
        )
    ]
