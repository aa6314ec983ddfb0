"""Readings become facts, detections and events: once each, whatever the order they come in."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest
from sqlalchemy import Engine, select

from compliance.enforcing.decisions import Decision
from compliance.errors import Refused
from compliance.jobs.decide import decide, open_violation
from compliance.jobs.evaluate import Which, evaluate
from compliance.jobs.slugs import screen_slugs
from compliance.records import tables as t
from tests.support.manhole import AT, Manhole, manhole

NORMAL = 7.2


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    return manhole(engine)


def test_touching_a_bound_finds_nothing(mh: Manhole) -> None:
    mh.put({0: 6.0, 1: 9.0, 2: NORMAL})
    mh.judge()
    assert mh.facts() == []


def test_one_event_is_one_detection_that_is_extended(mh: Manhole) -> None:
    mh.put({0: NORMAL, 1: 5.5})
    assert mh.judge().new_detections == 1
    assert mh.facts() == [(1, 2, "5.50", False)]
    mh.put({2: 5.2, 3: 5.4})
    assert mh.judge().new_detections == 0
    assert mh.facts() == [(1, 4, "5.20", False)]
    mh.put({4: NORMAL, 12: NORMAL})
    mh.judge()
    assert mh.facts() == [(1, 4, "5.20", True)]
    assert mh.count("detection") == 1
    told = ["exceedance.started", "violation.detected", "exceedance.ended"]
    assert mh.events() == told


def test_judging_again_adds_nothing(mh: Manhole) -> None:
    mh.put({0: NORMAL, 1: 5.5, 2: NORMAL, 30: NORMAL})
    mh.judge()
    before = (mh.facts(), mh.events())
    mh.put({0: NORMAL, 1: 5.5, 2: NORMAL, 30: NORMAL}, worker="again")
    mh.judge()
    assert (mh.facts(), mh.events()) == before


def test_the_order_of_arrival_does_not_matter(engine: Engine) -> None:
    mh = manhole(engine)
    pieces = [
        {0: NORMAL, 1: 5.5},
        {2: 5.1, 3: NORMAL},
        {4: NORMAL, 5: 9.6},
        {6: NORMAL, 40: NORMAL},
    ]
    found = []
    for number, order in enumerate(itertools.permutations(pieces)):
        start = AT + timedelta(days=number)
        for piece in order:
            mh.put(piece, start=start, worker=f"w{number}")
            mh.judge()
        day = 1440 * number
        found.append([(a - day, b - day, w) for a, b, w, _ in mh.facts() if day <= a < day + 1440])
    assert found[0] == [(1, 3, "5.10"), (5, 6, "9.60")]
    assert all(one == found[0] for one in found)


def test_a_late_reading_that_complies_splits_what_was_one_event(mh: Manhole) -> None:
    mh.put({0: NORMAL, 1: 5.5, 3: 5.5, 4: NORMAL, 60: NORMAL})
    mh.judge()
    assert mh.facts() == [(1, 4, "5.50", True)]
    mh.put({2: NORMAL}, worker="late")
    mh.judge()
    assert mh.facts() == [(1, 4, "5.50", True)]  # nearer than the rejoin time: still one event
    with mh.engine.connect() as db:
        runs = db.scalar(select(t.exceedance.c.runs))
    assert runs == 2


def test_a_fact_that_better_readings_undo_is_withdrawn_and_kept(mh: Manhole) -> None:
    mh.put({0: NORMAL, 1: 5.5, 30: NORMAL})
    mh.judge()
    mh.put({20: NORMAL}, worker="late")
    with mh.engine.begin() as db:
        db.execute(t.reading.update().where(t.reading.c.value == 5.5).values(quality=8192))
    mh.judge()
    assert mh.facts() == []
    assert mh.count("exceedance") == 1
    assert mh.count("exceedance_history") == 1


def test_silence_ends_an_event_but_never_means_compliance(mh: Manhole) -> None:
    mh.put({0: NORMAL, 1: 5.5})
    mh.judge(after=2)
    assert mh.facts() == [(1, 2, "5.50", False)]
    mh.judge(after=10)
    assert mh.facts() == [(1, 2, "5.50", True)]
    with mh.engine.connect() as db:
        assert db.scalar(select(t.exceedance.c.open_ended)) is True


def test_a_channel_that_cannot_be_judged_stops_no_other_and_is_not_forgotten(
    mh: Manhole,
) -> None:
    with mh.engine.begin() as db:
        good = db.scalar(select(t.city.c.rulebooks))
        db.execute(t.city.update().values(rulebooks=["precsott"]))
    mh.put({0: NORMAL, 1: 5.5, 2: NORMAL})
    for _ in range(3):
        mh.judge()
    assert (mh.facts(), mh.count("fault")) == ([], 1)
    with mh.engine.begin() as db:
        db.execute(t.city.update().values(rulebooks=good))
    mh.judge()
    assert mh.facts() == []
    evaluate(mh.engine, now=AT, release="test", which=Which.FAILED)
    assert mh.facts() == [(1, 2, "5.50", False)]


def test_missing_readings_are_not_judged(mh: Manhole) -> None:
    mh.put({0: NORMAL, 1: None, 2: None, 3: NORMAL})
    mh.judge()
    assert mh.facts() == []


def test_ph_under_five_breaks_the_federal_floor_too(mh: Manhole) -> None:
    mh.put({0: NORMAL, 1: 4.8, 2: NORMAL})
    mh.judge()
    with mh.engine.connect() as db:
        rules = {row.rule_id for row in db.execute(select(t.exceedance.c.rule_id))}
    assert rules == {"prescott.ph", "federal.ph_floor"}


def test_evidence_names_the_rule_the_window_and_a_lapsed_calibration(mh: Manhole) -> None:
    mh.put({0: NORMAL, 1: 5.5, 2: NORMAL})
    mh.judge()
    with mh.engine.connect() as db:
        evidence = db.scalar(select(t.exceedance.c.evidence))
    assert evidence["limit_id"] == "prescott.ph"
    assert evidence["effective"] == "2017-06-12"
    assert "470-4" in evidence["citation"]
    assert evidence["worst"]["value"] == "5.50 s.u."
    assert "calibration not current" in evidence["calibration"]["standing"]
    assert len(evidence["digest"]) == 64


def test_a_person_opens_a_violation_and_only_then_has_it_a_number(mh: Manhole) -> None:
    mh.put({0: NORMAL, 1: 5.5, 2: NORMAL})
    mh.judge()
    assert mh.count("violation") == 0
    number = open_violation(
        mh.engine,
        detection_id=1,
        viewer=mh.coordinator,
        reason="Acid rinse tank overflowed, by phone",
        capacity="Coordinator",
        now=AT,
    )
    assert number == "V-2026-0001"
    assert mh.events()[-1] == "violation.opened"
    with pytest.raises(Refused, match="already opened"):
        decide(
            mh.engine,
            decision=Decision.EXPLAIN,
            detection_id=1,
            viewer=mh.coordinator,
            reason="It was a calibration",
            now=AT,
        )


def test_what_a_person_decided_is_never_changed_by_the_engine(mh: Manhole) -> None:
    mh.put({0: NORMAL, 1: 5.5, 2: NORMAL, 30: NORMAL})
    mh.judge()
    decide(
        mh.engine,
        decision=Decision.EXPLAIN,
        detection_id=1,
        viewer=mh.coordinator,
        reason="Probe cleaning, logged",
        now=AT,
    )
    with mh.engine.begin() as db:
        db.execute(t.reading.update().where(t.reading.c.value == 5.5).values(quality=8192))
    mh.put({20: NORMAL}, worker="late")
    mh.judge()
    with mh.engine.connect() as db:
        row = db.execute(select(t.detection)).mappings().one()
    assert row["state"] == "explained"
    assert "would now differ" in row["differs"]


def test_a_release_over_five_times_the_day_before_is_a_possible_slug(mh: Manhole) -> None:
    day = {minute: 40.0 for minute in range(-1440, 0)}
    mh.put({**day, **dict.fromkeys(range(0, 16), 230.0), 16: 40.0, 40: 40.0}, channel=mh.flow)
    mh.judge()
    screen_slugs(mh.engine, now=AT + timedelta(minutes=41), release="test")
    assert mh.facts() == [(0, 16, "230.0", True)]
    assert mh.count("detection") == 0  # screening accuses nobody
    assert mh.events() == ["slug.suspected"]
