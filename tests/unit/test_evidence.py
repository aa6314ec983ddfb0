"""Evidence: what a stranger needs, and what it says of a calibration that has lapsed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

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
from compliance.model.windows import Declared, WindowKind
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


def test_a_calibration_is_current_to_the_end_of_its_last_day_at_the_plant() -> None:
    here = replace(RECORD, zone=ZoneInfo("America/Chicago"))  # calibrated on 30 January at 8:00
    last = datetime(2026, 3, 2, 5, 59, 59, tzinfo=UTC)  # 1 March, a second before midnight there
    assert standing(here, last).startswith("calibration current: 2026-01-30 by A. Smith")
    lapsed = standing(here, last + timedelta(seconds=1))
    assert lapsed == (
        "screening: calibration not current: last calibrated on 2026-01-30, "
        "due within 30 days, by 2026-03-01"
    )


def test_a_calibration_of_the_evening_has_the_day_of_the_plant() -> None:
    evening = replace(BEFORE, at=datetime(2026, 2, 28, 4, tzinfo=UTC))  # 22:00 on 27 February
    here = replace(RECORD, calibration_before=evening, zone=ZoneInfo("America/Chicago"))
    assert standing(here, AT).startswith("calibration current: 2026-02-27")


def test_a_declared_window_is_named_with_when_it_was_declared() -> None:
    window = Declared(
        number=4, channels=(1,), since=AT, until=AT + timedelta(hours=1),
        kind=WindowKind.CALIBRATION, reason="Yearly", declared_by="Ana Ruiz",
        declared_at=AT + timedelta(hours=3, minutes=10),
    )  # fmt: skip
    (said,) = document(fact(), replace(RECORD, declared=(window,)))["declared_windows"]
    assert said["says"] == "declared afterwards, 3 h 10 min after it began"
    assert (said["kind"], said["declared_by"]) == ("calibration", "Ana Ruiz")


def test_without_a_record_it_is_screening() -> None:
    for record in (replace(RECORD, commissioning=None), replace(RECORD, calibration_before=None)):
        assert standing(record, AT).startswith("screening: calibration not current")
