"""A point's volumes and composites as its page and the API show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from compliance.errors import InputError, NotFound
from compliance.jobs.volumes import LONGEST, DayVolume, PointVolume, point_volume
from compliance.model.periods import Period, day_of, from_us
from compliance.model.sites import Channel
from compliance.model.volume_pieces import Piece
from compliance.records import destructions, places, samplers, sites
from compliance.records.destructions import Destruction
from compliance.records.places import Signal
from compliance.records.samplers import Stored
from compliance.records.scope import Scope

WIDTH, HEIGHT = 720, 200
"""Of the plot, in its own units."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Two columns of the plot side by side; heights are 0 where nothing is known."""

    left: float
    width: float
    total: float
    flow: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Days of a point with everything its page needs."""

    signal: Signal
    zone: ZoneInfo
    first: date
    last: date
    totals: tuple[Channel, ...]
    total: Channel | None
    flow: Channel | None
    volume: PointVolume
    composites: tuple[Stored, ...]
    destroyed: tuple[Destruction, ...]


def shown(  # noqa: PLR0913 - what an address names
    db: Connection,
    scope: Scope,
    code: str,
    *,
    first: date | None,
    last: date | None,
    entry: str,
    now: datetime,
) -> Shown | None:
    """The volumes of a point's civil days; today where none is named. None: it has no channel.

    entry: which total, where the point has several. Raises: NotFound; InputError for a span that
    is none, or too long.
    """
    signals = places.at_point(db, scope, code)
    if not signals:
        return None
    zone = ZoneInfo(signals[0].zone)
    start = first or last or day_of(now, zone)
    end = last or start
    if not timedelta(0) <= end - start < LONGEST:
        raise InputError(
            f"from {start.isoformat()} to {end.isoformat()} is not a span of one civil day up to "
            f"{LONGEST.days}; give from not after to"
        )
    totals, total, flow = channels(db, signals, entry)
    window = Period(start=start, end=end + timedelta(days=1)).window(zone)
    return Shown(
        signal=signals[0],
        zone=zone,
        first=start,
        last=end,
        totals=totals,
        total=total,
        flow=flow,
        volume=point_volume(db, total=total, flow=flow, first=start, last=end, zone=zone, now=now),
        composites=samplers.of_days(db, scope, code, first=start, last=end),
        destroyed=tuple(
            each
            for one in (total, flow)
            if one is not None
            for each in destructions.of_channel(db, one.id, since=window.start, until=window.end)
        ),
    )


def channels(
    db: Connection, signals: Sequence[Signal], entry: str
) -> tuple[tuple[Channel, ...], Channel | None, Channel | None]:
    """A point's totals, the one that is asked for (else the first), and its flow rate.

    Raises: NotFound.
    """
    here = {one.channel_id for one in signals}
    found = [channel for channel in sites.channels(db) if channel.id in here]
    totals = tuple(one for one in found if one.parameter == "volume")
    flow = next((one for one in found if one.parameter == "flow"), None)
    if not entry:
        return totals, next(iter(totals), None), flow
    for one in totals:
        if one.entry == entry:
            return totals, one, flow
    raise NotFound(f"{signals[0].point} has no total {entry}.")


def bars(of: Sequence[Piece]) -> tuple[tuple[Bar, ...], Decimal]:
    """The columns of a plot, and the gallons of its tallest."""
    known = [v for one in of for v in (one.total_gallons, one.flow_gallons) if v is not None]
    tallest = max(known, default=Decimal(0))
    slot = WIDTH / max(1, len(of))
    return tuple(
        Bar(
            left=round(slot * (index + 0.1), 2),
            width=round(slot * 0.4, 2),
            total=_height(one.total_gallons, tallest),
            flow=_height(one.flow_gallons, tallest),
        )
        for index, one in enumerate(of)
    ), tallest


def _height(value: Decimal | None, tallest: Decimal) -> float:
    return round(float(value / tallest) * HEIGHT, 2) if value and tallest else 0.0


def as_json(found: Shown) -> dict[str, Any]:
    """The same for a program; decimals as texts, shares to four places."""
    return {
        "point": found.signal.point,
        "zone": found.signal.zone,
        "from": found.first.isoformat(),
        "to": found.last.isoformat(),
        "total": _channel(found.total),
        "flow": _channel(found.flow),
        "problem": found.volume.problem or None,
        "days": [_day(one, found.zone) for one in found.volume.days],
        "meter_events": [
            {
                "at": one.at.astimezone(found.zone).isoformat(),
                "kind": "replaced",
                "final": f"{one.final:f}",
                "initial": f"{one.initial:f}",
                "by": one.by,
                "reason": one.reason,
                "withdrawn": one.withdrawn_at is not None,
            }
            for one in found.volume.notes
        ],
        "composites": [composite_json(one, found.zone) for one in found.composites],
    }


def _channel(of: Channel | None) -> dict[str, Any] | None:
    if of is None:
        return None
    return {
        "entry": of.entry,
        "unit": of.unit.value,
        "modulus": of.modulus,
        "max_per_second": of.max_per_second,
    }


def _day(one: DayVolume, zone: ZoneInfo) -> dict[str, Any]:
    volume, apart = one.volume, one.volume.disagreement
    return {
        "day": one.day.isoformat(),
        "running": one.is_running,
        "gallons": _gallons(volume.gallons),
        "source": volume.source.value if volume.source else None,
        "covered": f"{volume.covered:.4f}",
        "estimated_gallons": _gallons(volume.estimated_gallons),
        "flow_integral_gallons": _gallons(one.flow.gallons) if one.flow else None,
        "flow_completeness": f"{one.flow.completeness:.4f}" if one.flow else None,
        "disagreement": None
        if apart is None
        else {
            "share": None if apart.share is None else f"{apart.share:.4f}",
            "gallons": _gallons(apart.flow_gallons - apart.totalizer_gallons),
            "seconds": int(apart.seconds),
        },
        "needs_review": volume.needs_review,
        "events": [
            {
                "kind": odd.kind.value,
                "at": from_us(odd.since_us).astimezone(zone).isoformat(),
                "until": from_us(odd.until_us).astimezone(zone).isoformat(),
                "readings": odd.times,
                "reason": odd.reason,
            }
            for odd in one.odd
        ],
        "working": list(volume.working),
    }


def composite_json(one: Stored, zone: ZoneInfo) -> Mapping[str, Any]:
    """A composite for a program."""
    taken = one.taken
    return {
        "starts": taken.starts_at.astimezone(zone).isoformat(),
        "ends": taken.ends_at.astimezone(zone).isoformat(),
        "day": taken.day.isoformat(),
        "being_filled": taken.is_open,
        "bottles": list(taken.bottles),
        "aliquots": taken.aliquots,
        "due": taken.due,
        "missed": taken.missed,
        "gallons": taken.gallons,
        "representativeness": taken.representativeness,
        "warmest_deg_c": taken.warmest_deg_c,
        "faults": list(taken.faults),
        "held_to": {"tolerance": f"{one.tolerance:f}", "since": one.effective.isoformat(),
                    "authority": "program"},
    }  # fmt: skip


def _gallons(value: Decimal | None) -> str | None:
    return None if value is None else f"{value:.2f}"
