"""Evidence: what a stranger needs, and what it says of a calibration that has lapsed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np

from compliance.judging.evidence import (
    Calibration,
    Commissioning,
    Evidence,
    document,
    standing,
)
from compliance.judging.judge import facts
from compliance.model.findings import Exceedance, Excursion, Side
from compliance.model.periods import Window, to_us
from compliance.model.readings import Quality, Series
from compliance.rules.book import find
from compliance.rules.schema import LimitRule

AT = datetime(2026, 3, 1, 14, tzinfo=UTC)
SERIES = Series(
    at_us=np.array([1, 2, 3], np.int64),
    value=np.array([7.0, 5.2, np.nan]),
    quality=np.array([0, 0, int(Quality.NO_ANSWER)], np.int64),
    interval_us=np.array([1, 1, 1], np.int64),
)
APPROVAL = Commissioning(
    method="EPA 150.2",
    location="MH-1",
    frequency="every second",
    approved_by="Director",
    approved_on=date(2026, 1, 5),
    document="letter 12",
    calibration_days=30,
)
BEFORE = Calibration(
    at=AT - timedelta(days=30, seconds=-1),
    by="A. Smith",
    standards=(("7.00", "7.04", "7.00"),),
    drift="0.04 s.u.",
)
RECORD = Evidence(
    channel="MH-1 pH",
    window=Window(start=AT, end=AT + timedelta(hours=1)),
    readings=3,
    flagged=1,
    digest="ab" * 32,
    worst_words=(0x40A6, 0x6666),
    release="0.1.0",
    commissioning=APPROVAL,
    calibration_before=BEFORE,
)


def fact() -> Exceedance:
    rule = find("prescott.ph")[1]
    assert isinstance(rule, LimitRule)
    excursion = Excursion(
        side=Side.BELOW, starts_us=to_us(AT), ends_us=to_us(AT) + 60_000_000, beyond_us=60_000_000,
        runs=1, readings=1, worst=5.2, worst_us=to_us(AT), open_ended=False, review=False,
        settled=True,
    )  # fmt: skip
    (found,) = facts(
        rule, rule.versions[0], [excursion], channel_key="1", text=lambda at_us, value: f"{value}"
    )
    return found


def test_it_names_rule_version_readings_words_and_release() -> None:
    found = json.loads(json.dumps(document(fact(), RECORD), allow_nan=False))
    assert found["limit_id"] == "prescott.ph"
    assert found["effective"] == "2017-06-12"
    assert found["worst"]["words"] == ["0x40A6", "0x6666"]
    assert found["limit"] == "6.0 s.u."
    assert found["release"] == "0.1.0"
    assert found["calibration"]["before"]["drift"] == "0.04 s.u."
    assert found["commissioning"]["approved_by"] == "Director"
    assert found["register_map"] is None


def test_a_calibration_is_current_until_its_days_are_over() -> None:
    assert standing(RECORD, AT).startswith("calibration current")
    lapsed = standing(RECORD, AT + timedelta(seconds=1))
    assert lapsed.startswith("screening: calibration not current")
    assert "30 days" in lapsed


def test_without_a_record_it_is_screening() -> None:
    for record in (replace(RECORD, commissioning=None), replace(RECORD, calibration_before=None)):
        assert standing(record, AT).startswith("screening: calibration not current")
