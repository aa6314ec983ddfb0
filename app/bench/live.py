"""`bench live`: from a register that changes to a detection that is stored, under full load.

A feeder stores one reading of each channel each second, as an ingest worker's batches do, and lets
a pH pass its limit now and then. `pretreat work` judges in a process of its own. A detection counts
when another connection sees it.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from sqlalchemy import Engine, text

from app.bench.ground import ground, levels
from app.demo import processes
from compliance.model.bench import Row
from compliance.model.periods import to_us
from compliance.records import health, readings
from compliance.records.batch import batch, frame
from compliance.settings import Settings

SIZES = {"small": (10, 20), "full": (1000, 60)}
"""Users of five channels each, and seconds of load."""
PATIENCE_SECONDS = 30.0
_SEEN = text("SELECT channel_id, starts_at FROM exceedance WHERE superseded_at IS NULL")


@dataclass(slots=True)
class _Watch:
    """When a register changed, and when its detection was first seen, by channel and start."""

    changed: dict[tuple[int, datetime], float] = field(default_factory=dict)
    seen: dict[tuple[int, datetime], float] = field(default_factory=dict)

    def waits(self) -> bool:
        return any(key not in self.seen for key in self.changed)

    def seconds(self) -> list[float]:
        """From the change to the detection; what was never seen counts as patience run out."""
        return [self.seen.get(key, at + PATIENCE_SECONDS) - at for key, at in self.changed.items()]


def rows(settings: Settings, size: str) -> tuple[Row, ...]:
    """The 95th percentile of live detections, and of those that late rows bring."""
    users, load_s = SIZES[size]
    with ground(settings, users=users, per_user=5, interval_s=1) as engine:
        live, late, count = _run(settings, engine, load_s)
    return (
        Row(
            what=f"register change to stored detection, {count:,} channels at 1 Hz, p95",
            figure=float(np.percentile(live.seconds(), 95)),
            unit="s",
            against="the limit",
            against_figure=2.0,
            is_less_better=True,
        ),
        Row(
            what="a late row visible in the findings, worst",
            figure=max(late.seconds()),
            unit="s",
            against="the limit",
            against_figure=5.0,
            is_less_better=True,
        ),
    )


def _run(settings: Settings, engine: Engine, load_s: int) -> tuple[_Watch, _Watch, int]:
    with engine.connect() as db:
        known = levels(db)
    live, late = _Watch(), _Watch()
    stop = threading.Event()
    logs = Path(settings.home) / "bench"
    worker = processes.start(
        "bench-work",
        ["work", "--only", "evaluate"],
        environment={"DATABASE_URL": engine.url.render_as_string(hide_password=False)},
        logs=logs,
    )
    watcher = threading.Thread(target=_look, args=(engine, (live, late), stop), daemon=True)
    watcher.start()
    try:
        _wait_for_beat(engine)
        _feed(engine, known, load_s, live, late)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (live.waits() or late.waits()) and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        stop.set()
        watcher.join()
        processes.stop([worker])
    return live, late, len(known)


def _wait_for_beat(engine: Engine) -> None:
    """Until the worker is up: its start is not what is measured."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as db:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not health.beats(db) and time.monotonic() < deadline:
            time.sleep(0.1)


def _feed(engine: Engine, known: dict[int, float], load_s: int, live: _Watch, late: _Watch) -> None:
    """A batch a second; from the third on a channel passes its limit, each once, and some late."""
    ids = np.array(list(known), np.int32)
    level = np.array(list(known.values()))
    acid = [place for place, value in enumerate(known.values()) if value == 7.4]
    random = np.random.default_rng(1)
    start = time.time()
    for second in range(load_s):
        time.sleep(max(0.0, start + second - time.time()))
        at = datetime.fromtimestamp(int(start) + second, UTC)
        value = (level * random.normal(1, 0.01, len(ids))).round(2)
        if second > 2 and len(acid) > 3:
            place = acid.pop(0)
            value[place] = 5.2
            live.changed[(int(ids[place]), at)] = time.monotonic()
        _store(engine, ids, value, at, sequence=2 * second)
        if second % 5 == 4 and acid:
            place, back = acid.pop(), at - timedelta(hours=2)
            late.changed[(int(ids[place]), back)] = time.monotonic()
            one = slice(place, place + 1)
            _store(engine, ids[one], np.array([5.1]), back, sequence=2 * second + 1)


def _store(
    engine: Engine, ids: np.ndarray, value: np.ndarray, at: datetime, *, sequence: int
) -> None:
    made = batch(
        ids,
        np.full(len(ids), to_us(at), np.int64),
        value,
        quality=np.zeros(len(ids), np.int16),
    )
    one = frame(made, worker="bench-live", sequence=sequence)
    with engine.begin() as db:
        readings.append(
            db,
            worker="bench-live",
            sequence=one.sequence,
            batch_id=one.batch_id,
            content=one.content,
            count=one.count,
            channels=one.channels,
            since=one.since,
            until=one.until,
        )


def _look(engine: Engine, watches: tuple[_Watch, ...], stop: threading.Event) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as db:
        while not stop.wait(0.05):
            now = time.monotonic()
            for row in db.execute(_SEEN):
                key = (row.channel_id, row.starts_at.astimezone(UTC))
                for watch in watches:
                    if key in watch.changed:
                        watch.seen.setdefault(key, now)
