"""What a schedule lets go goes month by month, with a record; and nothing is judged there again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from compliance.jobs import prune
from compliance.model.keeping import MARGIN
from compliance.records import (
    audit,
    destructions,
    dirt,
    readings,
    rollups,
    timescale,
)
from compliance.records.trust import refuse_hidden_history
from tests.support.keeping import (
    DAY,
    MAY_2027,
    MONTHS,
    NOW,
    START,
    adopt,
    decided,
    kept,
    old_manhole,
    pruned,
    rows,
    settle,
    stored,
    window,
)
from tests.support.manhole import Manhole
from tests.support.sweep import until_it_passes


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    return decided(old_manhole(engine))


def all_marked(mh: Manhole) -> None:
    """Ask every duty to look at everything again."""
    since, until = START - timedelta(days=1), window("2020-06").end
    with mh.engine.begin() as db:
        readings.mark_dirty(db, [mh.ph, mh.flow], since=since, until=until, why="test")
        mark = dirt.Mark(since=since, until=until)
        for why in (dirt.ROLLUP, dirt.SCREEN, dirt.SLUG):
            dirt.put(db, {mh.ph: mark, mh.flow: mark}, why=why)


def test_months_go_and_leave_a_record_with_their_hash(mh: Manhole) -> None:
    adopt(mh.engine)
    february = window("2020-02")
    with mh.engine.connect() as db:
        until = february.end - MARGIN
        digest = readings.digest(db, mh.ph, february.start, until)
    before = kept(mh)
    assert pruned(mh, now=MAY_2027) == {"ph": MONTHS[:3], "flow": MONTHS[:3]}
    assert [stored(mh, month) for month in MONTHS] == [0, 0, 3 * DAY, 31 * DAY]
    record = rows(mh, "destruction")[0]
    assert (record["since"], record["until"], record["rows"]) == (february.start, until, 26 * DAY)
    assert record["sha256"] == digest
    assert (record["line"], record["years"], record["by"]) == ("WW-1", 7, "account ana")
    assert kept(mh) == before
    with mh.engine.connect() as db:
        proof = audit.verify(db)
        acts = [one for one in audit.entries(db) if one.act == "destroy readings"]
    assert proof.first_bad is None
    assert len(acts) == 6
    assert acts[0].detail["month"] == "2020-02"
    assert {acts[n].detail["readings_sha256"] for n in range(6)} >= {digest}


def test_what_went_does_not_go_again_and_the_margin_goes_with_the_next_month(mh: Manhole) -> None:
    adopt(mh.engine)
    pruned(mh, now=MAY_2027)
    assert pruned(mh, now=MAY_2027) == {}
    assert pruned(mh) == {"ph": ["2020-05"], "flow": ["2020-05"]}
    assert [stored(mh, month) for month in MONTHS] == [0] * 4


def test_sto_04_a_refresh_over_a_destroyed_span_leaves_everything_as_it_was(mh: Manhole) -> None:
    adopt(mh.engine)
    before = kept(mh)
    assert len(before["rollup_day"]) == 2 * 121
    assert before["exceedance"] and before["flagged_span"]
    pruned(mh, now=MAY_2027)
    all_marked(mh)
    settle(mh)
    assert kept(mh) == before
    pruned(mh)  # the rest too: nothing is left to refresh from
    all_marked(mh)
    settle(mh)
    assert kept(mh) == before


def test_a_bare_refresh_of_quarters_cannot_empty_a_destroyed_month(mh: Manhole) -> None:
    adopt(mh.engine)
    pruned(mh, now=MAY_2027)
    before = rows(mh, "rollup_quarter")
    with mh.engine.begin() as db:
        span = window("2020-03")
        empty = rollups.quarters(db, [mh.flow], since=NOW, until=NOW)
        rollups.put_quarters(db, empty, since=span.start, until=span.end)
    assert rows(mh, "rollup_quarter") == before


def test_days_that_were_destroyed_are_no_hidden_history(mh: Manhole) -> None:
    adopt(mh.engine)
    pruned(mh)
    refuse_hidden_history(mh.engine)


@pytest.mark.long
def test_a_crash_at_any_step_leaves_no_half_month(engine: Engine) -> None:
    mh = decided(old_manhole(engine, end="2020-02"))
    adopt(mh.engine)
    before = kept(mh)

    def work() -> None:
        try:
            prune.prune(mh.engine, now=NOW, by="account ana")
        finally:
            gone = {row["channel_id"]: row["rows"] for row in rows(mh, "destruction")}
            for channel in (mh.ph, mh.flow):
                with mh.engine.connect() as db:
                    left = destructions.count(db, channel, since=START, until=NOW)
                assert left + gone.get(channel, 0) == 29 * DAY

    assert until_it_passes(mh.engine, work) > 15
    assert mh.count("destruction") == 2
    assert kept(mh) == before


def test_parts_in_which_nothing_is_left_are_dropped_and_if_in_use_the_next_time(
    engine: Engine,
) -> None:
    mh = decided(old_manhole(engine, end="2020-02"))
    adopt(mh.engine)
    full = parts(mh)
    assert full
    with engine.connect() as reader:
        reader.execute(text("SELECT count(*) FROM reading"))
        assert pruned(mh) == {"ph": ["2020-02"], "flow": ["2020-02"]}
        assert parts(mh) == full
    assert pruned(mh) == {}
    assert not parts(mh)


def parts(mh: Manhole) -> list[str]:
    """The chunks or the month that lie in February 2020 alone."""
    with mh.engine.connect() as db:
        found = (
            "SELECT relname FROM pg_class WHERE relname = 'reading_2020_02'"
            if timescale.edition(db) == "plain"
            else "SELECT chunk_name FROM timescaledb_information.chunks "
            "WHERE hypertable_name = 'reading' AND range_end < '2020-03-01'"
        )
        return list(db.scalars(text(found)))
