"""Composites stored: one a run of the sampler, brought up to date, superseded by late readings."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from sqlalchemy import Engine, select

from compliance.errors import InputError
from compliance.jobs import site
from compliance.jobs.composites import compose
from compliance.jobs.evaluate import evaluate
from compliance.model.periods import to_us
from compliance.records import samplers, sites
from compliance.records import tables as t
from compliance.records.samplers import Stored
from ingest import backfill
from tests.support.manhole import SITE

pytestmark = pytest.mark.database

MIDNIGHT = datetime(2026, 7, 6, 5, tzinfo=UTC)
"""In Prescott."""
STEP = 10  # minutes
DAY = 144  # steps


def document(**changed: Any) -> site.SiteDocument:
    content = copy.deepcopy(SITE)
    point: dict[str, Any] = content["cities"][0]["users"][0]["points"][0]
    own = {"resolution": "1", "interval_s": 600}
    seen = {"by": "Lee Kim", "on": "2026-01-01", "how": "display"}
    point["instruments"] = [
        {
            "unit": 1,
            "map": "campbell-pvs5120",
            "order": "ABCD",
            "confirmed": seen,
            "channels": [
                {"entry": "sample_count", "parameter": "count", "unit": "count", **own},
                {"entry": "bottle", "parameter": "count", "unit": "count", **own},
            ],
        },
        {
            "unit": 2,
            "map": "badger-m2000",
            "order": "ABCD",
            "confirmed": seen,
            "channels": [
                {"entry": "t1_forward_total", "parameter": "volume", "unit": "gal", **own,
                 "modulus": "1000000"},
            ],
        },
    ]  # fmt: skip
    point["sampler"] = {
        "effective": "2026-01-01",
        "aliquots": {"unit": 1, "entry": "sample_count"},
        "total": {"unit": 2, "entry": "t1_forward_total"},
        "composite": "program",
        "gallons_per_aliquot": "1000",
        **changed,
    }
    return site.SiteDocument.model_validate(content)


class Sampled:
    """A point with a sampler that pulls once an hour, a thousand gallons an hour passing."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        site.store(engine, document())
        with engine.connect() as db:
            self.ids = {place.entry: channel for channel, place in sites.places(db).items()}
            (self.point,) = samplers.by_point(db)

    def put(self, entry: str, values: Mapping[int, float]) -> None:
        """Store readings by steps of ten minutes since midnight, and judge and compose."""
        at_us = np.array([to_us(MIDNIGHT) + n * STEP * 60_000_000 for n in values], np.int64)
        value = np.array(list(values.values()), np.float64)
        quality = np.zeros(len(value), np.int64)
        history = backfill.History(at_us=at_us, value=value, quality=quality)
        backfill.store(self.engine, worker="w", series={self.ids[entry]: history})

    def flow(self, steps: range) -> None:
        self.put("t1_forward_total", {n: (n * 1000) // 6 for n in steps})

    def pull(self, steps: range, *, jammed: range = range(0)) -> None:
        """The count begins anew each midnight."""
        counts = {}
        for n in steps:
            today = range(n - n % DAY, n + 1)
            counts[n] = float(sum(1 for k in today if k % 6 == 5 and k not in jammed))
        self.put("sample_count", counts)

    def compose(self) -> int:
        now = MIDNIGHT + timedelta(days=30)
        while evaluate(self.engine, now=now, release="test").readings:
            pass
        return compose(self.engine, now=now, release="test")

    def standing(self) -> tuple[Stored, ...]:
        since, until = MIDNIGHT - timedelta(days=9), MIDNIGHT + timedelta(days=99)
        with self.engine.connect() as db:
            return samplers.standing(db, self.point, since=since, until=until)

    def rows(self) -> int:
        with self.engine.connect() as db:
            return len(db.execute(select(t.composite.c.id)).all())


@pytest.fixture
def sampled(engine: Engine) -> Sampled:
    return Sampled(engine)


def test_each_run_of_the_sampler_is_a_composite_of_its_day(sampled: Sampled) -> None:
    steps = range(3 * DAY - 5)
    sampled.flow(steps)
    sampled.pull(steps)
    assert sampled.compose() == 3
    first, second, third = (one.taken for one in sampled.standing())
    assert (first.day, second.day, third.day) == (
        date(2026, 7, 6),
        date(2026, 7, 7),
        date(2026, 7, 8),
    )
    assert [one.is_open for one in (first, second, third)] == [False, False, True]
    assert (second.aliquots, second.due, second.missed, second.gallons) == (
        24,
        "24.00",
        0,
        "24000.0",
    )
    assert (second.representativeness, second.faults) == ("1.0000", ())
    assert second.ends_at - second.starts_at == timedelta(days=1)


def test_composing_again_writes_nothing(sampled: Sampled) -> None:
    sampled.flow(range(2 * DAY))
    sampled.pull(range(2 * DAY))
    sampled.compose()
    before = sampled.standing()
    with sampled.engine.begin() as db:
        sampled_again = {one: MIDNIGHT for one in sampled.ids.values()}
        db.execute(
            t.dirty.insert().values(
                channels=list(sampled_again), since=MIDNIGHT, until=MIDNIGHT + timedelta(days=3),
                why="again",
            )
        )  # fmt: skip
    assert sampled.compose() == 0
    assert sampled.standing() == before


def test_live_readings_bring_the_open_one_up_to_date_and_come_to_the_same(
    sampled: Sampled, engine: Engine
) -> None:
    for start in range(0, 2 * DAY, 36):
        sampled.flow(range(start, start + 36))
        sampled.pull(range(start, start + 36))
        sampled.compose()
    live = [one.taken for one in sampled.standing()]
    assert len(live) == sampled.rows() == 2
    assert [one.is_open for one in live] == [False, True]
    assert (live[0].aliquots, live[0].gallons, live[0].faults) == (24, "24000.0", ())


def test_a_jam_is_flagged_with_its_reason(sampled: Sampled) -> None:
    sampled.flow(range(2 * DAY))
    sampled.pull(range(2 * DAY), jammed=range(54, 90))
    sampled.compose()
    first = sampled.standing()[0].taken
    assert (first.aliquots, first.missed) == (18, 6)
    assert first.faults[0] == "18 aliquots for 24 due by the water that passed"
    assert first.faults[1].startswith("6 pulls missed, most of them between 2026-07-06 ")


def test_late_readings_supersede_the_composite_they_belong_to_and_no_other(
    sampled: Sampled,
) -> None:
    sampled.flow(range(3 * DAY))
    sampled.pull(range(30))
    sampled.pull(range(DAY, 3 * DAY))
    sampled.compose()
    before = sampled.standing()
    assert before[0].taken.faults
    sampled.pull(range(30, DAY))  # the spool of that day arrives
    assert sampled.compose() == 1
    after = sampled.standing()
    assert after[0].taken.faults == ()
    assert after[1:] == before[1:]
    with sampled.engine.connect() as db:
        (old,) = db.execute(
            select(t.composite).where(t.composite.c.superseded_at.is_not(None))
        ).mappings()
    assert old["id"] == before[0].id
    assert old["superseded_why"].startswith("its readings")


def test_another_setting_counts_from_its_day_on(sampled: Sampled) -> None:
    steps = range(3 * DAY)
    sampled.flow(steps)
    sampled.pull(steps)
    sampled.compose()
    before = sampled.standing()
    pace = {"effective": "2026-07-07", "gallons_per_aliquot": "2000"}
    site.store(sampled.engine, document(**pace))
    sampled.compose()
    after = sampled.standing()
    assert after[0] == before[0]
    assert (after[1].taken.due, after[1].effective) == ("12.00", date(2026, 7, 7))
    assert after[1].taken.faults[0] == "24 aliquots for 12 due by the water that passed"
    site.store(sampled.engine, document(**pace))
    assert sampled.compose() == 0


def test_a_composite_by_civil_day_and_one_by_bottle(engine: Engine) -> None:
    sampled = Sampled(engine)
    steps = range(2 * DAY)
    sampled.flow(steps)
    sampled.put("sample_count", {n: n // 6 for n in steps})
    sampled.put("bottle", {n: 1 + n // 72 for n in steps})
    site.store(engine, document(composite="day"))
    sampled.compose()
    assert [(one.taken.day.day, one.taken.aliquots) for one in sampled.standing()] == [
        (6, 24),
        (7, 23),
    ]
    by_bottle = {"composite": "bottle", "bottle": {"unit": 1, "entry": "bottle"}}
    site.store(engine, document(**by_bottle))
    sampled.compose()
    found = [one.taken for one in sampled.standing()]
    assert [one.bottles for one in found] == [(1,), (2,), (3,), (4,)]
    assert [one.day.day for one in found] == [6, 6, 7, 7]


def test_a_sampler_that_cannot_be_is_refused_in_one_sentence(engine: Engine) -> None:
    for changed, said in (
        ({"total": {"unit": 9, "entry": "flow"}}, "the sampler of MH-1 has as total 'flow'"),
    ):
        with pytest.raises(InputError, match=said):
            site.store(engine, document(**changed))
    with pytest.raises(ValueError, match="add bottle"):
        document(composite="bottle")
    with pytest.raises(ValueError, match="gallons_per_aliquot is 0"):
        document(gallons_per_aliquot="0")
    with pytest.raises(ValueError, match="tolerance is a share"):
        document(tolerance="10")


def test_a_sample_lies_on_the_composite_of_its_day_and_on_a_longer_one(sampled: Sampled) -> None:
    steps = range(4 * DAY)
    sampled.flow(steps)
    whole = {n: float(sum(1 for k in range(n + 1) if k % 6 == 5)) for n in range(3 * DAY)}
    sampled.put("sample_count", whole)  # nobody began it anew for three days
    sampled.put("sample_count", {n: 0.0 for n in range(3 * DAY, 4 * DAY)})
    sampled.compose()
    zone = ZoneInfo("America/Chicago")
    with sampled.engine.connect() as db:
        on = [samplers.on(db, sampled.point, date(2026, 7, day), zone) for day in range(5, 10)]
    assert [len(found) for found in on] == [0, 1, 1, 1, 1]
    assert on[1] == on[2] == on[3] != on[4]
    assert on[1][0].caution == ""
    assert on[4][0].caution.startswith("The sampler's composite of MH-1, 2026-07-09, is flagged")
    assert "(held to 10 %, a setting of this program since 2026-01-01, no law)" in on[4][0].caution


def test_what_the_pipe_can_pass_comes_with_the_site(engine: Engine) -> None:
    content = document().model_dump(mode="json")
    point = content["cities"][0]["users"][0]["points"][0]
    point["instruments"][1]["channels"][0]["max_per_second"] = "0.5"
    site.store(engine, site.SiteDocument.model_validate(content))
    with engine.connect() as db:
        found = {one.entry: one.max_per_second for one in sites.channels(db)}
    assert found == {"sample_count": None, "bottle": None, "t1_forward_total": "0.5"}
    point["instruments"][1]["channels"][0]["max_per_second"] = "0"
    with pytest.raises(ValueError, match="expected a number over zero"):
        site.SiteDocument.model_validate(content)
