"""Readings in a real database: stored once, read back as they were."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import Connection, func, insert, select

from compliance.model.periods import from_us, to_us
from compliance.model.readings import Quality, Reading
from compliance.model.units import Unit
from compliance.records import buckets, counting, gaps, readings, tables
from compliance.records.around import last_reading
from compliance.records.batch import Frame, frame, from_readings

AT = datetime(2026, 7, 1, 12, tzinfo=UTC)
FUTURE = AT + timedelta(days=1)


def reading(seconds: int, value: float | None, *, channel: int = 7, **more: object) -> Reading:
    return Reading(
        channel_id=channel,
        read_at=AT + timedelta(seconds=seconds),
        value=value,
        unit=Unit.SU,
        **more,  # type: ignore[arg-type]
    )


def framed(sequence: int, many: Sequence[Reading]) -> Frame:
    return frame(from_readings(many), worker="w", sequence=sequence)


def store(db: Connection, sent: Frame) -> int:
    return readings.append(
        db,
        worker="w",
        sequence=sent.sequence,
        batch_id=sent.batch_id,
        content=sent.content,
        count=sent.count,
        channels=sent.channels,
        since=sent.since,
        until=sent.until,
    )


def rows(db: Connection) -> int:
    return db.scalar(select(func.count()).select_from(tables.reading)) or 0


def test_readings_come_back_as_they_were_stored(db: Connection) -> None:
    missing = reading(60, None, quality=Quality.NO_ANSWER, offset_ms=12)
    assert store(db, framed(1, [reading(0, 7.12, words=(0x4336, 0x8000)), missing])) == 2
    db.execute(
        insert(tables.channel_cadence).values(channel_id=channel(db), since=AT, interval_ms=60_000)
    )
    found = readings.usable(db, [7, 8], since=AT, until=FUTURE)
    assert found[7].at_us.tolist() == [to_us(AT), to_us(AT) + 60_000_000]
    assert found[7].value[0] == 7.12
    assert np.isnan(found[7].value[1])
    assert found[7].quality.tolist() == [0, Quality.NO_ANSWER]
    assert len(found[8]) == 0
    assert readings.words_at(db, 7, AT, count=2) == (0x4336, 0x8000)
    assert readings.words_at(db, 7, missing.read_at, count=2) is None


def channel(db: Connection) -> int:
    """A channel 7 with all it hangs from."""
    city = db.scalar(
        insert(tables.city)
        .returning(tables.city.c.id)
        .values(
            slug="x",
            name="X",
            zone="America/Chicago",
            rulebooks=[],
            control_authority="a",
            ordinance_authority="b",
            billing_authority="c",
        )
    )
    user = db.scalar(
        insert(tables.industrial_user)
        .returning(tables.industrial_user.c.id)
        .values(
            city_id=city,
            slug="u",
            name="U",
            makes="m",
            is_significant=True,
            category="C",
            water_meter="2 in",
        )
    )
    point = db.scalar(
        insert(tables.monitoring_point)
        .returning(tables.monitoring_point.c.id)
        .values(industrial_user_id=user, code="MH-7", place="p")
    )
    db.execute(
        insert(tables.channel).values(
            id=7,
            monitoring_point_id=point,
            entry="ph",
            parameter="ph",
            unit="s.u.",
            resolution="0.01",
        )
    )
    counting.begin(db, 7, since=AT, by="Ana Ruiz", how="compared with the display")
    return 7


def test_a_batch_delivered_twice_is_stored_once(db: Connection) -> None:
    sent = framed(1, [reading(0, 7.0)])
    assert (store(db, sent), store(db, sent), rows(db)) == (1, 0, 1)
    assert db.scalar(select(func.count()).select_from(tables.dirty)) == 1


def test_a_reading_already_there_is_left_as_it_was(db: Connection) -> None:
    store(db, framed(1, [reading(0, 7.0)]))
    assert store(db, framed(2, [reading(0, 9.9), reading(1, 7.1)])) == 1
    assert readings.usable(db, [7], since=AT, until=FUTURE)[7].value.tolist() == [7.0, 7.1]


def test_a_batch_marks_its_channels_and_span_dirty_once(db: Connection) -> None:
    store(db, framed(1, [reading(0, 7.0), reading(9, 7.0), reading(3, 20.0, channel=8)]))
    d = tables.dirty.c
    marked = db.execute(select(d.channels, d.since, d.until, d.why)).one()
    until = AT + timedelta(seconds=9, microseconds=1)
    assert tuple(marked) == ([7, 8], AT, until, "batch")


@pytest.mark.parametrize("spoil", [lambda b: b[:-3], lambda b: b"\x00\x09" + b[2:]])
def test_content_that_is_no_batch_is_refused_and_nothing_stored(db: Connection, spoil) -> None:
    sent = framed(1, [reading(0, 7.0)])
    broken = Frame(
        **{n: getattr(sent, n) for n in Frame.__slots__} | {"content": spoil(sent.content)}
    )
    with db.begin_nested() as attempt:
        with pytest.raises(readings.RefusedBatch, match="batch 1 of worker w cannot be stored"):
            store(db, broken)
        attempt.rollback()
    assert rows(db) == 0


def test_the_interval_is_the_cadence_in_force_at_each_reading(db: Connection) -> None:
    ch = channel(db)
    for since, step in ((AT, 60_000), (AT + timedelta(seconds=60), 5_000)):
        db.execute(
            insert(tables.channel_cadence).values(channel_id=ch, since=since, interval_ms=step)
        )
    store(db, framed(1, [reading(s, 7.0) for s in (-60, 0, 60, 65)]))
    found = readings.usable(db, [7], since=AT - timedelta(days=1), until=FUTURE)[7]
    assert found.interval_us.tolist() == [60_000_000, 60_000_000, 5_000_000, 5_000_000]


def test_the_latest_reading_shows_the_fault_and_the_last_valid_value(db: Connection) -> None:
    channel(db)
    store(db, framed(1, [reading(0, 7.12), reading(60, None, quality=Quality.MISSING_MARK)]))
    latest = readings.latest(db, [7, 8], since=AT, until=FUTURE)
    assert list(latest) == [7]
    assert latest[7].reading.quality == Quality.MISSING_MARK
    assert latest[7].reading.value is None
    assert latest[7].valid is not None
    assert latest[7].valid.value == 7.12
    assert readings.latest(db, [7], since=AT + timedelta(seconds=90), until=FUTURE) == {}


def test_a_reading_dated_later_is_not_the_newest(db: Connection) -> None:
    channel(db)
    store(db, framed(1, [reading(0, 7.12), reading(60, 7.5)]))
    latest = readings.latest(db, [7], since=AT, until=AT + timedelta(seconds=60))
    assert latest[7].reading.read_at == AT
    assert latest[7].valid is not None and latest[7].valid.value == 7.12
    slots = gaps.last_slots(db, [7], now=AT + timedelta(seconds=30))
    assert slots == {7: to_us(AT)}
    assert last_reading(db, 7, until=AT + timedelta(seconds=30)) == AT


def test_a_chart_of_few_readings_shows_each_and_leaves_gaps(db: Connection) -> None:
    store(db, framed(1, [reading(0, 7.0), reading(60, None, quality=Quality.NO_ANSWER)]))
    first, gap = buckets.buckets(db, 7, since=AT, until=FUTURE)
    assert (first.low, first.count, first.flagged) == (7.0, 1, 0)
    assert (gap.low, gap.count, gap.flagged) == (None, 0, 1)


def test_a_chart_of_nothing_has_no_bucket(db: Connection) -> None:
    assert buckets.buckets(db, 7, since=AT, until=FUTURE) == ()


def test_a_chart_of_many_readings_keeps_the_extremes(db: Connection) -> None:
    many = [reading(s, 7.0 + (s == 5_001) - 2 * (s == 70)) for s in range(6_000) if s // 1000 != 2]
    store(db, framed(1, many))
    end = AT + timedelta(seconds=6_000)
    drawn = buckets.buckets(db, 7, since=AT, until=end, buckets=60)
    assert len(drawn) == 50  # a thousand seconds are silent
    assert sum(b.count for b in drawn) == len(many)
    assert min(b.low for b in drawn) == 5.0
    assert max(b.high for b in drawn) == 8.0
    assert from_us(drawn[0].at_us) == AT


def test_a_silence_is_told_by_the_interval_in_force_at_the_reading_before_it(
    db: Connection,
) -> None:
    """WEB-01: history every five minutes, then live every two seconds."""
    ch = channel(db)
    live = AT + timedelta(minutes=15)
    for since, step in ((AT, 300_000), (live, 2_000)):
        db.execute(
            insert(tables.channel_cadence).values(channel_id=ch, since=since, interval_ms=step)
        )
    seconds = (0, 300, 600, 900, 902, 904, 920, 922)
    bad = reading(912, None, quality=Quality.NO_ANSWER)
    store(db, framed(1, [*(reading(s, 7.0) for s in seconds), bad]))
    drawn = buckets.buckets(db, 7, since=AT, until=AT + timedelta(seconds=930))
    silences = {
        (b.at_us - to_us(AT)) // 1_000_000: [
            tuple((at - to_us(AT)) // 1_000_000 for at in one) for one in b.silences
        ]
        for b in drawn
        if b.silences
    }
    assert silences == {920: [(906, 920)], 922: [(924, 930)]}


def test_a_chart_of_many_readings_lists_every_silence_and_keeps_a_short_excursion(
    db: Connection,
) -> None:
    ch = channel(db)
    db.execute(insert(tables.channel_cadence).values(channel_id=ch, since=AT, interval_ms=1_000))
    quiet = {*range(130, 160), *range(3_000, 3_900)}
    low = range(5_000, 5_030)
    store(
        db,
        framed(1, [reading(s, 5.2 if s in low else 7.0) for s in range(6_000) if s not in quiet]),
    )
    end = AT + timedelta(seconds=6_000)
    drawn = buckets.buckets(db, 7, since=AT, until=end, buckets=60)
    silences = [one for b in drawn for one in b.silences]
    assert [tuple((at - to_us(AT)) // 1_000_000 for at in one) for one in silences] == [
        (130, 160), (3_000, 3_900),
    ]  # fmt: skip
    short = [(b.low, b.high) for b in drawn if b.low != b.high]
    assert short == [(5.2, 7.0)]


def test_the_digest_changes_with_any_reading_and_not_with_its_batch(db: Connection) -> None:
    empty = readings.digest(db, 7, AT, FUTURE)
    store(db, framed(1, [reading(0, 7.0)]))
    one = readings.digest(db, 7, AT, FUTURE)
    store(db, framed(2, [reading(0, 7.0), reading(0, 7.0, channel=8)]))
    assert readings.digest(db, 7, AT, FUTURE) == one
    assert readings.digest(db, 8, AT, FUTURE) == one
    store(db, framed(3, [reading(1, 7.0)]))
    assert len({empty, one, readings.digest(db, 7, AT, FUTURE)}) == 3
