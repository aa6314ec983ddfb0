"""Schedules, holds and claims: what keeps readings, and what comes too late for those that went."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import Engine, select, text
from sqlalchemy.exc import DBAPIError

from compliance.errors import InputError
from compliance.jobs import holds as holding
from compliance.jobs import prune
from compliance.model.keeping import Line
from compliance.model.parameters import Parameter
from compliance.model.periods import to_us
from compliance.model.readings import Quality
from compliance.records import (
    arrivals,
    overlay,
    readings,
    sites,
)
from compliance.records import tables as t
from compliance.records.batch import ReadingBatch, batch, frame
from compliance.records.holds import Over
from compliance.records.trust import refuse_hidden_history
from tests.support.keeping import (
    DAY,
    MARCH,
    MAY_2027,
    MONTHS,
    NOW,
    SEVEN,
    START,
    STEP,
    adopt,
    decided,
    going,
    numbers,
    old_manhole,
    planned,
    pruned,
    reasons,
    rows,
    settle,
    stored,
    window,
)
from tests.support.manhole import Manhole


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    return decided(old_manhole(engine))


def test_without_a_schedule_nothing_goes(mh: Manhole) -> None:
    before = stored(mh, "2020-02")
    (found,) = prune.prune(mh.engine, now=NOW, by="account ana")
    assert (found.city.slug, found.loaded, found.items) == ("prescott", None, ())
    assert stored(mh, "2020-02") == before > 0


def test_a_plan_changes_nothing_and_says_what_stays_and_why(mh: Manhole) -> None:
    adopt(mh.engine)
    found = planned(mh, now=MAY_2027)
    assert going(found) == {"ph": MONTHS[:3], "flow": MONTHS[:3]}
    assert reasons(found) == {"2020-05": ("younger than 7 years",)}
    assert stored(mh, "2020-02") == 29 * DAY
    assert mh.count("destruction") == 0


def test_late_readings_of_a_closed_month_are_set_aside_with_the_sentence(mh: Manhole) -> None:
    adopt(mh.engine)
    pruned(mh, now=MAY_2027)
    closed, still_open = window("2020-03").start, window("2020-05").start
    at = [closed + timedelta(minutes=7), closed + timedelta(days=1, minutes=7),
          still_open + timedelta(minutes=7)]  # fmt: skip
    late = frame(_batch(mh, at), worker="far", sequence=7)
    with mh.engine.begin() as db:
        arrived = arrivals.store(db, [late], worker="far")
        again = arrivals.store(db, [late], worker="far")
    assert (arrived.stored, arrived.quarantined) == (1, 1)
    assert (again.stored, again.quarantined) == (0, 0)
    (aside,) = rows(mh, "quarantine")
    assert aside["reason"].startswith(
        f"2 readings of channel {mh.ph} from 2020-03-01T06:07:00+00:00 on lie in a month whose "
        "readings were destroyed on "
    )
    assert aside["reason"].endswith(
        "under line WW-1 of the records schedule: nothing is stored or judged there any more; "
        "leave them out"
    )
    assert stored(mh, "2020-03") == 0


def test_a_batch_that_is_stored_whole_or_not_is_refused(mh: Manhole) -> None:
    adopt(mh.engine)
    pruned(mh, now=MAY_2027)
    with pytest.raises(readings.RefusedBatch, match="lies in a month whose readings were"):
        mh.put({5: 7.0}, worker="late", start=START)
    mh.put({5: 7.0}, worker="new", start=window("2020-05").start)
    assert stored(mh, "2020-05") == 31 * DAY + 1


def _batch(mh: Manhole, at: list[datetime]) -> ReadingBatch:
    at_us = np.array([to_us(one) for one in at], np.int64)
    return batch(
        np.full(len(at), mh.ph, np.int32),
        at_us,
        np.full(len(at), 7.0),
        quality=np.zeros(len(at), np.int16),
    )


def test_a_reading_left_in_a_closed_month_cannot_be_corrected(mh: Manhole) -> None:
    adopt(mh.engine)
    pruned(mh, now=MAY_2027)
    last = window("2020-04").end - STEP
    assert stored(mh, "2020-04") > 0
    with mh.engine.begin() as db:
        new = [overlay.Correction(read_at=last, value=7.0, quality=Quality.GOOD)]
        with pytest.raises(InputError, match="lies in a month whose readings were destroyed"):
            overlay.correct(db, mh.ph, new, reason="the buffer was wrong", by="ana")


def over(mh: Manhole, **narrower: int) -> Over:
    with mh.engine.connect() as db:
        return Over(city_id=sites.city(db, "prescott").id, **narrower)


def place(mh: Manhole, hold: Over, *, since: str, until: str) -> int:
    return holding.place(
        mh.engine,
        hold,
        since=window(since).start,
        until=window(until).end,
        reason="the lawsuit of 2026",
        by="Dan Moe, Director",
        now=NOW,
    )


def test_a_hold_keeps_its_month_and_the_others_go(mh: Manhole) -> None:
    adopt(mh.engine)
    number = place(mh, over(mh, channel_id=mh.ph), since="2020-03", until="2020-03")
    why = (f"hold {number}: the lawsuit of 2026",)
    found = planned(mh)
    assert going(found) == {"ph": ["2020-02", "2020-04", "2020-05"], "flow": MONTHS}
    assert reasons(found) == {"2020-03": why}
    pruned(mh)
    assert stored(mh, "2020-03") == MARCH
    holding.lift(mh.engine, number, city_id=None, by="Dan Moe", why="it was settled", now=NOW)
    assert pruned(mh) == {"ph": ["2020-03"]}
    assert [stored(mh, month) for month in MONTHS] == [0] * 4


def test_a_hold_over_a_city_a_user_or_a_point_keeps_all_its_channels(mh: Manhole) -> None:
    adopt(mh.engine)
    with mh.engine.connect() as db:
        here = sites.places(db)[mh.ph]
    for hold in (
        over(mh),
        over(mh, industrial_user_id=here.industrial_user_id),
        over(mh, monitoring_point_id=here.point_id),
    ):
        number = place(mh, hold, since="2020-02", until="2020-05")
        assert going(planned(mh)) == {}
        holding.lift(mh.engine, number, city_id=None, by="Dan Moe", why="settled", now=NOW)
    assert going(planned(mh)) == {"ph": MONTHS, "flow": MONTHS}


def test_a_hold_that_comes_after_the_plan_still_stops_it(mh: Manhole) -> None:
    adopt(mh.engine)
    found = planned(mh)
    place(mh, over(mh), since="2020-03", until="2020-04")
    done = prune.carry_out(mh.engine, found, by="account ana")
    assert going(done) == {"ph": ["2020-02", "2020-05"], "flow": ["2020-02", "2020-05"]}
    assert stored(mh, "2020-03") == MARCH


def test_what_another_run_has_done_meanwhile_is_not_done_again(mh: Manhole) -> None:
    adopt(mh.engine)
    found = planned(mh)
    assert going(prune.carry_out(mh.engine, found, by="account ana"))["ph"] == MONTHS
    again = prune.carry_out(mh.engine, found, by="account bo")
    assert going(again) == {}
    assert reasons(again) == dict.fromkeys(MONTHS, (prune.MEANWHILE,))
    assert mh.count("destruction") == 8


def test_what_is_not_decided_keeps_the_whole_point(mh: Manhole) -> None:
    adopt(mh.engine)
    with mh.engine.begin() as db:
        april = select(t.exceedance.c.id).where(
            t.exceedance.c.starts_at >= window("2020-04").start + timedelta(days=3),
            t.exceedance.c.starts_at < window("2020-04").end - timedelta(days=3),
        )
        first = select(t.detection.c.id).where(t.detection.c.exceedance_id.in_(april)).limit(1)
        number = db.scalar(first)
        chosen = t.detection.c.id == number
        db.execute(t.detection.update().where(chosen).values(state="waiting"))
    found = planned(mh)
    assert "2020-04" not in going(found)["flow"]
    assert reasons(found, "flow")["2020-04"] == (
        f"detection {number} (prescott.ph) rests on it and is not closed",
    )


def test_a_correction_keeps_its_month_for_the_years_of_the_schedule(mh: Manhole) -> None:
    adopt(mh.engine)
    at = window("2020-03").start + timedelta(days=9)
    with mh.engine.begin() as db:
        new = [overlay.Correction(read_at=at, value=7.0, quality=Quality.GOOD)]
        overlay.correct(db, mh.ph, new, reason="the buffer was wrong", by="ana")
    (why,) = reasons(planned(mh))["2020-03"]
    assert why.startswith("a correction by ana rests on it and was made on ")
    assert going(planned(mh, now=datetime(2100, 1, 1, tzinfo=UTC)))["ph"] == MONTHS


def test_a_line_of_its_own_lets_a_parameter_go_earlier(mh: Manhole) -> None:
    adopt(
        mh.engine,
        SEVEN,
        Line(name="WW-2", years=3, citation="c", parameters=frozenset({Parameter.FLOW})),
    )
    assert pruned(mh, now=datetime(2024, 1, 1, tzinfo=UTC)) == {"flow": MONTHS}
    assert {row["line"] for row in rows(mh, "destruction")} == {"WW-2"}


def test_readings_that_wait_to_be_judged_stay(mh: Manhole) -> None:
    adopt(mh.engine)
    with mh.engine.begin() as db:
        span = window("2020-03")
        readings.mark_dirty(db, [mh.ph], since=span.start, until=span.end, why="test")
    assert reasons(planned(mh)) == {"2020-03": (prune.WAITING,)}


def test_what_is_not_summed_stays_and_is_summed_for_the_next_time(mh: Manhole) -> None:
    adopt(mh.engine)
    with mh.engine.begin() as db:
        db.execute(text("DELETE FROM rollup_day WHERE day = '2020-03-05'"))
    assert pruned(mh)["ph"] == ["2020-02", "2020-04", "2020-05"]
    assert stored(mh, "2020-03") == MARCH
    settle(mh)
    assert pruned(mh)["ph"] == ["2020-03"]


def test_hidden_history_beside_what_was_destroyed_is_still_found(mh: Manhole) -> None:
    adopt(mh.engine)
    pruned(mh, now=MAY_2027)
    with mh.engine.begin() as db:
        db.execute(text("DELETE FROM reading"))
    with pytest.raises(Exception, match="shows no reading of channel"):
        refuse_hidden_history(mh.engine)


def test_records_of_destruction_cannot_be_changed(mh: Manhole) -> None:
    adopt(mh.engine)
    pruned(mh)
    for statement in ("UPDATE destruction SET rows = 0", "DELETE FROM destruction"):
        with (
            pytest.raises(DBAPIError, match="records of destruction only grow"),
            mh.engine.begin() as db,
        ):
            db.execute(text(statement))


def test_a_late_reading_whose_event_reaches_into_what_was_destroyed_changes_nothing(
    engine: Engine,
) -> None:
    """Twelve days under 6.0 from the last of March on; April is destroyed, March is held."""
    low = range(numbers("2020-03", "2020-03")[-DAY], numbers("2020-04", "2020-04")[11 * DAY])
    mh = old_manhole(engine, end="2020-05", left_out=low)
    mh.put({60 * n: 5.0 for n in low if n != low[3]}, worker="low", start=START)
    settle(mh)
    decided(mh)
    adopt(mh.engine)
    place(mh, over(mh), since="2020-03", until="2020-03")
    assert pruned(mh)["ph"] == ["2020-02", "2020-04", "2020-05"]
    before = rows(mh, "exceedance"), rows(mh, "fold_hour"), rows(mh, "fold_state")
    mh.put({60 * low[3]: 5.0}, worker="late", start=START)
    settle(mh)
    assert (rows(mh, "exceedance"), rows(mh, "fold_hour"), rows(mh, "fold_state")) == before
    faults = [row["what"] for row in rows(mh, "fault")]
    assert faults and all("MH-1 ph is not judged anew from 2020-03-31T" in one for one in faults)
    assert mh.count("dirty") == 0
