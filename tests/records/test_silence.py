"""A channel that falls silent is told of once, whoever looks and however often."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, delete, select, update

from compliance.jobs.silence import GRACE, watch_silence
from compliance.model.windows import Declared, WindowKind
from compliance.records import tables as t
from compliance.records import windows
from tests.support.manhole import AT, Manhole, manhole

pytestmark = pytest.mark.database
SILENT_AT = 5
"""Minutes after the start: more than three after the last reading, at minute 1."""


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    """Both channels gave readings in the first two minutes."""
    made = manhole(engine)
    for channel in (made.ph, made.flow):
        made.put({0: 7.0, 1: 7.0}, channel=channel, worker=f"w{channel}")
    return made


def instant(minute: float) -> datetime:
    return AT + timedelta(minutes=minute)


def looked(mh: Manhole, minute: float) -> int:
    """How many were told of: one look when it begins, and one when it has lasted."""
    first = watch_silence(mh.engine, now=instant(minute))
    return first + watch_silence(mh.engine, now=instant(minute) + GRACE)


def told(mh: Manhole) -> list[dict[str, Any]]:
    stale = select(t.outbox.c.body).where(t.outbox.c.type == "reading.stale")
    with mh.engine.connect() as db:
        return [json.loads(body)["data"] for body in db.scalars(stale.order_by(t.outbox.c.id))]


def alive(mh: Manhole, minute: int, *channels: int, value: float | None = 7.0) -> None:
    for channel in channels:
        mh.put({minute: value}, channel=channel, worker=f"m{minute}.{channel}")


def maintained(mh: Manhole, since: float, until: float | None) -> None:
    declared = Declared(
        number=0,
        channels=(mh.ph, mh.flow),
        since=instant(since),
        until=None if until is None else instant(until),
        kind=WindowKind.MAINTENANCE,
        reason="Cleaned",
        declared_by="Olga Berg",
        declared_at=instant(since),
    )
    with mh.engine.begin() as db:
        windows.add(db, declared)


def test_silence_is_told_once_by_channel(mh: Manhole) -> None:
    assert looked(mh, 4) == 0
    assert looked(mh, SILENT_AT) == 2
    assert [looked(mh, minute) for minute in (6, 60, 1500, 4000)] == [0, 0, 0, 0]
    found = told(mh)
    assert [one["channel"] for one in found] == [mh.ph, mh.flow]
    assert found[0] == {
        "channel": mh.ph,
        "point": "MH-1",
        "parameter": "ph",
        "last_reading_at": instant(1).isoformat(),
        "silent_after_s": 180,
        "link": found[0]["link"],
    }
    assert found[0]["link"].endswith("/points/MH-1?parameter=ph")


def test_it_is_told_again_only_after_it_had_recovered(mh: Manhole) -> None:
    assert looked(mh, SILENT_AT) == 2
    alive(mh, 10, mh.ph)
    alive(mh, 10, mh.flow, value=None)
    assert looked(mh, 11) == 0
    assert looked(mh, 20) == 1
    assert [one["channel"] for one in told(mh)] == [mh.ph, mh.flow, mh.ph]


def test_late_readings_do_not_end_a_silence(mh: Manhole) -> None:
    assert looked(mh, SILENT_AT) == 2
    alive(mh, 6, mh.ph, mh.flow)
    assert looked(mh, 30) == 0
    assert len(told(mh)) == 2


def test_a_silence_that_is_over_in_a_moment_is_not_told(mh: Manhole) -> None:
    """A database that was away gets what was read meanwhile after the first look."""
    assert watch_silence(mh.engine, now=instant(SILENT_AT)) == 0
    alive(mh, SILENT_AT, mh.ph, mh.flow)
    assert watch_silence(mh.engine, now=instant(SILENT_AT) + GRACE) == 0
    assert mh.count("silence") == 0
    assert told(mh) == []


@pytest.mark.parametrize("until", [None, 60])
def test_inside_a_window_nothing_is_told(mh: Manhole, until: float | None) -> None:
    maintained(mh, 2, until)
    assert [looked(mh, minute) for minute in (5, 20, 59)] == [0, 0, 0]
    assert told(mh) == []


def test_after_a_window_it_has_its_time_again(mh: Manhole) -> None:
    maintained(mh, 2, 60)
    assert looked(mh, 62) == 0
    alive(mh, 61, mh.ph)
    assert looked(mh, 63.5) == 1
    assert [one["channel"] for one in told(mh)] == [mh.flow]


def test_a_window_does_not_end_a_silence_that_was_told(mh: Manhole) -> None:
    assert looked(mh, SILENT_AT) == 2
    maintained(mh, 10, 60)
    assert [looked(mh, minute) for minute in (30, 70, 100)] == [0, 0, 0]


def test_a_channel_that_never_gave_anything_has_its_time_from_when_it_counts(
    engine: Engine,
) -> None:
    mh = manhole(engine)
    with engine.begin() as db:
        db.execute(update(t.counting).values(since=instant(0)))
    assert looked(mh, 2) == 0
    assert looked(mh, 4) == 2
    assert {one["last_reading_at"] for one in told(mh)} == {None}


def test_what_does_not_count_is_not_told(mh: Manhole) -> None:
    with mh.engine.begin() as db:
        db.execute(delete(t.counting).where(t.counting.c.channel_id == mh.ph))
    assert looked(mh, SILENT_AT) == 1
    assert [one["channel"] for one in told(mh)] == [mh.flow]


def test_many_that_look_at_once_tell_once(mh: Manhole) -> None:
    watch_silence(mh.engine, now=instant(SILENT_AT))
    later = instant(SILENT_AT) + GRACE

    def look(_: int) -> int:
        return watch_silence(mh.engine, now=later)

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(look, range(8))) == [0] * 7 + [2]
    assert len(told(mh)) == 2
