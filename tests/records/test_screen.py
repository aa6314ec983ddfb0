"""Screening in a database: spans that follow the readings, and findings that become for review."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from sqlalchemy import Engine, select

from compliance.jobs.screen import screen_readings
from compliance.judging.screening import screen
from compliance.judging.screening.settings import settings_for
from compliance.model.flags import Reason
from compliance.model.parameters import Parameter
from compliance.model.periods import from_us
from compliance.model.units import Unit
from compliance.records import dirt, flags, readings
from compliance.records import tables as t
from compliance.rules.screening import screening_book
from tests.support.manhole import AT, Manhole, manhole

SINCE, UNTIL = AT - timedelta(days=1), AT + timedelta(days=3)


def screened(mh: Manhole) -> None:
    mh.judge()
    screen_readings(mh.engine)
    mh.judge()


def flagged(mh: Manhole) -> dict[int, Reason]:
    """The minutes whose readings are flagged, and why."""
    with mh.engine.connect() as db:
        stored = flags.between(db, [mh.ph], since=SINCE, until=UNTIL).get(mh.ph, [])
        held = readings.usable(db, [mh.ph], since=SINCE, until=UNTIL)[mh.ph]
    found = {}
    for at in held.at_us.tolist():
        for span in stored:
            if span.since_us <= at <= span.until_us:
                found[(from_us(at) - AT) // timedelta(minutes=1)] = span.reason
    return found


def by_one_pass(mh: Manhole) -> dict[int, Reason]:
    version = screening_book().versions[0]
    own = settings_for(
        version.parameters[Parameter.PH], version=version.version, unit=Unit.SU, span=None
    )
    assert own is not None
    with mh.engine.connect() as db:
        held = readings.usable(db, [mh.ph], since=SINCE, until=UNTIL)[mh.ph]
    _, reason = screen(held, own)
    return {
        (from_us(at) - AT) // timedelta(minutes=1): Reason(why)
        for at, why in zip(held.at_us.tolist(), reason.tolist(), strict=True)
        if why
    }


@pytest.mark.parametrize("seed", range(3))
def test_flags_are_those_of_one_pass_however_the_readings_came(engine: Engine, seed: int) -> None:
    dice = random.Random(seed)
    mh = manhole(engine)
    ph = {m: round(dice.gauss(7.2, 0.05), 2) for m in range(600) if dice.random() > 0.05}
    ph |= dict.fromkeys(range(200, 290), 7.0)
    ph |= {400: 9.4, 401: 1.5}
    order = sorted(ph, key=lambda m: m + dice.choice([0, 0, 0, 150]))
    for number, start in enumerate(range(0, len(order), 150)):
        mh.put({m: ph[m] for m in order[start : start + 150]}, worker=f"w{number}")
        screened(mh)
    assert flagged(mh) == by_one_pass(mh)
    assert any(why & Reason.FLAT_LINE for why in flagged(mh).values())
    assert flagged(mh)[401] & Reason.GROSS_RANGE


def test_screening_again_changes_nothing(engine: Engine) -> None:
    mh = manhole(engine)
    mh.put({m: 7.0 for m in range(200)})
    screened(mh)
    before = flagged(mh)
    for _ in range(3):
        screened(mh)
    assert flagged(mh) == before != {}
    mh.judge()
    assert mh.count("dirty") <= 3, "the duties' own marks, and no ring of them"


def spans(mh: Manhole) -> list[tuple[object, ...]]:
    """Every span as it is stored."""
    with mh.engine.connect() as db:
        return [tuple(row) for row in db.execute(select(t.flagged_span).order_by("since"))]


@pytest.mark.parametrize("seed", range(2))
def test_screening_any_part_again_leaves_every_span_as_it_was(engine: Engine, seed: int) -> None:
    """Parts that begin or end within a span, that touch one, and the same part twice."""
    dice = random.Random(seed)
    mh = manhole(engine)
    ph = {m: round(dice.gauss(7.2, 0.05), 2) for m in range(600) if dice.random() > 0.05}
    ph |= dict.fromkeys(range(200, 290), 7.0) | {400: 9.4, 401: 1.5}
    mh.put(ph)
    screened(mh)
    before = spans(mh)
    assert len(before) == 5
    for _ in range(12):
        first = dice.choice([dice.randrange(600), 200, 289, 290, 400, 401])
        since = AT + timedelta(minutes=first, seconds=dice.choice([0, 1]))
        mark = dirt.Mark(since=since, until=since + timedelta(minutes=dice.choice([1, 15, 200])))
        for _ in range(2):
            with engine.begin() as db:
                dirt.put(db, {mh.ph: mark}, why=dirt.SCREEN)
            assert screen_readings(engine) <= 1
            assert spans(mh) == before


def test_thresholds_are_told_in_the_channels_own_unit() -> None:
    version = screening_book().versions[0]
    of = version.parameters[Parameter.TEMPERATURE]
    found = settings_for(of, version="v", unit=Unit.DEG_F, span=None)
    assert found is not None
    assert found.suspect == pytest.approx((35.6, 140.0))
    assert found.spike == pytest.approx(3.6)
    flow = version.parameters[Parameter.FLOW]
    assert settings_for(flow, version="v", unit=Unit.GPM, span=None) is None
    spanned = settings_for(flow, version="v", unit=Unit.GPM, span=(0.0, 500.0))
    assert spanned is not None and spanned.fail == pytest.approx((-10.0, 600.0))
