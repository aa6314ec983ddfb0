"""Calibrations recorded by people: the evidence they bear on says so, at once and in the open."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from sqlalchemy import Engine, select

from compliance.enforcing.decisions import Decision
from compliance.jobs import calibrations as jobs
from compliance.jobs.decide import decide
from compliance.model.calibrations import Standard
from compliance.records import audit, calibrations
from compliance.records import tables as t
from tests.support.manhole import AT, Manhole, manhole

SHEET = (
    Standard(standard="7.00", before="7.04", after="7.00"),
    Standard(standard="4.01", before="3.95", after="4.01"),
)


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    mh = manhole(engine)
    with engine.begin() as db:
        db.execute(
            t.commissioning.insert().values(
                channel_id=mh.ph, method="EPA 150.2", location="MH-1", frequency="continuous",
                approved_by="Director", approved_on=date(2026, 1, 5), document="letter 12",
                calibration_days=30,
            )
        )  # fmt: skip
    mh.put({0: 7.2, 1: 5.5, 2: 7.2, 30: 7.2})
    mh.judge()
    return mh


def record(mh: Manhole, *, days: float) -> int:
    return jobs.record(
        mh.engine,
        mh.ph,
        at=AT + timedelta(days=days),
        by="Lee Kim, operator",
        standards=SHEET,
        recorded_by="Ana Ruiz, Coordinator",
    )


def standing(mh: Manhole) -> str:
    with mh.engine.connect() as db:
        return str(db.scalar(select(t.exceedance.c.evidence))["calibration"]["standing"])


def test_one_recorded_late_makes_the_finding_current(mh: Manhole) -> None:
    assert standing(mh) == "screening: calibration not current: none is on record before it"
    assert record(mh, days=-10) == 1
    assert standing(mh) == (
        "calibration current: 2026-06-26 by Lee Kim, operator, good for 30 days"
    )
    assert mh.count("exceedance_history") == 1


def test_the_next_one_after_a_finding_is_told_and_a_later_one_is_not(mh: Manhole) -> None:
    assert [record(mh, days=days) for days in (20, 50, 5)] == [1, 0, 1]
    with mh.engine.connect() as db:
        evidence = db.scalar(select(t.exceedance.c.evidence))
    assert evidence["calibration"]["after"]["at"] == (AT + timedelta(days=5)).isoformat()


def test_the_drift_is_the_greatest_distance_as_found(mh: Manhole) -> None:
    record(mh, days=-10)
    with mh.engine.connect() as db:
        (one,) = calibrations.of(db, [mh.ph])
        entry = list(audit.entries(db))[-1]
        assert calibrations.intervals(db, [mh.ph, mh.flow]) == {mh.ph: 30}
    assert (one.drift, one.standards) == ("0.06", SHEET)
    assert (entry.by, entry.act) == ("Ana Ruiz, Coordinator", "record calibration")


def test_who_has_decided_learns_that_the_evidence_would_now_differ(mh: Manhole) -> None:
    decide(
        mh.engine,
        decision=Decision.EXPLAIN,
        detection_id=1,
        viewer=mh.coordinator,
        reason="Probe cleaning, logged",
        now=AT,
    )
    record(mh, days=-10)
    with mh.engine.connect() as db:
        row = db.execute(select(t.detection)).mappings().one()
    assert row["state"] == "explained"
    assert row["differs"] == (
        "the evidence would now differ: a calibration was recorded afterwards"
    )
