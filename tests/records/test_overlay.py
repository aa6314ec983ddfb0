"""Corrections and determinations: laid over the readings, judged again, and never overwritten."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import Engine, select

from compliance.errors import InputError
from compliance.model.determinations import Verdict
from compliance.model.readings import Quality
from compliance.records import overlay, readings
from compliance.records import tables as t
from tests.support.manhole import AT, Manhole, manhole

ACID = {m: 7.2 for m in range(120)} | {30: 5.1, 31: 5.2}


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    made = manhole(engine)
    made.put(ACID)
    made.judge()
    return made


def minute(m: int) -> object:
    return AT + timedelta(minutes=m)


def dirty(db, mh: Manhole, since: int, until: int) -> None:
    readings.mark_dirty(db, [mh.ph], since=minute(since), until=minute(until), why="test")


def corrected(mh: Manhole, values: dict[int, float | None]) -> None:
    with mh.engine.begin() as db:
        overlay.correct(
            db,
            mh.ph,
            [
                overlay.Correction(read_at=minute(m), value=v, quality=Quality.GOOD)
                for m, v in values.items()
            ],
            reason="the buffer was wrong",
            by="ana",
        )
        dirty(db, mh, min(values), max(values) + 1)
    mh.judge(after=121)


def determined(mh: Manhole, verdict: Verdict, since: int, until: int) -> None:
    with mh.engine.begin() as db:
        overlay.determine(
            db,
            mh.ph,
            verdict,
            since=minute(since),
            until=minute(until),
            reason="probe lay dry",
            person_id=mh.coordinator.person_id,
        )
        dirty(db, mh, since, until)
    mh.judge(after=121)


def test_a_corrected_reading_is_judged_and_the_first_one_stays(mh: Manhole) -> None:
    assert mh.facts() == [(30, 32, "5.10", True)]
    corrected(mh, {30: 6.4})
    assert mh.facts() == [(31, 32, "5.20", True)]
    corrected(mh, {31: 6.5})
    assert mh.facts() == []
    corrected(mh, {30: 5.1, 31: 5.2})
    assert mh.facts() == [(30, 32, "5.10", True)]
    with mh.engine.connect() as db:
        raw = db.scalars(select(t.reading.c.value).where(t.reading.c.value < 6)).all()
        versions = db.scalars(select(t.correction.c.version).order_by(t.correction.c.version)).all()
    assert sorted(raw) == [5.1, 5.2]
    assert versions == [1, 1, 2, 2]


def test_a_correction_can_find_what_was_not_found(mh: Manhole) -> None:
    corrected(mh, {60: 9.6})
    assert mh.facts() == [(30, 32, "5.10", True), (60, 61, "9.60", True)]


def test_only_a_stored_reading_can_be_corrected(mh: Manhole) -> None:
    with pytest.raises(InputError, match=r"has no reading at .* only a reading that is stored"):
        corrected(mh, {500: 7.0})


def test_what_a_person_calls_invalid_is_not_judged_until_another_word(mh: Manhole) -> None:
    determined(mh, Verdict.INVALID, 25, 40)
    assert mh.facts() == []
    determined(mh, Verdict.VALID, 31, 32)
    assert mh.facts() == [(31, 32, "5.20", True)]
    with mh.engine.connect() as db:
        held = readings.usable(db, [mh.ph], since=minute(24), until=minute(41))[mh.ph]
    invalid = [bool(q & int(Quality.INVALID)) for q in held.quality]
    assert invalid == [m != 31 and 25 <= m < 40 for m in range(24, 41)]


def test_an_exclusion_may_lie_inside_the_limit_and_changes_no_finding(mh: Manhole) -> None:
    before = mh.facts()
    determined(mh, Verdict.INVALID, 60, 70)
    assert mh.facts() == before
