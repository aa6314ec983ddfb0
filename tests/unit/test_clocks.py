"""An instrument's own clock: zone, drift and setting told apart."""

from __future__ import annotations

import pytest

from compliance.model.clocks import HOUR_US, Offset, clock, is_wrong, says, split

HOUR_MS = 3_600_000


def week(*offsets: float) -> list[Offset]:
    """An offset for each hour."""
    return [Offset(at_us=n * HOUR_US, offset_ms=int(one)) for n, one in enumerate(offsets)]


@pytest.mark.parametrize(
    ("offset_ms", "said"),
    [
        (400, "in step with ours"),
        (-2_000, "in step with ours"),
        (-12_000, "12 s behind ours"),
        (3_400, "3.4 s ahead of ours"),
        (-6 * HOUR_MS, "keeps UTC−6, in step with ours"),
        (-6 * HOUR_MS + 12_000, "keeps UTC−6, 12 s ahead of ours"),
        (5 * HOUR_MS + HOUR_MS // 2, "keeps UTC+5:30, in step with ours"),
        (-6 * HOUR_MS + 90_000, "keeps UTC−6, 1 min 30 s ahead of ours"),
        (-6 * HOUR_MS + 400_000, "5 h 53 min behind ours"),
        (40 * 60_000, "40 min ahead of ours"),
        (20 * HOUR_MS, "20 h ahead of ours"),
    ],
)
def test_a_distance_of_hours_is_a_zone_and_another_is_none(offset_ms: int, said: str) -> None:
    assert says(offset_ms) == said


def test_more_than_a_minute_beside_the_zone_is_wrong() -> None:
    assert not is_wrong(-5 * HOUR_MS - 60_000)
    assert is_wrong(-5 * HOUR_MS - 60_001)
    assert split(-5 * HOUR_MS - 60_000) == (-5 * HOUR_MS, -60_000)


def test_a_steady_change_is_drift() -> None:
    found = clock(week(*(100 * n for n in range(48))))
    assert found is not None and found.moves == ()
    assert found.drift_ms_day == pytest.approx(2400)
    assert found.says == "4.7 s ahead of ours; it gains 2.4 s a day"


def test_a_clock_that_is_set_has_moved_and_its_drift_begins_anew() -> None:
    found = clock(week(*([-90_000] * 30), *([0] * 18)))
    assert found is not None
    ((at_us, by_ms),) = [(one.at_us, one.by_ms) for one in found.moves]
    assert (at_us, by_ms) == (30 * HOUR_US, 90_000)
    assert found.moves[0].says == "set forward by 1 min 30 s"
    assert found.says == "in step with ours; no drift"


def test_an_hour_is_told_as_daylight_saving_time() -> None:
    found = clock(week(*([-5 * HOUR_MS] * 10), *([-6 * HOUR_MS] * 10)))
    assert found is not None
    assert found.moves[0].says == (
        "set back by 1 h, as a clock that follows daylight-saving time does"
    )
    assert found.says == "keeps UTC−6, in step with ours; no drift"


def test_too_little_says_no_drift_and_nothing_says_nothing() -> None:
    found = clock(week(0, 5, 10))
    assert found is not None and found.drift_ms_day is None
    assert clock([]) is None


def test_days_without_a_word_are_no_move() -> None:
    offsets = [Offset(at_us=0, offset_ms=0), Offset(at_us=100 * HOUR_US, offset_ms=20_000)]
    found = clock(offsets)
    assert found is not None and found.moves == ()
