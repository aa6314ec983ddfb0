"""Integrity detectors on readings: stretches and coincidences that deserve a person's second look.

Each says what was seen and never why. Nothing here is a finding. Floats serve: nobody is accused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from compliance.model.folds import SILENT_INTERVALS
from compliance.model.integrity import Look, Observation
from compliance.model.periods import from_us, spoken
from compliance.model.readings import Flags, Series, judged
from compliance.rules.integrity import CalibrationLog, IntegritySettings, Plateau

_SECOND_US = 1_000_000
_MOSTLY = 0.9
"""Of the flow readings in a plateau so many are over the running flow: it ran, but for a blink."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """When water ran: the good flow readings, and which of them were over the running flow."""

    flow: Series
    ran: Flags
    over: float

    def share(self, since_us: int, until_us: int) -> float | None:
        """Which part of the flow readings in a span were of running water; None without any."""
        first, last = np.searchsorted(self.flow.at_us, [since_us, until_us])
        return float(self.ran[first:last].mean()) if last > first else None

    def shown(self, since_us: int, until_us: int) -> str:
        """The flow in a span, from least to greatest."""
        first, last = np.searchsorted(self.flow.at_us, [since_us, until_us])
        part = self.flow.value[first:last]
        return f"{part.min():.4g} to {part.max():.4g}"


def running(flow: Series, settings: IntegritySettings) -> Running | None:
    """When water ran, by the flow channel itself; None where nothing good was read, or none ran."""
    good = judged(flow)
    if not len(good):
        return None
    over = float(settings.running) * float(np.percentile(good.value, 95))
    return Running(flow=good, ran=good.value > over, over=over) if over > 0 else None


def plateaus(
    ph: Series, water: Running | None, settings: IntegritySettings, *, unit: str
) -> tuple[Observation, ...]:
    """Stretches at a buffer's value while flow ran. unit: of the flow, for people."""
    if water is None:
        return ()
    found = []
    for since, until, low, high in _stretches(
        judged(ph), settings.plateau, settings.plateau.seconds
    ):
        share = water.share(since, until)
        if share is None or share < _MOSTLY:
            continue
        middle, half = (low + high) / 2, (high - low) / 2
        length = spoken((until - since) / _SECOND_US)
        found.append(
            Observation(
                look=Look.PLATEAU,
                since=from_us(since),
                until=from_us(until),
                saw=(
                    f"pH {middle:.2f} ± {half:.2f} for {length} while flow ran "
                    f"({water.shown(since, until)} {unit})"
                ),
            )
        )
    return tuple(found)


def _stretches(
    ph: Series, plateau: Plateau, seconds: int
) -> Iterator[tuple[int, int, float, float]]:
    """Start, end, least and greatest of each stretch near one buffer for some time, in order."""
    within = float(plateau.within) + 1e-9
    runs = []
    for buffer in plateau.buffers:
        near = np.abs(ph.value - float(buffer)) <= within
        for first, last in _runs(near, ph):
            since, until = int(ph.at_us[first]), int(ph.at_us[last])
            if until - since >= seconds * _SECOND_US:
                part = ph.value[first : last + 1]
                runs.append((since, until, float(part.min()), float(part.max())))
    yield from sorted(runs)


def _runs(mask: Flags, of: Series) -> Iterator[tuple[int, int]]:
    """First and last position of each run of the mask that no silence cuts."""
    at = np.flatnonzero(mask)
    if not len(at):
        return
    quiet = np.diff(of.at_us[at]) > SILENT_INTERVALS * of.interval_us[at[:-1]]
    cuts = np.flatnonzero((np.diff(at) != 1) | quiet) + 1
    for part in np.split(at, cuts):
        yield int(part[0]), int(part[-1])


def outages(
    series: Series, water: Running | None, settings: IntegritySettings, *, name: str
) -> tuple[Observation, ...]:
    """Outages of a channel that keep coinciding with discharge; at most one observation.

    name: of the channel, for people.
    """
    figures = settings.outages
    spans = _silences(judged(series), figures.seconds)
    if water is None or len(spans) < figures.least:
        return ()
    told = [(span, share) for span in spans if (share := water.share(*span)) is not None]
    wet = [span for span, share in told if share >= _MOSTLY]
    if not told or len(told) < figures.least:
        return ()
    share, usual = len(wet) / len(told), float(water.ran.mean())
    if share < float(figures.share) or usual > float(figures.running_at_most):
        return ()
    return (
        Observation(
            look=Look.OUTAGES,
            since=from_us(wet[0][0]),
            until=from_us(wet[-1][1]),
            saw=(
                f"{len(wet)} of {len(told)} outages of {name} over {spoken(figures.seconds)} lay "
                f"in times when flow ran, which is {usual:.0%} of the time"
            ),
        ),
    )


def _silences(series: Series, seconds: int) -> list[tuple[int, int]]:
    """Spans without a reading that may be judged, between two that may."""
    if len(series) < 2:
        return []
    gap = np.diff(series.at_us)
    long = (gap >= seconds * _SECOND_US) & (gap > SILENT_INTERVALS * series.interval_us[:-1])
    ends = series.at_us[:-1] + series.interval_us[:-1]
    return [(int(ends[at]), int(series.at_us[at + 1])) for at in np.flatnonzero(long)]


def calibrations_without_log(
    ph: Series, records: Sequence[datetime], settings: IntegritySettings
) -> tuple[Observation, ...]:
    """Two buffers one after the other, as in a calibration, and no record of one near it.

    records: when calibrations are on record, and windows of maintenance that were declared.
    """
    figures = settings.calibration
    stretches = list(_stretches(judged(ph), settings.plateau, figures.hold_seconds))
    found: list[Observation] = []
    for one, other in zip(stretches, stretches[1:], strict=False):
        if _is_pair(one, other, figures) and not _is_logged(one[0], other[1], records, figures):
            since, until = from_us(one[0]), from_us(other[1])
            found.append(
                Observation(
                    look=Look.CALIBRATION,
                    since=since,
                    until=until,
                    saw=(
                        f"pH {one[2]:.2f} to {one[3]:.2f} for {_length(one)}, then {other[2]:.2f} "
                        f"to {other[3]:.2f} for {_length(other)}; no calibration and no "
                        f"maintenance is on record within {spoken(figures.log_seconds)}"
                    ),
                )
            )
    return tuple(found)


def _length(stretch: tuple[int, int, float, float]) -> str:
    return spoken((stretch[1] - stretch[0]) / _SECOND_US)


def _is_pair(
    one: tuple[int, int, float, float],
    other: tuple[int, int, float, float],
    figures: CalibrationLog,
) -> bool:
    apart = other[0] - one[1] <= figures.apart_seconds * _SECOND_US
    return apart and abs(other[2] - one[2]) > 1


def _is_logged(
    since_us: int, until_us: int, records: Sequence[datetime], figures: CalibrationLog
) -> bool:
    near = figures.log_seconds
    since, until = from_us(since_us), from_us(until_us)
    return any(
        (since - at).total_seconds() <= near and (at - until).total_seconds() <= near
        for at in records
    )
