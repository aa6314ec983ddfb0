"""Integrity detectors: what they see, what they leave alone, and that they never say why."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest

from compliance.judging.integrity import calibrations_without_log, outages, plateaus, running
from compliance.judging.integrity_samples import (
    Dated,
    Edit,
    Split,
    below_water_use,
    edits_after_upload,
    identical_results,
    only_on_low_days,
    splits_that_disagree,
)
from compliance.model.integrity import Look
from compliance.model.parameters import Parameter
from compliance.model.periods import Period, to_us
from compliance.model.readings import Quality, Series
from compliance.model.samples import Result
from compliance.model.units import Unit
from compliance.rules.integrity import settings_on

DAY = date(2026, 11, 2)
SETTINGS = settings_on(DAY)
START = datetime(2026, 11, 2, tzinfo=UTC)
ACCUSING = ("tamper", "manipul", "fraud", "falsif", "violation", "cheat", "suspicious")


def series(values: np.ndarray) -> Series:
    n = len(values)
    return Series(
        at_us=to_us(START) + np.arange(n, dtype=np.int64) * 60_000_000,
        value=np.asarray(values, float),
        quality=np.zeros(n, np.int64),
        interval_us=np.full(n, 60_000_000, np.int64),
    )


def alive(n: int = 1440) -> np.ndarray:
    return 7.8 + 0.3 * np.sin(np.arange(n) / 9)


def flow(n: int = 1440, *, on: slice = slice(360, 1080)) -> Series:
    values = np.zeros(n)
    values[on] = 20.0
    return series(values)


def with_buffer(since: int, minutes: int, value: float = 7.0) -> Series:
    values = alive()
    values[since : since + minutes] = value + np.resize([-0.01, 0.0, 0.01], minutes)
    return series(values)


def seen(found: tuple[object, ...]) -> str:
    said = " ".join(one.saw for one in found)  # type: ignore[attr-defined]
    assert not any(word in said.lower() for word in ACCUSING)
    return said


def test_a_plateau_at_a_buffer_while_flow_ran_is_worded_as_seen() -> None:
    found = plateaus(with_buffer(600, 41), running(flow(), SETTINGS), SETTINGS, unit="gpm")
    assert seen(found) == "pH 7.00 ± 0.01 for 40 min while flow ran (20 to 20 gpm)"
    assert found[0].since == START + timedelta(hours=10)


@pytest.mark.parametrize(
    ("ph", "water"),
    [
        (with_buffer(600, 30), flow()),  # 29 min from first to last
        (with_buffer(60, 120), flow()),  # nothing runs at night
        (with_buffer(600, 41, 6.5), flow()),  # no buffer
        (with_buffer(600, 41), flow(on=slice(0, 0))),
    ],
)
def test_a_short_stretch_still_water_or_no_buffer_is_left_alone(ph: Series, water: Series) -> None:
    assert plateaus(ph, running(water, SETTINGS), SETTINGS, unit="gpm") == ()


def test_a_plateau_in_a_declared_window_is_left_alone() -> None:
    ph = with_buffer(600, 41)
    marks = ph.quality.copy()
    marks[590:650] = int(Quality.MAINTENANCE)
    assert plateaus(replace(ph, quality=marks), running(flow(), SETTINGS), SETTINGS, unit="") == ()


def without(*spans: tuple[int, int]) -> Series:
    keep = np.ones(1440, np.bool_)
    for since, until in spans:
        keep[since:until] = False
    return series(alive()).where(keep)


def test_outages_that_keep_coinciding_with_discharge_are_counted() -> None:
    water = running(flow(), SETTINGS)
    ph = without((400, 420), (600, 640), (900, 930))
    assert seen(outages(ph, water, SETTINGS, name="pH")) == (
        "3 of 3 outages of pH over 10 min lay in times when flow ran, which is 50% of the time"
    )
    assert outages(without((400, 420), (600, 640)), water, SETTINGS, name="pH") == ()
    assert outages(without((10, 40), (100, 130), (900, 930)), water, SETTINGS, name="pH") == ()


def test_where_water_always_runs_nothing_coincides() -> None:
    water = running(flow(on=slice(0, 1440)), SETTINGS)
    assert outages(without((400, 420), (600, 640), (900, 930)), water, SETTINGS, name="pH") == ()


def test_two_buffers_in_a_row_without_a_record_are_listed() -> None:
    values = alive()
    values[100:106], values[110:116] = 7.0, 4.01
    ph = series(values)
    found = calibrations_without_log(ph, [], SETTINGS)
    assert "then 4.01 to 4.01 for 5 min; no calibration" in seen(found)
    near = START + timedelta(hours=12)
    assert calibrations_without_log(ph, [near], SETTINGS) == ()
    far = START + timedelta(hours=27)
    assert len(calibrations_without_log(ph, [far], SETTINGS)) == 1
    values[110:116] = 7.01  # one buffer twice is no calibration
    assert calibrations_without_log(series(values), [], SETTINGS) == ()


@pytest.mark.parametrize(("sewer", "count"), [(599, 1), (600, 0), (1400, 0)])
def test_sewer_flow_under_six_tenths_of_the_water_is_listed(sewer: int, count: int) -> None:
    period = Period(start=DAY, end=DAY + timedelta(days=30))
    found = below_water_use(
        period, sewer_gal=Decimal(sewer), water_gal=Decimal(1000), settings=SETTINGS
    )
    assert len(found) == count
    if found:
        assert (
            seen(found) == "599 gal to the sewer and 1,000 gal of metered water in 30 days: 59.9%"
        )


def split(users: str, citys: str, day: int = 0) -> Split:
    return Split(
        day=DAY + timedelta(days=day), parameter=Parameter.ZINC, users=Decimal(users),
        citys=Decimal(citys),
    )  # fmt: skip


def test_splits_far_apart_and_a_lean_are_listed() -> None:
    assert splits_that_disagree([split("0.85", "1.15")], SETTINGS) == ()  # 30 % exactly
    assert "1.16 by the city's, 31% of their mean" in seen(
        splits_that_disagree([split("0.85", "1.16")], SETTINGS)
    )
    lean = [split("1.0", "1.1", n) for n in range(5)]
    assert "in all 5 split samples" in seen(splits_that_disagree(lean, SETTINGS))
    assert splits_that_disagree([*lean[1:], split("1.1", "1.1", 9)], SETTINGS) == ()


def test_samples_only_on_low_flow_days_are_listed() -> None:
    flows = {DAY + timedelta(days=n): Decimal(1000 if n % 2 else 200) for n in range(40)}
    low = [day for day, gal in flows.items() if gal == 200][:8]
    found = only_on_low_days(low, flows, SETTINGS)
    assert "all 8 sampled days had 200 gal or less" in seen(found)
    high = next(day for day, gal in flows.items() if gal == 1000)
    assert only_on_low_days([*low, high], flows, SETTINGS) == ()
    assert only_on_low_days(low[:5], flows, SETTINGS) == ()
    unknown = [DAY - timedelta(days=n) for n in range(1, 9)]
    assert only_on_low_days(unknown, flows, SETTINGS) == ()


def lab(written: str, day: int, qualifier: str = "") -> Dated:
    result = Result(
        parameter=Parameter.ZINC, qualifier=qualifier, value=Decimal(written), written=written,
        unit=Unit.MG_L,
    )  # fmt: skip
    return Dated(day=DAY + timedelta(days=day), result=result)


def test_identical_results_in_a_row_are_listed() -> None:
    same = [lab("1.27", n) for n in range(3)]
    assert seen(identical_results(same, SETTINGS)) == "Zinc was 1.27 mg/L 3 times in a row"
    assert identical_results([lab("1.27", 0), lab("1.270", 1), lab("1.27", 2)], SETTINGS) == ()
    assert identical_results([lab("0.05", n, "<") for n in range(9)], SETTINGS) == ()
    assert identical_results([lab("0.2", n) for n in range(9)], SETTINGS) == ()  # one digit
    assert identical_results([lab("1.27", 0)] * 3, SETTINGS) == ()  # one day


def test_a_number_sent_again_as_another_is_listed() -> None:
    edit = Edit(at=START, what="K-1 zinc", first="2.71", later="1.71", by="Jo Ortiz")
    assert seen(edits_after_upload([edit, replace(edit, later="2.71")])) == (
        "K-1 zinc was sent as 2.71, and later as 1.71, by Jo Ortiz"
    )


def test_each_detector_has_a_name_of_its_own() -> None:
    assert len(Look) == 8
