"""The ground a bench stands on: a fresh database with users, points and channels."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from sqlalchemy import Connection, Engine, text

from compliance.jobs import site
from compliance.records import embedded, schema
from compliance.records.engine import make_engine
from compliance.settings import Settings

FIRST = datetime(2026, 1, 1, 6, tzinfo=UTC)
"""Midnight in Chicago on the first day of the data."""
PARAMETERS = ("flow", "ph", "temperature", "conductivity", "level")
_UNIT = {
    "flow": ("gpm", "0.1"),
    "ph": ("s.u.", "0.01"),
    "temperature": ("degF", "0.1"),
    "conductivity": ("mS/cm", "0.01"),
    "level": ("ft", "0.01"),
}
_LEVEL = {"flow": 120.0, "ph": 7.4, "temperature": 78.0, "conductivity": 2.1, "level": 1.4}
_ENTRIES = ("ai1_value", "ai2_value", "ai3_value", "ai4_value", "ai5_value")


@contextmanager
def ground(settings: Settings, *, users: int, per_user: int, interval_s: float) -> Iterator[Engine]:
    """A migrated database with so many users of one point each, and so many channels of a point.

    A bench writes millions of rows, so it takes the embedded server whatever DATABASE_URL says, and
    a database of its own there: two benches at once do not meet.
    """
    name = f"pretreat_bench_{os.getpid()}"
    with embedded.running(settings.home / "bench") as server:
        server.ensure_database(name, fresh=True)
        engine = make_engine(server.url(name))
        try:
            schema.upgrade(engine)
            site.store(engine, site.SiteDocument.model_validate(_site(users, per_user, interval_s)))
            yield engine
        finally:
            engine.dispose()
            server.drop_database(name)


def _site(users: int, per_user: int, interval_s: float) -> dict[str, object]:
    return {
        "cities": [
            {
                "slug": "bench",
                "name": "Bench",
                "zone": "America/Chicago",
                "rulebooks": ["prescott", "federal"],
                "control_authority": "DNR",
                "ordinance_authority": "Director",
                "billing_authority": "City",
                "users": [_user(number, per_user, interval_s) for number in range(users)],
            }
        ]
    }


def _user(number: int, per_user: int, interval_s: float) -> dict[str, object]:
    units = -(-per_user // len(PARAMETERS))
    instruments = [
        {
            "unit": unit + 1,
            "map": "eh-liquiline-cm44x",
            "order": "ABCD",
            "confirmed": {"by": "Bench", "on": "2020-01-01", "how": "made for a bench"},
            "channels": [
                _channel(PARAMETERS[at], _ENTRIES[at], interval_s)
                for at in range(min(len(PARAMETERS), per_user - unit * len(PARAMETERS)))
            ],
        }
        for unit in range(units)
    ]
    return {
        "slug": f"user-{number}",
        "name": f"User {number}",
        "makes": "Readings",
        "is_significant": True,
        "category": "C",
        "water_meter": '2"',
        "points": [
            {
                "code": f"B-{number}",
                "place": "Bench",
                "gateway": {"name": f"b{number}", "host": "127.0.0.1", "port": 20000 + number},
                "instruments": instruments,
            }
        ],
    }


def _channel(parameter: str, entry: str, interval_s: float) -> dict[str, object]:
    unit, resolution = _UNIT[parameter]
    return {
        "entry": entry,
        "parameter": parameter,
        "unit": unit,
        "resolution": resolution,
        "interval_s": interval_s,
    }


def channels(db: Connection, parameter: str | None = None) -> list[int]:
    """The numbers of all channels, or of those of one parameter, in order."""
    found = db.execute(
        text("SELECT id FROM channel WHERE CAST(:p AS text) IS NULL OR parameter = :p ORDER BY id"),
        {"p": parameter},
    )
    return [row.id for row in found]


def levels(db: Connection) -> dict[int, float]:
    """About what value each channel shows, by its number, in order."""
    found = db.execute(text("SELECT id, parameter FROM channel ORDER BY id"))
    return {row.id: _LEVEL[row.parameter] for row in found}


def seconds(work: Callable[[], object]) -> float:
    """How long one run of it takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def median_ms(work: Callable[[], object], *, rounds: int = 7) -> float:
    """The median of some warm runs, in milliseconds."""
    work()
    return 1000 * statistics.median(seconds(work) for _ in range(rounds))
