"""A channel against the others of its point: rinses, and flows that their total denies."""

from __future__ import annotations

import random
from decimal import Decimal

import numpy as np
import pytest

from compliance.judging.screening.cross import Apart, Rinse, denied, rinsed
from compliance.model.readings import Quality, Series
from compliance.model.totals import Disagreement

STEPS = Rinse(ph_step=0.5, temperature_step=3.0, seconds=180, longest_seconds=1800)
TWO_PERCENT = Apart(share=Decimal("0.02"), seconds=21600)


def series(values: list[float], *, every_s: int = 60, offset_s: int = 0) -> Series:
    n = len(values)
    value = np.array(values, np.float64)
    return Series(
        at_us=(np.arange(n, dtype=np.int64) * every_s + offset_s) * 1_000_000,
        value=value,
        quality=np.where(np.isnan(value), int(Quality.NO_ANSWER), 0).astype(np.int64),
        interval_us=np.full(n, every_s * 1_000_000, np.int64),
    )


def minutes(ph: Series, temperature: Series) -> list[int]:
    return np.flatnonzero(rinsed(ph, temperature, STEPS)).tolist()


def stepped(low: float, high: float, *, since: int = 20, until: int = 30) -> list[float]:
    return [high if since <= m < until else low for m in range(60)]


def test_a_rinse_is_flagged_from_its_jump_to_the_jump_back() -> None:
    found = minutes(series(stepped(7.2, 8.0)), series(stepped(25.0, 15.0)))
    assert found == list(range(20, 33))


@pytest.mark.parametrize(
    ("ph", "temperature"),
    [
        (stepped(7.2, 8.0), stepped(25.0, 25.0)),
        (stepped(7.2, 7.2), stepped(25.0, 15.0)),
        (stepped(7.2, 7.6), stepped(25.0, 15.0)),
        (stepped(7.2, 8.0), stepped(25.0, 23.0)),
        (stepped(7.2, 8.0), stepped(25.0, 15.0, since=40, until=50)),
    ],
)
def test_one_jump_without_the_other_is_no_rinse(ph: list[float], temperature: list[float]) -> None:
    assert minutes(series(ph), series(temperature)) == []


def test_a_change_that_lasts_is_flagged_at_its_jumps_alone() -> None:
    long = [8.0 if 20 <= m < 120 else 7.2 for m in range(200)]
    warm = [15.0 if 20 <= m < 120 else 25.0 for m in range(200)]
    assert minutes(series(long), series(warm)) == [20, 21, 22, 120, 121, 122]


def test_a_silence_is_no_jump() -> None:
    ph = [7.2] * 20 + [float("nan")] * 10 + [8.5] * 20
    warm = [25.0] * 20 + [float("nan")] * 10 + [15.0] * 20
    assert minutes(series(ph), series(warm)) == []


@pytest.mark.parametrize("seed", range(10))
def test_a_rinse_is_the_same_seen_from_any_place_that_sees_enough(seed: int) -> None:
    dice = random.Random(seed)
    ph, warm, at = [], [], (7.2, 25.0)
    for _ in range(400):
        if dice.random() < 0.05:
            at = (7.2 + dice.choice([0, 0.9]), 25.0 + dice.choice([0, 6.0]))
        ph.append(at[0])
        warm.append(at[1])
    whole = rinsed(series(ph), series(warm, offset_s=7), STEPS)
    assert whole.any()
    for start in range(0, 400, 50):
        lo, hi = max(0, start - 40), min(400, start + 90)
        part = rinsed(
            series(ph[lo:hi]), series(warm[max(0, lo - 5) : hi + 5], offset_s=7 - 60 * min(5, lo)),
            STEPS,
        )  # fmt: skip
        assert part[start - lo : start - lo + 50].tolist() == whole[start : start + 50].tolist()


@pytest.mark.parametrize(
    ("total", "flow", "seconds", "resolution", "says"),
    [
        ("1000", "1020", 86400, "0", False),
        ("1000", "1020.1", 86400, "0", True),
        ("1000", "979.9", 86400, "0", True),
        ("1000", "1500", 21599, "0", False),
        ("0", "100", 86400, "0", True),
        ("0", "100", 86400, "60", False),
        ("1000", "1100", 86400, "60", False),
    ],
)
def test_a_flow_is_denied_by_more_than_two_percent_and_two_steps_of_the_total(
    total: str, flow: str, seconds: int, resolution: str, says: bool
) -> None:
    t, f = Decimal(total), Decimal(flow)
    said = Disagreement(
        totalizer_gallons=t,
        flow_gallons=f,
        seconds=Decimal(seconds),
        share=(f - t) / t if t else None,
        working="",
    )
    assert denied(said, TWO_PERCENT, resolution=Decimal(resolution)) is says


def test_where_the_two_have_no_time_in_common_nothing_is_said() -> None:
    assert denied(None, TWO_PERCENT) is False
