"""While months are closed others store, judge and hold: whoever comes second sees the first."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, text

from compliance.jobs.prune import WAITING
from compliance.records import arrivals, destructions, dirt, holds, readings, sites
from compliance.records import tables as t
from compliance.records.batch import batch, frame
from tests.support import waiting
from tests.support.keeping import (
    DAY,
    NOW,
    START,
    adopt,
    decided,
    old_manhole,
    planned,
    pruned,
    reasons,
    stored,
    window,
)
from tests.support.manhole import Manhole

FEBRUARY = window("2020-02")
BLOCKED = text(
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    made = decided(old_manhole(engine, end="2020-02"))
    adopt(made.engine)
    return made


def pruned_while(mh: Manhole, act: Callable[[Connection], object]) -> dict[str, list[str]]:
    """Prune while another has done something and not yet committed; what went in the end."""
    with ThreadPoolExecutor(1) as pool:
        with mh.engine.begin() as other:
            act(other)
            went = pool.submit(pruned, mh)
            waiting.until(lambda: went.done() or blocked(mh))
            assert not went.done(), "it did not wait for the other"
        return went.result(timeout=waiting.PATIENCE)


def blocked(mh: Manhole) -> bool:
    with mh.engine.connect() as db:
        return bool(db.scalar(BLOCKED))


def late(mh: Manhole) -> bytes:
    """A reading of February that was not there."""
    at_us = int((START.timestamp() + 7) * 1_000_000)
    made = batch(
        np.array([mh.ph], np.int32),
        np.array([at_us], np.int64),
        np.array([7.0]),
        quality=np.zeros(1, np.int16),
    )
    return frame(made, worker="far", sequence=7)


def test_a_late_reading_that_is_just_being_stored_keeps_its_month(mh: Manhole) -> None:
    content = late(mh)
    went = pruned_while(mh, lambda db: arrivals.store(db, [content], worker="far"))
    assert went == {"flow": ["2020-02"]}
    assert stored(mh, "2020-02") == 29 * DAY + 1
    assert reasons(planned(mh)) == {"2020-02": (WAITING,)}


def test_a_hold_that_is_just_being_placed_keeps_its_months(mh: Manhole) -> None:
    def place(db: Connection) -> None:
        destructions.lock(db)
        over = holds.Over(city_id=sites.city(db, "prescott").id)
        holds.place(db, over, since=None, until=None, reason="a lawsuit", by="Dan", at=NOW)

    assert pruned_while(mh, place) == {}
    assert stored(mh, "2020-02") == 29 * DAY


def test_what_is_just_being_judged_anew_is_judged_before_its_month_goes(mh: Manhole) -> None:
    """The evaluator has taken the mark, and finds something that keeps the month."""
    with mh.engine.begin() as db:
        readings.mark_dirty(db, [mh.ph], since=FEBRUARY.start, until=FEBRUARY.end, why="test")

    def judge(db: Connection) -> None:
        assert dirt.take(db)
        dirt.lock(db, [mh.ph, mh.flow])
        db.execute(t.detection.update().values(state="new"))

    assert pruned_while(mh, judge) == {}
    assert stored(mh, "2020-02") == 29 * DAY
