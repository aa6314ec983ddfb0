"""`bench evaluate`: excursions and screening from arrays beside ioos_qc, and a quarter re-judged.

ioos_qc runs in a throw-away environment, on the same arrays. Where it cannot be fetched, and in the
small size, which needs no network, the peer is its own method done plainly in numpy.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from sqlalchemy import Engine

from app.bench import history
from app.bench.ground import FIRST, channels, ground, levels, seconds
from compliance.jobs.evaluate import evaluate
from compliance.judging.excursions import step
from compliance.judging.screening import Settings as Thresholds
from compliance.judging.screening import screen
from compliance.judging.screening.passes import FlatLine
from compliance.model.bench import Row
from compliance.model.readings import Quality, Series
from compliance.records import readings
from compliance.settings import Settings

SIZES = {"small": (1_000_000, 4, 7), "full": (10_000_000, 100, 90)}
"""Readings of the arrays; users of five channels and days of the city that is judged again."""
BLOCK = 200_000
PH = Thresholds(
    version="bench",
    fail=(0.0, 14.0),
    suspect=(2.0, 12.5),
    spike=1.0,
    most_per_second=0.5,
    flat=FlatLine(suspect_seconds=3600, fail_seconds=14_400, tolerance=0.005),
    gap_seconds=300,
)
_PEER = Path(__file__).with_name("peer_ioos_qc.py")


def rows(settings: Settings, size: str) -> tuple[Row, ...]:
    """Excursions, screening, and a city judged again from its database."""
    count, users, days = SIZES[size]
    series = _series(count)
    peer = _ioos_qc(series) if size == "full" else None
    return (*_of_arrays(series, peer), *_again(settings, users, days))


def _series(count: int) -> Series:
    random = np.random.default_rng(1)
    at_us = np.arange(count, dtype=np.int64) * 60_000_000
    value = (7.4 + 0.3 * np.sin(at_us / 1e12) + random.normal(0, 0.1, count)).round(2)
    slugs = random.integers(0, count - 30, count // 5000)
    for start in slugs:
        value[start : start + 20] = 5.2
    missing = random.random(count) < 0.001
    value[missing] = np.nan
    quality = np.where(missing, int(Quality.NO_ANSWER), 0).astype(np.int64)
    return Series(
        at_us=at_us,
        value=value,
        quality=quality,
        interval_us=np.full(count, 60_000_000, np.int64),
    )


def _of_arrays(series: Series, peer: dict[str, float] | None) -> tuple[Row, ...]:
    n = len(series)
    usable = series.where(~np.isnan(series.value))
    found = n / min(seconds(lambda: _excursions(usable)) for _ in range(3))
    screened = n / min(seconds(lambda: screen(series, PH)) for _ in range(3))
    name = "ioos_qc gross_range_test" if peer else "numpy: one comparison a bound, a run at a time"
    plain = n / min(seconds(lambda: _plainly(usable)) for _ in range(3))
    five = "ioos_qc: gross range, spike, rate of change, flat line, gap" if peer else "the target"
    return (
        Row(
            what=f"excursions from arrays, {n / 1e6:.0f} million readings in blocks",
            figure=found,
            unit="readings/s",
            against=name,
            against_figure=peer["gross_range"] if peer else plain,
        ),
        Row(
            what="screening, five tests in one pass",
            figure=screened,
            unit="readings/s",
            against=five,
            against_figure=peer["all"] if peer else 20e6,
        ),
    )


def _excursions(series: Series) -> int:
    state, found = None, 0
    for start in range(0, len(series), BLOCK):
        part = Series(
            at_us=series.at_us[start : start + BLOCK],
            value=series.value[start : start + BLOCK],
            quality=series.quality[start : start + BLOCK],
            interval_us=series.interval_us[start : start + BLOCK],
        )
        state, changed = step(
            state,
            part,
            at_least=6.0,
            at_most=9.0,
            rejoin_us=300_000_000,
            until_us=int(part.at_us[-1]) + 1,
        )
        found += len(changed)
    return found


def _plainly(series: Series) -> int:
    beyond = (series.value < 6.0) | (series.value > 9.0)
    edges = np.flatnonzero(np.diff(beyond.astype(np.int8)))
    return len(edges) // 2


def _ioos_qc(series: Series) -> dict[str, float] | None:
    """The peer's readings per second by test, from an environment that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        np.savez(place / "series.npz", at_us=series.at_us, value=series.value)
        python = place / "env" / "bin" / "python"
        made = [sys.executable, "-m", "venv", str(place / "env")]
        fetched = [str(python), "-m", "pip", "install", "--quiet", "ioos_qc"]
        asked = [str(python), str(_PEER), str(place / "series.npz")]
        try:
            for command in (made, fetched):
                subprocess.run(command, check=True, capture_output=True, timeout=600)
            done = subprocess.run(
                asked, check=True, capture_output=True, text=True, timeout=1200, env={**os.environ}
            )
        except (subprocess.SubprocessError, OSError):
            return None
        told: dict[str, float] = json.loads(done.stdout)
        return told


def _again(settings: Settings, users: int, days: int) -> tuple[Row, ...]:
    """A city's history judged anew from its database, and how much of that was reading it out."""
    with ground(settings, users=users, per_user=2, interval_s=60) as engine:
        count = stored(engine, days)
        mark(engine, days)
        read_out = seconds(lambda: _read(engine, days))
        whole = seconds(lambda: _until_clean(engine, days))
    return (
        Row(
            what=f"a city judged again, {count / 1e6:.1f} million readings of {days} days",
            figure=count / whole,
            unit="readings/s",
            against=f"reading the same rows out ({100 * read_out / whole:.0f} % of the time)",
            against_figure=count / read_out,
        ),
    )


def end(days: int) -> datetime:
    """When the data of so many days end."""
    return FIRST + timedelta(days=days)


def mark(engine: Engine, days: int) -> None:
    """Have every channel judged over all its days."""
    with engine.begin() as db:
        readings.mark_dirty(db, channels(db), since=FIRST, until=end(days), why="bench")


def stored(engine: Engine, days: int) -> int:
    """Store the history of every channel; how many readings."""
    with engine.connect() as db:
        known = levels(db)
    count = 0
    for day in range(days):
        of = history.day_of_channels(known, day=day, interval_s=60)
        for frame in history.frames(of, worker="fill", first=day * 1000, size=200_000):
            with engine.begin() as db:
                count += readings.store(db, frame.content)
    return count


def _read(engine: Engine, days: int) -> None:
    with engine.connect() as db:
        for channel in channels(db):
            readings.usable(db, [channel], since=FIRST, until=end(days))


def _until_clean(engine: Engine, days: int) -> None:
    while evaluate(engine, now=end(days), release="bench").readings:
        pass
