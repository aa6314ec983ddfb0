"""Slots lie on a UTC grid; a missed one is named, never made up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ingest.schedule import MOST_SKIPPED, Round, Schedule


def test_the_first_slot_is_the_next_one_on_the_grid() -> None:
    schedule = Schedule([5_000, 60_000], now=61_234)
    assert schedule.next_at() == 65_000
    assert schedule.due(64_999) == ()
    assert schedule.due(65_003) == (Round(interval=5_000, slot=65_000, skipped=()),)
    assert schedule.due(65_004) == ()


def test_slots_that_an_overrun_missed_are_named_and_not_bunched() -> None:
    schedule = Schedule([1_000], now=0)
    assert schedule.due(3_500) == (Round(interval=1_000, slot=3_000, skipped=(1_000, 2_000)),)


def test_a_clock_set_back_starts_the_grid_anew() -> None:
    schedule = Schedule([1_000], now=10_000_000)
    assert schedule.due(5_000_100) == ()
    assert schedule.next_at() == 5_001_000


def test_a_long_absence_is_not_flagged_slot_by_slot() -> None:
    (late,) = Schedule([1_000], now=0).due(1_000_000_000)
    assert len(late.skipped) == MOST_SKIPPED
    assert late.skipped[-1] == late.slot - 1_000


@given(st.lists(st.integers(1, 7_000), max_size=40), st.sampled_from([200, 1_000, 5_000]))
def test_every_slot_is_given_once(steps: list[int], interval: int) -> None:
    now, given_slots = 1_000_003, []
    schedule = Schedule([interval], now=now)
    first = schedule.next_at()
    for step in steps:
        now += step
        for due in schedule.due(now):
            given_slots += [*due.skipped, due.slot]
    assert given_slots == list(range(first, now + 1, interval))
