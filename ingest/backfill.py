"""History by the same path: arrays or a historian's export become batches like any other."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine

from compliance.errors import InputError
from compliance.model.parameters import parameter
from compliance.model.periods import to_us
from compliance.model.readings import Quality, Times, Values
from compliance.model.units import Unit, linear, unit
from compliance.records import readings
from compliance.records.batch import Frame, batch, decode, encode, first_sequence, frame

COLUMNS = ("at", "point", "parameter", "value", "unit")
QUALITIES = {
    "": Quality.GOOD,
    "good": Quality.GOOD,
    "suspect": Quality.DECLARED_SUSPECT,
    "bad": Quality.DECLARED_BAD,
    "missing": Quality.MISSING_MARK,
    "maintenance": Quality.MAINTENANCE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Readings of one channel as arrays of one length.

    at_us: microseconds since 1970, in any order; value: in the channel's unit, NaN where missing
    (then the quality says why); quality: bits of ``Quality``; words: packed registers, where known.
    """

    at_us: Times
    value: Values
    quality: NDArray[np.integer]
    words: NDArray[np.int64] | None = None


def store(
    engine: Engine,
    *,
    worker: str,
    series: Mapping[int, History],
    frame_rows: int = 50_000,
    now: datetime | None = None,
) -> int:
    """Store history by channel, one transaction a frame; how many readings are new.

    worker: the name under which the batches are kept. now: what the batch numbers start from,
    else the clock. A reading already there is left as it was, so that it may be run again.
    Raises: InputError for a missing value without a reason.
    """
    sequence = first_sequence(now or datetime.now(UTC))
    new = 0
    for number, made in enumerate(_frames(series, worker, sequence, frame_rows)):
        sent, _ = decode(encode(made))
        with engine.begin() as db:
            new += readings.append(
                db,
                worker=worker,
                sequence=sequence + number,
                batch_id=sent.batch_id,
                content=sent.content,
                count=sent.count,
                channels=sent.channels,
                since=sent.since,
                until=sent.until,
            )
    return new


def _frames(
    series: Mapping[int, History], worker: str, sequence: int, frame_rows: int
) -> Iterator[Frame]:
    """Frames of about ``frame_rows`` readings; a channel is cut only where it is longer."""
    group: list[tuple[int, History]] = []
    for part in _parts(series, frame_rows):
        if group and sum(len(h.at_us) for _, h in [*group, part]) > frame_rows:
            yield _frame(group, worker, sequence)
            group, sequence = [], sequence + 1
        group.append(part)
    if group:
        yield _frame(group, worker, sequence)


def _parts(series: Mapping[int, History], frame_rows: int) -> Iterator[tuple[int, History]]:
    for channel, history in series.items():
        for start in range(0, len(history.at_us), frame_rows):
            cut = slice(start, start + frame_rows)
            yield (
                channel,
                History(
                    at_us=history.at_us[cut],
                    value=history.value[cut],
                    quality=history.quality[cut],
                    words=None if history.words is None else history.words[cut],
                ),
            )


def _frame(group: Sequence[tuple[int, History]], worker: str, sequence: int) -> Frame:
    ids = np.concatenate([np.full(len(h.at_us), channel) for channel, h in group])
    known = [np.full(len(h.at_us), h.words is not None) for _, h in group]
    words = [np.zeros(len(h.at_us), np.int64) if h.words is None else h.words for _, h in group]
    many = batch(
        ids,
        np.concatenate([h.at_us for _, h in group]),
        np.concatenate([h.value for _, h in group]),
        quality=np.concatenate([h.quality for _, h in group]),
        words=np.concatenate(words),
        has_words=np.concatenate(known),
    )
    return frame(many, worker=worker, sequence=sequence)


# -- a historian's export


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where readings of a point and parameter go, and in which unit."""

    channel_id: int
    unit: Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    channel_id: int
    at_us: int
    value: float
    quality: Quality


def read_export(path: Path, targets: Mapping[tuple[str, str], Target]) -> dict[int, History]:
    """A historian's CSV (``at, point, parameter, value, unit``, optional ``quality``) by channel.

    targets: by the point's code and the parameter's name; ``at`` needs its offset. An empty value
    or NaN is a missing one.
    Raises: InputError naming file, row, column and repair, for the first row that is unusable.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [_row(cells, targets) for cells in _cells(path, csv.reader(file))]
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check its name") from None
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{path} is no CSV text; expected columns {', '.join(COLUMNS)}") from None
    history = {}
    for channel in dict.fromkeys(row.channel_id for row in rows):
        own = [row for row in rows if row.channel_id == channel]
        history[channel] = History(
            at_us=np.array([row.at_us for row in own], np.int64),
            value=np.array([row.value for row in own], np.float64),
            quality=np.array([int(row.quality) for row in own], np.int64),
        )
    return history


@dataclass(frozen=True, slots=True)
class _Cells:
    place: str
    named: Mapping[str, str]

    def fault(self, column: str, expected: str) -> InputError:
        found = self.named.get(column, "")
        return InputError(f"{self.place}, column {column}: found {found!r}; expected {expected}")


def _cells(path: Path, reader: Iterator[list[str]]) -> Iterator[_Cells]:
    heading = [name.strip().casefold() for name in next(reader, [])]
    absent = [name for name in COLUMNS if name not in heading]
    if absent:
        raise InputError(f"{path}, row 1: no column {absent[0]}; expected {', '.join(COLUMNS)}")
    for number, cells in enumerate(reader, start=2):
        place = f"{path}, row {number}"
        if not any(cells):
            continue
        if len(cells) != len(heading):
            raise InputError(
                f"{place}: found {len(cells)} cells; expected {len(heading)}, one for each column"
            )
        named = dict(zip(heading, (cell.strip() for cell in cells), strict=True))
        yield _Cells(place, named)


def _row(cells: _Cells, targets: Mapping[tuple[str, str], Target]) -> _Row:
    target = _target(cells, targets)
    quality = QUALITIES.get(cells.named.get("quality", "").casefold())
    if quality is None:
        raise cells.fault("quality", "good, suspect, bad, missing or maintenance")
    value = _value(cells, target.unit)
    if not isfinite(value):
        value, quality = float("nan"), quality or Quality.MISSING_MARK
    return _Row(
        channel_id=target.channel_id, at_us=to_us(_instant(cells)), value=value, quality=quality
    )


def _target(cells: _Cells, targets: Mapping[tuple[str, str], Target]) -> Target:
    try:
        key = (cells.named["point"], parameter(cells.named["parameter"]).value)
    except InputError:
        raise cells.fault("parameter", "a name such as ph, temperature or flow") from None
    if key not in targets:
        known = "; ".join(f"{point} {name}" for point, name in targets)
        raise cells.fault("point", f"a point with a channel for {key[1]}, of: {known}")
    return targets[key]


def _value(cells: _Cells, target: Unit) -> float:
    text = cells.named["value"]
    try:
        value = float(text) if text else float("nan")
    except ValueError:
        raise cells.fault("value", "a number, or nothing where none came") from None
    try:
        source = unit(cells.named["unit"])
        factor, offset = linear(source, target)
    except InputError:
        raise cells.fault("unit", f"one that converts to {target.value}") from None
    return value if source is target else value * float(factor) + float(offset)


def _instant(cells: _Cells) -> datetime:
    expected = "an instant with its offset, such as 2026-03-01T08:00:00-06:00"
    try:
        at = datetime.fromisoformat(cells.named["at"])
    except ValueError:
        raise cells.fault("at", expected) from None
    if at.utcoffset() is None:
        raise cells.fault("at", expected)
    return at
