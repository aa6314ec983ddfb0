"""A channel's newest reading as a tile shows it: value, age, and silence that looks like none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from app.limits import Bound, position
from app.templating import number, parameter_shown, unit_shown
from app.wording import Name
from compliance.model.folds import SILENT_INTERVALS
from compliance.model.parameters import Parameter
from compliance.model.readings import Grade, grade, reasons
from compliance.records.places import Signal
from compliance.records.readings import Latest

FIRST = (Parameter.FLOW, Parameter.PH, Parameter.TEMPERATURE)
"""Read first at a point; the others follow in the order of their channels."""
FIGURES = 5
"""A total shows decimals only until it has so many digits."""
AT_LEAST = timedelta(seconds=15)
"""A tile does not turn grey sooner: a page is not a control loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """What is known of a channel now. ``silent``: no valid reading within three intervals."""

    signal: Signal
    name: Name
    shown: str
    at: datetime | None
    silent: bool
    why: str
    bounds: tuple[Bound, ...]
    beyond: Bound | None


def ordered(signals: Sequence[Signal]) -> list[Signal]:
    """Channels by user and point, what is read first before the others."""
    rank = {name: place for place, name in enumerate(FIRST)}
    return sorted(
        signals,
        key=lambda one: (
            one.industrial_user,
            one.point,
            rank.get(Parameter(one.parameter), len(rank)),
            one.channel_id,
        ),
    )


def shown(value: float | None, signal: Signal) -> str:
    """A value to its channel's resolution; a total without decimals that nobody reads."""
    resolution = Decimal(signal.resolution)
    if value is not None and signal.parameter == Parameter.VOLUME:
        before = len(str(int(abs(value))))
        resolution = max(resolution, Decimal(1).scaleb(min(0, before - FIGURES)))
    return number(value, str(resolution))


def tile(
    signal: Signal,
    latest: Latest | None,
    bounds: tuple[Bound, ...],
    *,
    name: Name,
    now: datetime,
) -> Tile:
    """The tile of a channel; a stale value is not shown as if it were one of now."""
    valid = latest.valid if latest else None
    silent = valid is None or now - valid.read_at > patience(signal)
    why = reasons(latest.reading.quality) if latest else "no reading in 24 hours"
    value = None if silent or valid is None else valid.value
    return Tile(
        signal=signal,
        name=name,
        shown=shown(value, signal),
        at=valid.read_at if valid else None,
        silent=silent,
        why=why or ("nothing new arrives" if silent else ""),
        bounds=bounds,
        beyond=position(value, bounds),
    )


def patience(signal: Signal) -> timedelta:
    """How long a channel may be quiet before it counts as silent."""
    return max(SILENT_INTERVALS * timedelta(milliseconds=signal.interval_ms), AT_LEAST)


def fact(signal: Signal, latest: Latest | None, *, now: datetime) -> dict[str, Any]:
    """A channel's newest reading for machines: plain JSON, null where nothing came."""
    valid = latest.valid if latest else None
    silent = valid is None or now - valid.read_at > patience(signal)
    said = grade(latest.reading.quality) if latest else Grade.MISSING
    return {
        "channel": signal.channel_id,
        "point": signal.point,
        "parameter": signal.parameter,
        "label": parameter_shown(signal.parameter),
        "value": None if silent or valid is None else valid.value,
        "shown": shown(None if silent or valid is None else valid.value, signal),
        "unit": signal.unit,
        "unit_shown": unit_shown(signal.unit),
        "at": valid.read_at.isoformat() if valid else None,
        "quality": said.value,
        "silent": silent,
        "patience_s": patience(signal).total_seconds(),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Mute:
    """A gateway none of whose channels reports. at: its newest valid reading of the last day."""

    gateway: str
    channels: int
    points: tuple[str, ...]
    at: datetime | None


def mute(tiles: Mapping[int, Tile]) -> tuple[Mute, ...]:
    """The gateways that are silent as a whole, by name: it is not the instruments that fail."""
    behind: dict[str, list[Tile]] = {}
    for one in tiles.values():
        if one.signal.gateway is not None:
            behind.setdefault(one.signal.gateway, []).append(one)
    return tuple(
        Mute(
            gateway=name,
            channels=len(mine),
            points=tuple(dict.fromkeys(one.signal.point for one in mine)),
            at=max((one.at for one in mine if one.at), default=None),
        )
        for name, mine in sorted(behind.items())
        if all(one.silent for one in mine)
    )


def silent(tiles: Mapping[int, Tile]) -> tuple[Tile, ...]:
    """The tiles without a valid reading, the longest silent first."""
    mute = [one for one in tiles.values() if one.silent]
    return tuple(sorted(mute, key=lambda one: (one.at is not None, one.at)))
