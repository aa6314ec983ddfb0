"""A channel's newest reading as a tile shows it: value, age, and silence that looks like none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from app.limits import Bound, position
from app.templating import local, number, parameter_shown, unit_shown
from app.wording import Name
from compliance.model import silence
from compliance.model.parameters import Parameter
from compliance.model.readings import Grade, Reading, grade, reasons
from compliance.model.windows import Declared, holding
from compliance.records.places import Signal
from compliance.records.readings import Latest

FIRST = (Parameter.FLOW, Parameter.PH, Parameter.TEMPERATURE)
"""Read first at a point; the others follow in the order of their channels."""
FIGURES = 5
"""A total shows decimals only until it has so many digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """What is known of a channel now.

    silent: no valid reading within three intervals, and no declared window; held: the window that
    holds this instant. In neither case is a value shown. reading: the newest of 24 hours, good or
    not.
    """

    signal: Signal
    name: Name
    shown: str
    at: datetime | None
    silent: bool
    why: str
    bounds: tuple[Bound, ...]
    beyond: Bound | None
    held: Declared | None = None
    reading: Reading | None = None

    @property
    def patience_s(self) -> float:
        """After how many seconds without a valid reading it is silent."""
        return patience(self.signal).total_seconds()


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


def tile(  # noqa: PLR0913 - what a tile shows
    signal: Signal,
    latest: Latest | None,
    bounds: tuple[Bound, ...],
    *,
    name: Name,
    now: datetime,
    windows: Sequence[Declared] = (),
) -> Tile:
    """The tile of a channel; a stale value is not shown as if it were one of now.

    One that is not commissioned has no bounds: nothing is judged by it.

    windows: those declared over the channel, of which one may hold this instant.
    """
    valid = latest.valid if latest else None
    bounds = bounds if signal.counts else ()
    held = holding(windows, now)
    silent = held is None and _is_silent(signal, valid, now=now)
    why = reasons(latest.reading.quality) if latest else "no reading in 24 hours"
    value = None if silent or held or valid is None else valid.value
    if held is not None:
        why = in_window(held, signal.zone)
    return Tile(
        signal=signal,
        name=name,
        shown=shown(value, signal),
        at=valid.read_at if valid else None,
        silent=silent,
        why=why or ("nothing new arrives" if silent else ""),
        bounds=bounds,
        beyond=position(value, bounds),
        held=held,
        reading=latest.reading if latest else None,
    )


def in_window(window: Declared, zone: str) -> str:
    """Since when an instrument is in a window and who said so."""
    return f"{window.during} since {local(window.since, zone)}, declared by {window.declared_by}"


def _is_silent(signal: Signal, valid: Reading | None, *, now: datetime) -> bool:
    return valid is None or now - valid.read_at > patience(signal)


def patience(signal: Signal) -> timedelta:
    """How long a channel may be quiet before it counts as silent."""
    return silence.patience(timedelta(milliseconds=signal.interval_ms))


def fact(
    signal: Signal, latest: Latest | None, *, now: datetime, windows: Sequence[Declared] = ()
) -> dict[str, Any]:
    """A channel's newest reading for machines: plain JSON, null where nothing came."""
    valid = latest.valid if latest else None
    held = holding(windows, now)
    silent = held is None and _is_silent(signal, valid, now=now)
    said = grade(latest.reading.quality) if latest else Grade.MISSING
    value = None if silent or held or valid is None else valid.value
    return {
        "channel": signal.channel_id,
        "point": signal.point,
        "parameter": signal.parameter,
        "label": parameter_shown(signal.parameter),
        "value": value,
        "shown": shown(value, signal),
        "unit": signal.unit,
        "unit_shown": unit_shown(signal.unit),
        "at": valid.read_at.isoformat() if valid else None,
        "quality": said.value,
        "silent": silent,
        "commissioned": signal.counts,
        "window": in_window(held, signal.zone) if held else None,
        "patience_s": patience(signal).total_seconds(),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Mute:
    """A gateway none of whose channels reports, those in a declared window left out.

    at: its newest valid reading of the last day.
    """

    gateway: str
    channels: int
    points: tuple[str, ...]
    at: datetime | None


def mute(tiles: Mapping[int, Tile]) -> tuple[Mute, ...]:
    """The gateways that are silent as a whole, by name: it is not the instruments that fail."""
    behind: dict[str, list[Tile]] = {}
    for one in tiles.values():
        if one.signal.gateway is not None and one.held is None and one.signal.counts:
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
    mute = [one for one in tiles.values() if one.silent and one.signal.counts]
    return tuple(sorted(mute, key=lambda one: (one.at is not None, one.at)))


def held(tiles: Mapping[int, Tile]) -> tuple[Tile, ...]:
    """The tiles in a declared window, those longest in it first."""
    inside = [(one.held.since, one) for one in tiles.values() if one.held is not None]
    return tuple(one for _, one in sorted(inside, key=lambda pair: pair[0]))


def uncommissioned(tiles: Mapping[int, Tile]) -> tuple[Tile, ...]:
    """The tiles of channels that do not count: nobody has confirmed their instruments."""
    return tuple(one for one in tiles.values() if not one.signal.counts)
