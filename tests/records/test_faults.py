"""The fault run in its short form: real processes, really killed; `make faults` is the long one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, insert

from app.faults import ledger as ledgers
from app.faults import scene, trials, verdict
from compliance.jobs import site
from compliance.model.periods import to_us
from compliance.model.readings import Reading
from compliance.model.units import Unit
from compliance.records import batch, tables
from ingest.spool import Spool

AT = datetime(2026, 7, 1, tzinfo=UTC)
SIZE = scene.Size(gateways=1, channels=1, interval_ms=1000, kills=1, seconds=1)
POISON = 1000.0


@pytest.mark.long
def test_nothing_accepted_is_lost_and_each_missing_slot_has_its_reason() -> None:
    code = "from app.commands import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "faults", "--size", "small", "--json"],
        env=os.environ,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert [row["fault"] for row in told["rows"]] == [name for name, _ in trials.possible()]
    assert all(row["sound"] and row["accepted"] > 1000 for row in told["rows"])
    missed = {row["fault"]: row["missing"] for row in told["rows"]}
    assert missed["worker killed"] > 0 and missed["spool full"] > 0, "the faults did bite"


# -- the judge itself finds what is wrong


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def judged(engine: Engine, home: Path, stored: dict[int, float | None]) -> verdict.Row:
    """The verdict where seconds 0 to 4 were accepted with their number as value."""
    site.store(engine, site.SiteDocument.model_validate(scene._site(SIZE, [1502])))
    with Spool(home / "spool" / "w", worker="w", now=lambda: AT) as spool:
        spool.put(batch.from_readings([reading(second, float(second)) for second in range(5)]))
    with engine.begin() as db:
        for second, value in stored.items():
            db.execute(
                insert(tables.reading).values(
                    channel_id=1,
                    read_at=AT + timedelta(seconds=second),
                    value=value,
                    quality=0 if value is not None else 1,
                    offset_ms=0,
                    batch_id=1,
                )
            )
    return verdict.judge(
        engine,
        ledgers.Ledger(home),
        "none",
        times=1,
        since=AT,
        until=AT + timedelta(seconds=5),
        poison=POISON,
    )


def reading(second: int, value: float) -> Reading:
    at = AT + timedelta(seconds=second)
    return Reading(channel_id=1, read_at=at, value=value, unit=Unit.SU)


def as_accepted(**other: float | None) -> dict[int, float | None]:
    values = {second: float(second) for second in range(5)}
    return values | {int(key.removeprefix("s")): value for key, value in other.items()}


def test_what_is_stored_as_accepted_is_sound(engine: Engine, home: Path) -> None:
    assert judged(engine, home, as_accepted()).is_sound


@pytest.mark.parametrize(
    ("stored", "fault"),
    [
        ({s: float(s) for s in range(4)}, {"lost": 1, "missing": 1, "unexplained": 1}),
        (as_accepted(s2=2.5), {"changed": 1}),
        (as_accepted(s2=None), {"changed": 1}),
        (as_accepted(s3=2.0), {"changed": 1, "poisoned": 1}),
        (as_accepted(s4=POISON), {"changed": 1, "poisoned": 1}),
    ],
)
def test_a_wrong_store_is_found_out(
    engine: Engine, home: Path, stored: dict[int, float | None], fault: dict[str, int]
) -> None:
    row = judged(engine, home, stored).plain()
    assert not row["sound"]
    assert {name: row[name] for name in fault} == fault


def test_the_ledger_keeps_what_the_spool_has_freed(home: Path) -> None:
    path = home / "spool" / "w" / "00000001.seg"
    path.parent.mkdir(parents=True)
    frame = batch.frame(batch.from_readings([reading(1, 1.0)]), worker="w", sequence=1)
    path.write_bytes(batch.encode(frame))
    ledger = ledgers.Ledger(home)
    ledger.look()
    path.unlink()
    found = ledger.accepted().between(to_us(AT), to_us(AT) + 2_000_000)
    assert found.values.tolist() == [1.0]
