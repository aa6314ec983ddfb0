"""Frames in a real database: what is bad is set aside alone, and what is missing has its reason."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, create_engine, func, select

from compliance.errors import StorageError
from compliance.model.gaps import Gap
from compliance.model.periods import to_us
from compliance.model.readings import Reading
from compliance.model.units import Unit
from compliance.records import arrivals, batch, gaps, tables, tuples
from compliance.records.arrivals import Arrived
from ingest.forward import Forwarder, ToDatabase
from ingest.spool import Spool

AT = datetime(2026, 7, 1, tzinfo=UTC)


def readings(start: int, count: int, channel: int = 1) -> list[Reading]:
    return [
        Reading(
            channel_id=channel,
            read_at=AT + timedelta(seconds=s),
            value=float(s),
            unit=Unit.GPM,
        )
        for s in range(start, start + count)
    ]


def frame(start: int, count: int, *, sequence: int = 1) -> batch.Frame:
    return batch.frame(batch.from_readings(readings(start, count)), worker="w", sequence=sequence)


def us(second: int) -> int:
    return to_us(AT) + second * 1_000_000


def gap(since: int, until: int, *, cause: str = "why", channels: tuple[int, ...] = (1,)) -> Gap:
    return Gap(channels=channels, since_us=us(since), until_us=us(until), cause=cause)


def stored(db: Connection) -> list[float | None]:
    r = tables.reading.c
    return list(db.scalars(select(r.value).order_by(r.channel_id, r.read_at)))


def test_t28_bad_readings_are_set_aside_one_by_one_and_the_rest_is_stored(db: Connection) -> None:
    sound = frame(0, 100)
    rows, _ = tuples.split(sound.content)
    nan = b"\x7f\xf8" + bytes(6)
    for i in (7, 61):
        rows[i] = rows[i][:26] + nan + rows[i][34:]
    spoilt = replace(sound, content=b"".join(rows))
    assert arrivals.store(db, [spoilt, frame(100, 1, sequence=2)], worker="w") == Arrived(99, 2)
    assert stored(db) == [float(s) for s in range(101) if s not in (7, 61)]
    kept = db.execute(select(tables.quarantine.c.content, tables.quarantine.c.reason)).all()
    assert [content for content, _ in kept] == [rows[7], rows[61]]
    assert all("no_nan" in reason for _, reason in kept)
    assert arrivals.store(db, [spoilt], worker="w") == Arrived(0, 0), "again changes nothing"
    assert db.scalar(select(func.count()).select_from(tables.quarantine)) == 2


def test_t28_a_reading_that_is_there_already_spoils_nothing(db: Connection) -> None:
    arrivals.store(db, [frame(5, 1)], worker="w")
    assert arrivals.store(db, [frame(0, 10, sequence=2)], worker="w") == Arrived(9, 0)
    assert stored(db) == [float(s) for s in range(10)]


def test_what_is_left_of_a_cut_frame_is_stored(db: Connection) -> None:
    sound = frame(0, 3)
    cut = replace(sound, content=sound.content[:-5])
    assert arrivals.store(db, [cut], worker="w") == Arrived(2, 1)
    assert stored(db) == [0.0, 1.0]


def test_a_frame_under_the_key_of_another_worker_is_set_aside_whole(db: Connection) -> None:
    first = frame(0, 2)
    arrivals.store(db, [first], worker="w")
    other = replace(frame(5, 2, sequence=9), batch_id=first.batch_id)
    assert arrivals.store(db, [other], worker="v") == Arrived(0, 1)
    assert stored(db) == [0.0, 1.0]


def test_a_gap_is_kept_once_and_prolonged_where_it_goes_on(db: Connection) -> None:
    first = batch.gap_frame(gap(0, 10), worker="w", sequence=1)
    arrivals.store(db, [first, first], worker="w")
    gaps.add(db, gap(10, 20), worker="w")
    gaps.add(db, gap(21, 30), worker="w")
    gaps.add(db, gap(5, 8, cause="another"), worker="w")
    gaps.add(db, gap(0, 99, channels=(2,)), worker="w")
    found = gaps.between(db, [1], since=AT, until=AT + timedelta(hours=1))
    assert found == (gap(0, 20), gap(5, 8, cause="another"), gap(21, 30))
    assert gaps.between(db, [1], since=AT + timedelta(seconds=30), until=AT + timedelta(1)) == ()


def test_a_slot_without_reading_or_gap_is_unexplained(db: Connection) -> None:
    for sequence, start in enumerate((0, 12)):
        arrivals.store(db, [frame(start, 5, sequence=sequence)], worker="w")
    until = AT + timedelta(seconds=17)
    missing = gaps.unexplained(db, {1: 1000}, since=AT, until=until)
    assert missing == {1: tuple(us(s) for s in range(5, 12))}
    gaps.add(db, gap(5, 11), worker="w")
    assert gaps.unexplained(db, {1: 1000}, since=AT, until=until) == {1: (us(11),)}
    gaps.add(db, gap(11, 12), worker="w")
    assert gaps.unexplained(db, {1: 1000}, since=AT, until=until) == {}


def test_the_last_stored_slot_of_each_channel_is_found(db: Connection) -> None:
    arrivals.store(db, [frame(0, 5)], worker="w")
    assert gaps.last_slots(db, [1, 2], now=AT + timedelta(days=1)) == {1: us(4)}
    assert gaps.last_slots(db, [1], now=AT + timedelta(days=40)) == {}
    assert gaps.last_slots(db, [], now=AT) == {}


def test_while_a_day_drains_what_is_new_is_stored_first(engine: Engine, tmp_path: Path) -> None:
    with Spool(tmp_path, worker="w", now=lambda: AT) as spool:
        for start in range(0, 3000, 10):
            spool.put(batch.from_readings(readings(start, 10)))
            spool.commit()
        fresh = 86_400
        seen: list[list[float]] = []

        class Watching(ToDatabase):
            """Stores, and brings a new reading after each time, as a poller does."""

            def store(self, frames: list[batch.Frame]) -> Arrived:
                done = super().store(frames)
                seen.append([row[2] for f in frames for row in tuples.rows(f.content)])
                if len(seen) < 8:
                    spool.put(batch.from_readings(readings(fresh + len(seen), 1)))
                    spool.commit()
                return done

        spool.put(batch.from_readings(readings(fresh, 1)))
        spool.commit()
        Forwarder(spool, Watching(engine, worker="w")).drain()
    new = [i for i, values in enumerate(seen) if values[0] > fresh]
    assert new[:3] == [1, 2, 3], "each is stored next, before more of the backlog"
    with engine.connect() as db:
        assert len(stored(db)) == 3000 + 8
        assert db.scalar(select(func.sum(tables.batch.c.readings))) == 3008


@pytest.mark.parametrize("state", ["off", "on"])
def test_a_server_that_loses_what_it_acknowledged_gets_nothing(
    engine: Engine, tmp_path: Path, state: str
) -> None:
    url = engine.url.update_query_dict({"options": f"-c synchronous_commit={state}"})
    unsafe = create_engine(url)
    try:
        carrier = ToDatabase(unsafe, worker="w")
        if state == "off":
            with pytest.raises(StorageError, match="synchronous_commit=off"):
                carrier.store([frame(0, 1)])
        else:
            assert carrier.store([frame(0, 1)]) == Arrived(1, 0)
    finally:
        unsafe.dispose()
