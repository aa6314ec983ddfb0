"""Slots lie on a UTC grid; a missed one is named, never made up; a clock that is set makes none."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.model.slots import phase_of
from ingest.own_clock import Moment, OwnClock
from ingest.schedule import MOST_SKIPPED, Round, Schedule

HOUR = 3_600_000
NOON = 1_775_044_800_000  # 2026-04-01 12:00 UTC


def at(wall: int, *, set_by: int = 0) -> Moment:
    """An instant on a machine that started at 0 and whose clock was set by so much since."""
    return Moment(wall, wall - set_by)


def slots(rounds: tuple[Round, ...]) -> list[tuple[int, int, tuple[int, ...]]]:
    return [(r.interval, r.slot, r.skipped) for r in rounds]


def test_the_first_slot_is_the_next_one_on_the_grid() -> None:
    schedule = Schedule([5_000, 60_000], at=at(61_234))
    assert schedule.next_at() == 65_000
    assert schedule.due(at(64_999)) == ()
    assert slots(schedule.due(at(65_003))) == [(5_000, 65_000, ())]
    assert schedule.due(at(65_004)) == ()


def test_a_round_says_when_its_slot_begins_on_the_clock_that_nobody_sets() -> None:
    (due,) = Schedule([1_000], at=Moment(NOON, 500)).due(Moment(NOON + 1_007, 1_507))
    assert (due.slot, due.steady) == (NOON + 1_000, 1_500)


def test_t6_slots_that_an_overrun_missed_are_named_and_not_bunched() -> None:
    schedule = Schedule([1_000], at=at(0))
    assert slots(schedule.due(at(3_500))) == [(1_000, 3_000, (1_000, 2_000))]
    assert schedule.stepped == 0


def test_a_long_absence_is_not_flagged_slot_by_slot() -> None:
    (late,) = Schedule([1_000], at=at(0)).due(at(1_000_000_000))
    assert len(late.skipped) == MOST_SKIPPED
    assert late.skipped[-1] == late.slot - 1_000


@given(st.lists(st.integers(1, 7_000), max_size=40), st.sampled_from([200, 1_000, 5_000]))
def test_every_slot_is_given_once(steps: list[int], interval: int) -> None:
    now, given_slots = 1_000_003, []
    schedule = Schedule([interval], at=at(now))
    first = schedule.next_at()
    for step in steps:
        now += step
        for due in schedule.due(at(now)):
            given_slots += [*due.skipped, due.slot]
    assert given_slots == list(range(first, now + 1, interval))


def polled(schedule: Schedule, seconds: int, *, start: int, set_by: int) -> list[Round]:
    """The rounds of a worker that looks each 100 ms."""
    found: list[Round] = []
    for tick in range(0, seconds * 1000, 100):
        found += schedule.due(at(start + tick, set_by=set_by))
    return found


@pytest.mark.parametrize("interval", [1_000, 5_000])
@pytest.mark.parametrize("step", [HOUR, -HOUR, HOUR + 300, -HOUR - 300])
def test_a_clock_set_by_an_hour_neither_doubles_nor_bunches_slots(interval: int, step: int) -> None:
    schedule = Schedule([interval], at=at(NOON))
    before = polled(schedule, 60, start=NOON + 100, set_by=0)
    after = polled(schedule, 60, start=NOON + 60_100 + step, set_by=step)
    given_slots = [r.slot for r in before + after]
    assert len(set(given_slots)) == len(given_slots)
    assert all(not r.skipped for r in before + after)
    begins = [r.steady for r in before + after]
    apart = [b - a for a, b in zip(begins, begins[1:], strict=False)]
    assert all(0 < each < 2 * interval for each in apart)
    assert abs(len(after) - len(before)) <= 1
    assert all(abs(r.slot - NOON - 60_100 - step) <= 61_000 for r in after)


def test_a_clock_that_is_set_is_told_once() -> None:
    schedule = Schedule([1_000], at=at(NOON))
    schedule.due(at(NOON + HOUR, set_by=HOUR))
    assert schedule.stepped == HOUR
    schedule.due(at(NOON + HOUR + 1_000, set_by=HOUR))
    assert schedule.stepped == 0


def test_after_the_hour_it_was_set_back_by_the_slots_are_on_the_grid_again() -> None:
    schedule = Schedule([60_000], at=at(NOON))
    before = polled(schedule, 120, start=NOON, set_by=0)
    back = polled(schedule, 7_800, start=NOON + 120_000 - HOUR, set_by=-HOUR)
    given_slots = [r.slot for r in before + back]
    assert len(set(given_slots)) == len(given_slots)
    assert {s % 60_000 for s in given_slots if s < NOON} == {7_500}
    last = [r.slot for r in back][-30:]
    assert last == list(range(last[0], last[0] + 30 * 60_000, 60_000))
    assert last[0] % 60_000 == 0


@given(
    st.lists(st.tuples(st.integers(-5_000_000, 5_000_000), st.integers(1, 4_000)), max_size=30),
    st.sampled_from([100, 1_000, 60_000]),
)
def test_whatever_is_done_to_the_clock_few_slots_are_given_twice(
    steps: list[tuple[int, int]], interval: int
) -> None:
    schedule = Schedule([interval], at=at(NOON))
    wall, set_by, seen = NOON, 0, []
    for step, passed in steps[:6]:  # beside the grid there is room for seven
        wall, set_by = wall + step + passed, set_by + step
        seen += [due.slot for due in schedule.due(at(wall, set_by=set_by))]
        assert schedule.next_at() > 0
    assert len(set(seen)) == len(seen)


def test_a_machine_that_slept_has_missed_its_slots() -> None:
    schedule = Schedule([1_000], at=at(NOON))
    (woken,) = schedule.due(at(NOON + 10_000))  # both clocks went on
    assert len(woken.skipped) == 9


def test_a_clock_that_drifts_is_followed_and_stays_on_the_grid() -> None:
    schedule = Schedule([1_000], at=at(NOON))
    found = [schedule.due(at(NOON + n * 1_001, set_by=n)) for n in range(1, 4_000)]
    assert all(slot % 1_000 == 0 for rounds in found for _, slot, _ in slots(rounds))
    assert sum(1 + len(due.skipped) for rounds in found for due in rounds) == 4_002


@pytest.mark.parametrize("day", [(2026, 3, 8), (2026, 11, 1)])
def test_a_day_of_23_or_25_hours_is_nothing_special(day: tuple[int, int, int]) -> None:
    start = int(datetime(*day, 5, tzinfo=UTC).timestamp()) * 1000
    schedule = Schedule([60_000], at=at(start))
    found = polled(schedule, 4 * 3_600, start=start, set_by=0)
    assert [r.slot for r in found] == list(range(start + 60_000, start + 4 * HOUR, 60_000))


def test_t23_a_gateway_that_keeps_away_from_the_others_has_a_phase_of_its_own() -> None:
    names = [f"gateway {n}" for n in range(200)]
    phases = {name: phase_of(name, 60_000) for name in names}
    assert phases == {name: phase_of(name, 60_000) for name in names}
    assert len(set(phases.values())) > 190
    schedule = Schedule([60_000], at=at(NOON), spread_by="gateway 7")
    slot = schedule.next_at()
    assert slot % 60_000 == phases["gateway 7"]
    assert slots(schedule.due(at(slot + 60_001))) == [(60_000, slot + 60_000, (slot,))]


def test_the_machines_steady_clock_only_runs() -> None:
    clock = OwnClock()
    first = clock.now()
    asyncio.run(clock.sleep(0.01))
    assert clock.now().steady >= first.steady + 9
    assert clock.now().wall > NOON
