"""Readings by the hour: from quarter-hours the same figures as one by one."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine, func, select

from compliance.jobs.determine import Wanted, determine
from compliance.jobs.exclusions import of_month
from compliance.jobs.refold import under
from compliance.jobs.rollup import roll_up
from compliance.jobs.stack import rules_of
from compliance.judging.exclusions import Exclusions, exclusions
from compliance.judging.refold import Under
from compliance.model.completeness import Hour
from compliance.model.determinations import Verdict
from compliance.model.parameters import Parameter
from compliance.model.periods import day_of
from compliance.model.readings import UNJUDGED
from compliance.records import hours, readings, sites
from compliance.records import tables as t
from tests.support.manhole import AT, Manhole, manhole

HOUR_US = 3_600_000_000


def summed(mh: Manhole) -> None:
    mh.judge(after=3000)
    while roll_up(mh.engine):
        pass


def one_by_one(mh: Manhole, since, until) -> tuple[Hour, ...]:  # type: ignore[no-untyped-def]
    with mh.engine.connect() as db:
        seen = readings.usable(db, [mh.ph], since=since, until=until)[mh.ph]
    stored, good = Counter(), Counter()
    for at, value, quality in zip(seen.at_us.tolist(), seen.value, seen.quality, strict=True):
        stored[at // HOUR_US * HOUR_US] += 1
        good[at // HOUR_US * HOUR_US] += int(value == value and not quality & UNJUDGED)
    return tuple(Hour(at_us=at, stored=stored[at], judged=good[at]) for at in sorted(stored))


@pytest.mark.parametrize("seed", range(4))
def test_hours_are_those_of_the_readings_whatever_waits(engine: Engine, seed: int) -> None:
    dice = random.Random(seed)
    mh = manhole(engine)
    values = {m: None if dice.random() < 0.1 else 7.0 for m in range(900) if dice.random() < 0.8}
    late = dict(list(values.items())[100:130])
    mh.put({m: v for m, v in values.items() if m not in late})
    summed(mh)
    determine(
        engine,
        Wanted(
            channel_id=mh.ph,
            since=AT + timedelta(minutes=400),
            until=AT + timedelta(minutes=460),
            verdict=Verdict.INVALID,
            reason="the probe lay dry",
        ),
        person_id=mh.coordinator.person_id,
        by="Ana",
        now=AT + timedelta(days=2),
    )
    for step in range(4):
        for _ in range(5):
            a, b = sorted(dice.sample(range(-30, 950), 2))
            since, until = AT + timedelta(minutes=a, seconds=7), AT + timedelta(minutes=b)
            with engine.connect() as db:
                found = hours.hours(db, mh.ph, since=since, until=until)
            assert found == one_by_one(mh, since, until), step
        if step == 1:
            mh.put(late, worker="late")
        elif step == 2:
            summed(mh)


def test_where_a_channel_did_not_count_its_good_readings_are_still_good(engine: Engine) -> None:
    mh = manhole(engine)
    mh.put({m: 7.0 for m in range(120)})
    with engine.begin() as db:
        db.execute(
            t.counting.update()
            .where(t.counting.c.channel_id == mh.ph)
            .values(since=AT + timedelta(minutes=30))
        )
    summed(mh)
    with engine.connect() as db:
        found = hours.hours(db, mh.ph, since=AT, until=AT + timedelta(minutes=120))
    assert [(one.stored, one.judged) for one in found] == [(60, 60), (60, 60)]


def whole_month(mh: Manhole) -> Exclusions:
    with mh.engine.connect() as db:
        place = sites.places(db)[mh.ph]
        limits: list[Under] = [under(rule, place) for rule in rules_of(db, place)]
        span = {"since": AT - timedelta(days=20), "until": AT + timedelta(days=20)}
        seen = readings.usable(db, [mh.ph], **span)[mh.ph]
    return exclusions(seen, limits, Parameter.PH)


@pytest.mark.parametrize("seed", range(3))
def test_exclusions_of_a_month_are_those_of_its_readings(engine: Engine, seed: int) -> None:
    dice = random.Random(seed)
    mh = manhole(engine)
    mh.put({m: dice.choice([7.0] * 40 + [5.0, 9.5, None]) for m in range(600)})
    summed(mh)
    for start in (100, 350):
        determine(
            engine,
            Wanted(
                channel_id=mh.ph,
                since=AT + timedelta(minutes=start),
                until=AT + timedelta(minutes=start + 45),
                verdict=Verdict.INVALID,
                reason="the probe lay dry",
            ),
            person_id=mh.coordinator.person_id,
            by="Ana",
            now=AT + timedelta(days=2),
        )
        month = day_of(AT, ZoneInfo("America/Chicago")).replace(day=1)
        for _ in range(2):
            with engine.connect() as db:
                found = of_month(db, mh.ph, month, now=AT + timedelta(days=2))
            assert found is not None
            expected = whole_month(mh)
            assert found.without_value == expected.without_value > 0
            for part, wanted in ((found.inside, expected.inside), (found.beyond, expected.beyond)):
                assert part.readings == wanted.readings > 0
                assert part.left_out == wanted.left_out
            summed(mh)
    with engine.connect() as db:
        assert of_month(db, mh.flow, month, now=AT + timedelta(days=2)) is None
        assert db.scalar(select(func.count()).select_from(t.rollup_quarter))
