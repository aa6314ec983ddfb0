"""A channel's newest reading as a tile shows it: value, age, and silence that looks like none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from app.limits import Bound, position
from app.templating import number, parameter_shown, unit_shown
from compliance.model.readings import Grade, grade, reasons
from compliance.records.places import Signal
from compliance.records.readings import Latest

SILENT_INTERVALS = 3
AT_LEAST = timedelta(seconds=15)
"""A tile does not turn grey sooner: a page is not a control loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """What is known of a channel now. ``silent``: no valid reading within three intervals."""

    signal: Signal
    shown: str
    at: datetime | None
    silent: bool
    why: str
    bounds: tuple[Bound, ...]
    beyond: Bound | None


def tile(
    signal: Signal, latest: Latest | None, bounds: tuple[Bound, ...], *, now: datetime
) -> Tile:
    """The tile of a channel; a stale value is not shown as if it were one of now."""
    valid = latest.valid if latest else None
    silent = valid is None or now - valid.read_at > patience(signal)
    why = reasons(latest.reading.quality) if latest else "no reading in 24 hours"
    value = None if silent or valid is None else valid.value
    return Tile(
        signal=signal,
        shown=number(value, signal.resolution),
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
        "shown": number(None if silent or valid is None else valid.value, signal.resolution),
        "unit": signal.unit,
        "unit_shown": unit_shown(signal.unit),
        "at": valid.read_at.isoformat() if valid else None,
        "quality": said.value,
        "silent": silent,
        "patience_s": patience(signal).total_seconds(),
    }


def silent(tiles: Mapping[int, Tile]) -> tuple[Tile, ...]:
    """The tiles without a valid reading, the longest silent first."""
    mute = [one for one in tiles.values() if one.silent]
    return tuple(sorted(mute, key=lambda one: (one.at is not None, one.at)))
