"""One instrument looked at closely: each channel's readings, gaps, windows and calibrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from app import strips
from app.instruments import Due, Line, dues, lasting, line
from app.laid import Flagged, flagged
from app.maps import Map, laid_out
from app.strips import Mark, Plot
from app.templating import number
from app.tiles import Tile
from compliance.model import clocks, completeness
from compliance.model.gaps import Gap
from compliance.model.periods import from_us, to_us
from compliance.model.readings import grade, reasons
from compliance.model.windows import Declared, covered
from compliance.records import (
    cadences,
    calibrations,
    counting,
    dirt,
    gaps,
    health,
    hours,
    instruments,
    readings,
    windows,
)
from compliance.records.calibrations import Calibrated
from compliance.records.health import Beat
from compliance.records.instruments import Instrument
from compliance.records.places import register_maps
from compliance.records.scope import Scope

WEEK = timedelta(days=7)
DAY = timedelta(hours=24)
ON_THE_WAY = timedelta(seconds=10)
"""A reading may take so long to the database; a slot is not missing sooner."""
MOST_RUNS = 50
AHEAD = timedelta(days=366)
"""Windows declared for later are listed for so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """How many readings of a channel were due in a time, and how many may be judged."""

    due: int
    judged: int
    stored: int

    @property
    def share(self) -> str:
        """The share that may be judged, in percent; empty where nothing was due."""
        part = completeness.share(self.judged, self.due)
        if part is None:
            return ""
        return "100 %" if part == 1 else f"{min(99.99, 100 * part):.2f} %"


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest:
    """The last reading as it came. words: its registers; none where its source had none."""

    at: datetime
    shown: str
    quality: str
    words: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hole:
    """Why readings are missing from one instant to another. says: more, in a declared window."""

    since: datetime
    until: datetime
    cause: str
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """What is known of one channel.

    flagged: of the last day, by reason; doubted: spans of the week that screening flagged, newest
    first; counts: since when; ended_why: why it counts no more, empty where it counts or never did.
    """

    tile: Tile
    newest: Newest | None
    counts_since: datetime | None
    ended_why: str
    day: Came
    week: Came
    in_windows: timedelta
    holes: tuple[Hole, ...]
    more_holes: int
    flagged: tuple[tuple[str, int], ...]
    doubted: tuple[Flagged, ...]
    strip: tuple[Mark, ...]
    due: Due
    calibrations: tuple[Calibrated, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """What is known of one instrument. thrown_away: answers that were late or another's."""

    line: Line
    map: Map | None
    channels: tuple[Channel, ...]
    windows: tuple[Declared, ...]
    clock: clocks.Clock | None
    plot: Plot | None
    worker: str | None
    thrown_away: dict[str, int]
    since: datetime
    until: datetime


def checkup(
    db: Connection, scope: Scope, device: Instrument, *, at: datetime, inside: bool
) -> Checkup:
    """Look at an instrument and the last seven days. inside: for the city's own people."""
    found = line(db, scope, device, at=at, inside=inside)
    published = register_maps(db).get(device.map_name)
    read = laid_out(published[1]) if published else None
    ids = [one.signal.channel_id for one in found.tiles]
    since = at - WEEK
    declared = windows.of(db, ids, since=since, until=at + AHEAD, withdrawn=True)
    offsets = _offsets(db, found.tiles, since=since, until=at)
    worker = instruments.pollers(db).get(device.gateway_id) if inside else None
    beat = next((one for one in health.beats(db) if one.process == f"ingest {worker}"), None)
    look = _Look(
        db=db,
        read=read,
        declared=declared,
        calibrated=calibrations.of(db, ids),
        dues=dues(db, {one.signal.channel_id: one for one in found.tiles}, ids, at=at),
        at=at,
    )
    return Checkup(
        line=found,
        map=read,
        channels=tuple(look.channel(one) for one in found.tiles),
        windows=declared,
        clock=clocks.clock(offsets),
        plot=strips.plot(offsets, since_us=to_us(since), until_us=to_us(at)),
        worker=worker,
        thrown_away=_thrown_away(beat, device.gateway),
        since=since,
        until=at,
    )


def _offsets(
    db: Connection, tiles: Sequence[Tile], *, since: datetime, until: datetime
) -> tuple[clocks.Offset, ...]:
    """Those of the first channel that tells the instrument's time: all of them tell the same."""
    for one in tiles:
        if one.reading is not None and one.reading.device_offset_ms is not None:
            return instruments.offsets(db, one.signal.channel_id, since=since, until=until)
    return ()


def _thrown_away(beat: Beat | None, gateway: str) -> dict[str, int]:
    counts = beat.detail.get("thrown_away", {}).get(gateway, {}) if beat else {}
    return {str(name): int(count) for name, count in counts.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What the channels of one instrument have in common while they are looked at."""

    db: Connection
    read: Map | None
    declared: tuple[Declared, ...]
    calibrated: tuple[Calibrated, ...]
    dues: Mapping[int, Due]
    at: datetime

    def channel(self, tile: Tile) -> Channel:
        """All that is known of a channel."""
        channel, zone = tile.signal.channel_id, tile.signal.zone
        since, until = self.at - WEEK, self.at - ON_THE_WAY
        mine = tuple(w for w in self.declared if channel in w.channels and w.is_in_force)
        cadence = self._cadence(channel)
        record = self._record(channel)
        week = hours.hours(self.db, channel, since=since, until=until)
        today = self.at - DAY
        last = hours.hours(self.db, channel, since=today, until=until)
        noted = gaps.between(self.db, [channel], since=since, until=self.at)
        holes = self._holes(tile, noted, mine, since=cadence[-1][0] if cadence else to_us(until))
        span = {"since_us": to_us(since), "until_us": to_us(until)}
        pieces = completeness.pieces(week, cadence, length_us=clocks.HOUR_US, **span)
        return Channel(
            tile=tile,
            newest=self._newest(tile),
            counts_since=record.since if record and record.until is None else None,
            ended_why=(record and record.ended_why) or "",
            day=_came(last, cadence, since_us=to_us(today), until_us=to_us(until)),
            week=_came(week, cadence, **span),
            in_windows=covered(mine, since=since, until=self.at),
            holes=holes[:MOST_RUNS],
            more_holes=max(0, len(holes) - MOST_RUNS),
            flagged=self._flagged(channel, since=today),
            doubted=flagged(self.db, tile.signal, since=since, until=self.at)[::-1],
            strip=strips.strip(
                pieces, noted, mine, since_us=to_us(since), until_us=to_us(self.at), zone=zone
            ),
            due=self.dues[channel],
            calibrations=tuple(c for c in self.calibrated if c.channel_id == channel),
        )

    def _cadence(self, channel: int) -> list[tuple[int, int]]:
        """The intervals in force, from the first reading on where there is one."""
        known = [(to_us(since), 1000 * ms) for since, ms in cadences.known(self.db, channel)]
        first = dirt.first_reading(self.db, channel)
        if first is not None and known:
            begun = [one for one in known if one[0] <= to_us(first)]
            later = [one for one in known if one[0] > to_us(first)]
            return [(to_us(first), (begun or known)[-1 if begun else 0][1]), *later]
        return known

    def _newest(self, tile: Tile) -> Newest | None:
        reading = tile.reading
        if reading is None:
            return None
        signal = tile.signal
        count = self.read.words(signal.entry) if self.read else 2
        words = readings.words_at(self.db, signal.channel_id, reading.read_at, count=count)
        return Newest(
            at=reading.read_at,
            shown=number(reading.value, signal.resolution),
            quality=reasons(reading.quality) or grade(reading.quality).value,
            words=words or (),
        )

    def _record(self, channel: int) -> counting.Record | None:
        """The span in which it counts, or counted last."""
        return (counting.records(self.db, [channel]).get(channel) or (None,))[-1]

    def _holes(
        self, tile: Tile, noted: Sequence[Gap], mine: Sequence[Declared], *, since: int
    ) -> tuple[Hole, ...]:
        """Gaps of the week, and slots of the last day that nobody has explained; newest first.

        since: when the present interval began, in microseconds: what was imported before lies on
        no grid of ours.
        """
        signal = tile.signal
        begins, until = max(self.at - DAY, from_us(since)), self.at - ON_THE_WAY
        slots = gaps.unexplained(
            self.db, {signal.channel_id: signal.interval_ms}, since=begins, until=until, near=0.5
        ).get(signal.channel_id, ())
        found = [
            Hole(
                since=from_us(one.since_us),
                until=from_us(one.until_us),
                cause=one.cause,
                says=_covered(mine, from_us(one.since_us)),
            )
            for one in noted
            if lasting(one, self.at - WEEK, self.at)
        ]
        for first, last, count in completeness.runs(slots, 1000 * signal.interval_ms):
            cause = f"no cause is known yet ({count:,} {'reading' if count == 1 else 'readings'})"
            found.append(Hole(since=from_us(first), until=from_us(last), cause=cause))
        return tuple(sorted(found, key=lambda one: one.since, reverse=True))

    def _flagged(self, channel: int, *, since: datetime) -> tuple[tuple[str, int], ...]:
        counts = instruments.flagged(self.db, [channel], since=since, until=self.at)
        return tuple(
            (reasons(quality), count) for quality, count in counts.get(channel, {}).items()
        )


def _covered(mine: Sequence[Declared], at: datetime) -> str:
    held = next((one for one in mine if one.holds(at)), None)
    return f"{held.during}, declared by {held.declared_by}" if held else ""


def _came(
    hours: Sequence[completeness.Hour],
    cadence: Sequence[tuple[int, int]],
    *,
    since_us: int,
    until_us: int,
) -> Came:
    judged = sum(one.judged for one in hours)
    slots = completeness.due(cadence, since_us=since_us, until_us=until_us)
    return Came(
        due=max(slots, judged),  # what came beside the grid was due too
        judged=judged,
        stored=sum(one.stored for one in hours),
    )
