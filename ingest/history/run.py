"""A run over exports: all of them surveyed first, so that a refused run has stored nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sqlalchemy import Engine

from compliance.errors import InputError
from compliance.model.history import Piece, Rejected
from compliance.records.present import Differing
from compliance.records.sites import Place
from ingest.history.cadence import LEFT, Span, declare
from ingest.history.closed import refuse_closed
from ingest.history.rhythm import Rhythm, Run
from ingest.history.store import Outcome, store

NAMED = 5
"""So many bad rows are named when a run is refused."""


class Export(Protocol):
    """A file of history that is read twice. size: its bytes on disk."""

    name: str
    size: int
    layout: str

    @property
    def sha256(self) -> str: ...
    @property
    def is_undecided(self) -> bool: ...
    def survey(self) -> Iterator[Piece]: ...
    def pieces(self) -> Iterator[Piece]: ...
    def warnings(self) -> Iterator[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """interval_ms: the cadence where a person gives it; skip_bad_rows: store the others;
    dry: look, and change nothing."""

    interval_ms: int | None = None
    skip_bad_rows: bool = False
    dry: bool = False


@dataclass(slots=True, kw_only=True)
class FileCount:
    """What became of a file: its rows, its readings, and what was set apart."""

    name: str
    sha256: str = ""
    layout: str
    rows: int = 0
    readings: int = 0
    new: int = 0
    present: int = 0
    repeated: int = 0
    differing: int = 0
    rejected: int = 0

    def add(self, piece: Piece, kept: Outcome) -> None:
        """Count a part of the file."""
        self.rows += piece.rows
        self.readings += len(piece)
        self.new += kept.new
        self.present += kept.present
        self.repeated += kept.repeated
        self.differing += len(kept.differing)
        self.rejected += len(piece.rejected)


@dataclass(slots=True, kw_only=True)
class ChannelRun:
    """What a run has of one channel, and what became of its cadence."""

    place: Place
    run: Run
    interval_ms: int | None
    cadence: str


@dataclass(slots=True, kw_only=True)
class Summary:
    """What a run did, or would do."""

    files: list[FileCount] = field(default_factory=list)
    channels: list[ChannelRun] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def total(self, name: str) -> int:
        """A count over all files."""
        return sum(getattr(file, name) for file in self.files)


class Watcher(Protocol):
    """Who is told of each part: how far a run is, and what is set apart."""

    def stage(self, name: str, *, size: int) -> None: ...
    def advance(self, *, position: int, rows: int) -> None: ...
    def reject(self, file: str, rejected: Sequence[Rejected]) -> None: ...
    def differ(self, file: str, differing: Sequence[Differing]) -> None: ...


def run(
    engine: Engine,
    exports: Sequence[Export],
    manner: Manner,
    *,
    places: Mapping[int, Place],
    watcher: Watcher,
) -> Summary:
    """Survey all exports, declare the cadence of what they hold, store it.

    A run that was killed is run again: what is stored is known, and the rest follows.
    Raises: InputError naming the first bad rows, unless they are to be skipped, or a row of a month
    whose readings were destroyed; then nothing is stored. StorageError where the database refuses a
    part.
    """
    rhythm = Rhythm()
    _survey(exports, manner, rhythm=rhythm, watcher=watcher)
    refuse_closed(engine, tuple(exports), rhythm)
    found = Summary()
    for export in exports:
        found.warnings += export.warnings()
    _declare(engine, manner, rhythm, places=places, found=found)
    _store(engine, exports, manner, places=places, found=found, watcher=watcher)
    return found


def _store(
    engine: Engine,
    exports: Sequence[Export],
    manner: Manner,
    *,
    places: Mapping[int, Place],
    found: Summary,
    watcher: Watcher,
) -> None:
    watcher.stage("comparing" if manner.dry else "storing", size=_size(exports))
    tolerances = {channel: _tolerance(place) for channel, place in places.items()}
    rhythm, before = Rhythm(), 0
    for export in exports:
        count = FileCount(name=export.name, sha256=export.sha256, layout=export.layout)
        found.files.append(count)
        for piece in export.pieces():
            rhythm.see(piece)
            kept = store(engine, piece, sha256=export.sha256, tolerances=tolerances, dry=manner.dry)
            count.add(piece, kept)
            watcher.reject(export.name, piece.rejected)
            watcher.differ(export.name, kept.differing)
            watcher.advance(position=before + piece.position, rows=piece.rows)
        before += export.size
    for channel in found.channels:
        channel.run = rhythm.get(channel.place.channel_id, Run())


def _size(exports: Iterable[Export]) -> int:
    return sum(export.size for export in exports)


def _survey(exports: Sequence[Export], manner: Manner, *, rhythm: Rhythm, watcher: Watcher) -> None:
    """Read everything once. Raises: InputError for bad rows that are not to be skipped, or none."""
    watcher.stage("surveying", size=_size(exports))
    before = rows = 0
    bad: list[str] = []
    for export in exports:
        for piece in export.survey():
            rhythm.see(piece)
            rows += piece.rows
            bad += [f"{export.name}, {one.fault}" for one in piece.rejected[:NAMED]]
            if len(bad) >= NAMED and not manner.skip_bad_rows:
                _refuse(bad)
            del bad[NAMED:]
            watcher.advance(position=before + piece.position, rows=piece.rows)
        before += export.size
    if not rows:
        names = ", ".join(export.name for export in exports)
        raise InputError(f"{names}: found no row of readings, expected one at least; export again")
    if not manner.skip_bad_rows:
        bad += _undecided(exports, room=NAMED - len(bad))
        _refuse(bad)


def _undecided(exports: Sequence[Export], *, room: int) -> list[str]:
    """Bad rows that only the whole file shows: a repeated hour that no order of rows tells."""
    found: list[str] = []
    for export in exports:
        if not export.is_undecided:
            continue
        for piece in export.pieces():
            found += [f"{export.name}, {one.fault}" for one in piece.rejected]
            if len(found) >= room:
                return found[:room]
    return found


def _refuse(bad: Sequence[str]) -> None:
    if bad:
        raise InputError(
            "\n".join(bad[:NAMED])
            + "\nNothing was stored; correct the rows, or --skip-bad-rows stores the others."
        )


def _declare(
    engine: Engine,
    manner: Manner,
    rhythm: Rhythm,
    *,
    places: Mapping[int, Place],
    found: Summary,
) -> None:
    """Before the first reading, so that whoever judges it meets the cadence it came by."""
    for channel, one in sorted(rhythm.items()):
        place = places[channel]
        interval_ms = manner.interval_ms or _milliseconds(one.step_us)
        cadence = "unknown"
        if interval_ms is not None:
            cadence = "not declared: dry run"
            if not manner.dry:
                span = Span.of(one.first_us, one.last_us, interval_ms)
                with engine.begin() as db:
                    cadence = declare(db, channel, span, firmly=manner.interval_ms is not None)
        found.channels.append(
            ChannelRun(place=place, run=one, interval_ms=interval_ms, cadence=cadence)
        )
        if manner.interval_ms is None:
            found.warnings += _doubts(f"{place.point}:{place.entry}", one, cadence)


def _doubts(name: str, one: Run, cadence: str) -> Iterator[str]:
    if cadence == LEFT:
        yield (
            f"{name}: readings are there that come more often than those of the file; the cadence "
            "stays, and --interval declares another"
        )
    if not one.is_steady:
        yield (
            f"{name}: its steps vary; the usual one of {(one.step_us or 0) / 1e6:g} s is taken, "
            "and --interval declares another"
        )
    elif one.last_step_us != one.step_us:
        last = (one.last_step_us or 0) / 1e6
        yield (
            f"{name}: a reading each {(one.step_us or 0) / 1e6:g} s at the beginning and each "
            f"{last:g} s at the end; the first is taken for all of it: import the parts apart, or "
            "declare another with --interval"
        )


def _milliseconds(step_us: int | None) -> int | None:
    return None if step_us is None else max(1, round(step_us / 1000))


def _tolerance(place: Place) -> float:
    """Half the channel's resolution: a reading was rounded to it."""
    return float(place.resolution) / 2
