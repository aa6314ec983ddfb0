"""No flow, no discharge: excused only by a flow record that is whole, good, agreeing."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.judging.no_discharge import CutOff, stillness
from compliance.model.findings import Excursion, Side
from compliance.model.readings import Quality, Series

S = 1_000_000
CUT = CutOff(flow=Decimal("2.0"), basis="the meter's low-flow limit", effective=date(2026, 1, 1))


def series(values: list[float], *, interval: int = 60) -> Series:
    n = len(values)
    return Series(
        at_us=np.arange(n, dtype=np.int64) * interval * S,
        value=np.array(values, float),
        quality=np.zeros(n, np.int64),
        interval_us=np.full(n, interval * S, np.int64),
    )


RUN = Excursion(
    side=Side.BELOW, starts_us=20 * 60 * S, ends_us=30 * 60 * S, beyond_us=600 * S, runs=1,
    readings=10, worst=4.8, worst_us=25 * 60 * S, open_ended=False, review=False, settled=True,
)  # fmt: skip
STILL, COUNT = series([0.0] * 60), series([5120.0] * 60)


def changed(of: Series, minute: int, *, value: float | None = None, quality: int = 0) -> Series:
    values, marks = of.value.copy(), of.quality.copy()
    marks[minute] = quality
    if value is not None:
        values[minute] = value
    return replace(of, value=values, quality=marks)


def one(flow: Series | None = STILL, total: Series | None = COUNT, cut_off: CutOff | None = CUT):
    (found,) = stillness([RUN], flow=flow, total=total, cut_off=cut_off)
    return found


def test_still_water_excuses_and_the_excuse_prints_its_cut_off_and_extremes() -> None:
    found = one()
    assert found.is_excused
    assert found.run.worst == 4.8
    assert (found.greatest_flow, found.total) == (0.0, 5120.0)
    assert "under the cut-off of 2.0 (the meter's low-flow limit)" in found.why


@pytest.mark.parametrize("minute", [15, 20, 25, 30])
def test_a_flow_at_the_cut_off_within_it_or_five_minutes_before_is_judged(minute: int) -> None:
    assert not one(flow=changed(STILL, minute, value=2.0)).is_excused
    assert one(flow=changed(STILL, minute, value=1.99)).is_excused


def test_flow_six_minutes_before_or_after_its_end_does_not_matter() -> None:
    assert one(flow=changed(changed(STILL, 14, value=90), 31, value=90)).is_excused


def test_a_meter_that_reads_zero_while_its_totalizer_moves_excuses_nothing() -> None:
    moved = replace(COUNT, value=np.where(np.arange(60) >= 24, 5121.0, 5120.0))
    found = one(total=moved)
    assert not found.is_excused
    assert found.why == "the totalizer moved, whatever the flow says"


@pytest.mark.parametrize(
    "quality", [Quality.NO_ANSWER, Quality.STALE, Quality.SCREENED, Quality.STATUS_UNCERTAIN]
)
def test_a_flagged_flow_or_total_excuses_nothing(quality: Quality) -> None:
    assert not one(flow=changed(STILL, 22, quality=int(quality))).is_excused
    assert not one(total=changed(COUNT, 22, quality=int(quality))).is_excused


def test_a_silent_flow_meter_excuses_nothing() -> None:
    keep = np.ones(60, np.bool_)
    keep[21:26] = False
    assert not one(flow=STILL.where(keep)).is_excused
    assert not one(flow=STILL.where(np.arange(60) < 29)).is_excused
    assert not one(flow=STILL.where(np.arange(60) > 15)).is_excused


@pytest.mark.parametrize("absent", ["flow", "total", "cut_off"])
def test_without_meter_totalizer_or_cut_off_it_is_judged(absent: str) -> None:
    assert not one(**{absent: None}).is_excused


def test_a_corrected_flow_record_takes_the_excuse_back() -> None:
    assert one().is_excused
    assert not one(flow=changed(STILL, 24, value=35, quality=int(Quality.CORRECTED))).is_excused


@given(st.lists(st.floats(0, 10), min_size=60, max_size=60))
def test_whatever_the_flow_an_excuse_never_has_a_flow_at_or_over_the_cut_off(
    values: list[float],
) -> None:
    found = one(flow=series(values))
    assert found.is_excused == (max(values[15:31]) < 2.0)
