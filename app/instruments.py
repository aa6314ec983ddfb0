"""The health of instruments: each in a line, and one of them with all that is known of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from app.pages.board import NO_SIGN_OF_LIFE, newest_tiles
from app.tiles import Tile
from compliance.model import clocks
from compliance.model.calibrations import due_on
from compliance.model.gaps import Gap
from compliance.model.periods import day_of, spoken, to_us
from compliance.model.readings import reasons
from compliance.records import calibrations, counting, gaps, health, instruments
from compliance.records.health import Beat
from compliance.records.instruments import Instrument
from compliance.records.scope import Scope

DAY = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """When a channel is to be calibrated next. last, on: None where there is none yet."""

    last: datetime | None
    days: int | None
    on: date | None
    is_over: bool

    @property
    def says(self) -> str:
        """The state of the calibration, by shape and word."""
        if self.days is None:
            return "◇ No approval, no interval"
        if self.on is None:
            return "▲ Never calibrated"
        day = self.on.strftime("%-d %b %Y")
        return f"▲ Calibration was due by {day}" if self.is_over else f"● Next by {day}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An instrument in a line of the list.

    state: by shape and word; why: in a sentence, or empty; at: its last good reading in 24 hours;
    clock: None where it tells no time; gaps: of the last 24 hours, by cause; due: of the channel
    that is to be calibrated first.
    """

    device: Instrument
    tiles: tuple[Tile, ...]
    state: str
    why: str
    at: datetime | None
    clock: str | None
    clock_is_wrong: bool
    gaps: tuple[str, ...]
    due: Due


def lines(db: Connection, scope: Scope, *, at: datetime, inside: bool) -> tuple[Line, ...]:
    """Every instrument of a scope in a line. inside: for the city's own people."""
    devices = instruments.all_of(db, scope)
    return _lines(db, devices, newest_tiles(db, scope, at), at=at, inside=inside)


def line(db: Connection, scope: Scope, device: Instrument, *, at: datetime, inside: bool) -> Line:
    """One instrument in a line."""
    return _lines(db, [device], newest_tiles(db, scope, at), at=at, inside=inside)[0]


def _lines(
    db: Connection,
    devices: Sequence[Instrument],
    tiles: Mapping[int, Tile],
    *,
    at: datetime,
    inside: bool,
) -> tuple[Line, ...]:
    behind: dict[int, list[Tile]] = {one.id: [] for one in devices}
    for tile in tiles.values():
        if tile.signal.instrument_id in behind:
            behind[tile.signal.instrument_id].append(tile)
    ids = [tile.signal.channel_id for mine in behind.values() for tile in mine]
    why = worker_says(db, devices, at=at) if inside else {}
    counted = counting.counts(db, ids, at=at)
    missing = causes(db, ids, since=at - DAY, until=at)
    due = dues(db, tiles, ids, at=at)
    return tuple(
        _line(
            one,
            tuple(behind[one.id]),
            why=why.get(one.id, ""),
            counted=counted,
            missing=missing,
            due=due,
        )
        for one in devices
    )


def _line(
    device: Instrument,
    tiles: tuple[Tile, ...],
    *,
    why: str,
    counted: set[int],
    missing: Mapping[int, tuple[str, ...]],
    due: Mapping[int, Due],
) -> Line:
    mine = [one.signal.channel_id for one in tiles]
    told = [
        one.reading.device_offset_ms
        for one in tiles
        if one.reading is not None and one.reading.device_offset_ms is not None
    ]
    state, says = present(tiles, why=why, counted=counted)
    return Line(
        device=device,
        tiles=tiles,
        state=state,
        why=says,
        at=max((one.at for one in tiles if one.at), default=None),
        clock=clocks.says(told[0]) if told else None,
        clock_is_wrong=bool(told) and clocks.is_wrong(told[0]),
        gaps=tuple(dict.fromkeys(said for one in mine for said in missing.get(one, ()))),
        due=_first(due[one] for one in mine if one in due),
    )


def present(tiles: Sequence[Tile], *, why: str, counted: set[int]) -> tuple[str, str]:
    """How an instrument is now, by shape and word, and why.

    why: what its worker says of it; counted: the channels whose readings count.
    """
    silent = [one for one in tiles if one.silent]
    held = next((one for one in tiles if one.held), None)
    if not tiles:
        return "◇ Nothing is read from it", "it has no channel"
    if silent:
        whole = len(silent) == sum(one.held is None for one in tiles)
        names = "" if whole else ", ".join(one.name.text for one in silent) + ": "
        return "◇ Silent" if whole else "▲ Partly silent", f"{names}{why or silent[0].why}"
    if held is not None and held.held is not None:
        every = all(one.held for one in tiles)
        says = held.held.during
        return f"◇ {says.capitalize() if every else f'Partly {says}'}", held.why
    flagged = next((one for one in tiles if one.why), None)
    if flagged is not None:
        return "▲ Not reliable", f"{flagged.name.text}: {flagged.why}"
    waits = [one.name.text for one in tiles if one.signal.channel_id not in counted]
    if len(waits) == len(tiles):
        return "▲ Does not count yet", "it has not been compared with its display"
    if waits:
        names = " and ".join(waits)
        return "▲ Partly counts", f"{names}: not compared with its display as it is read now"
    return "● Reading", why


def _first(dues: Iterable[Due]) -> Due:
    """The one that asks for somebody first: over or never done, then the nearest day."""
    none = Due(last=None, days=None, on=None, is_over=False)
    with_interval = [one for one in dues if one.days is not None]
    return min(with_interval, key=lambda one: one.on or date.min, default=none)


def worker_says(db: Connection, devices: Iterable[Instrument], *, at: datetime) -> dict[int, str]:
    """What the worker that polls each instrument says of it; empty where all works."""
    pollers = instruments.pollers(db)
    beats = {one.process: one for one in health.beats(db)}
    return {one.id: _says(one, pollers.get(one.gateway_id), beats, at=at) for one in devices}


def _says(
    device: Instrument, worker: str | None, beats: Mapping[str, Beat], *, at: datetime
) -> str:
    if worker is None:
        return "no worker polls its gateway"
    beat = beats.get(f"ingest {worker}")
    if beat is None:
        return f"its worker {worker} does not run"
    if at - beat.at > NO_SIGN_OF_LIFE:
        quiet = spoken((at - beat.at).total_seconds())
        return f"its worker {worker} has given no sign of life for {quiet}"
    states = beat.detail.get("states", {}).get(device.gateway, {})
    told = [states.get(name) for name in ("set-up", "gateway", f"unit {device.unit_id}", "spool")]
    return "; ".join(dict.fromkeys(one for one in told if one))


def causes(
    db: Connection, channels: Sequence[int], *, since: datetime, until: datetime
) -> dict[int, tuple[str, ...]]:
    """Why readings of channels are missing or not reliable, the most frequent cause first."""
    found: dict[int, list[str]] = {}
    noted = gaps.between(db, channels, since=since, until=until)
    for channel in channels:
        mine = [one for one in noted if channel in one.channels]
        for cause in dict.fromkeys(one.cause for one in mine):
            seconds = sum(lasting(one, since, until) for one in mine if one.cause == cause)
            found.setdefault(channel, []).append(f"{cause}: {spoken(seconds)}")
    flags = instruments.flagged(db, channels, since=since, until=until)
    for channel, counts in flags.items():
        found.setdefault(channel, []).extend(
            f"{reasons(quality)}: {count:,} {'reading' if count == 1 else 'readings'}"
            for quality, count in counts.items()
        )
    return {channel: tuple(says) for channel, says in found.items()}


def lasting(gap: Gap, since: datetime, until: datetime) -> float:
    """How many seconds of a gap lie in a span."""
    first, last = max(gap.since_us, to_us(since)), min(gap.until_us, to_us(until))
    return max(0, last - first) / 1_000_000


def dues(
    db: Connection, tiles: Mapping[int, Tile], channels: Sequence[int], *, at: datetime
) -> dict[int, Due]:
    """When each channel is to be calibrated next, by channel."""
    intervals = calibrations.intervals(db, channels)
    last: dict[int, datetime] = {}
    for one in calibrations.of(db, channels):
        if one.at <= at:
            last.setdefault(one.channel_id, one.at)
    return {
        channel: _due(last.get(channel), intervals.get(channel), tiles[channel].signal.zone, at)
        for channel in channels
    }


def _due(last: datetime | None, days: int | None, zone: str, at: datetime) -> Due:
    there = ZoneInfo(zone)
    on = due_on(last, days, there) if last is not None and days is not None else None
    is_over = on is None or day_of(at, there) > on
    return Due(last=last, days=days, on=on, is_over=is_over)
