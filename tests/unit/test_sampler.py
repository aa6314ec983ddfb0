"""The proportional sampler: aliquots against the water that passed, and what spoils a composite."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.model.composites import Composite, SamplerProgram
from compliance.model.counting import tally
from compliance.model.periods import Window, local_day, to_us
from compliance.model.readings import Quality, Series
from compliance.model.sampler import (
    bottle_changes,
    bottle_windows,
    composites,
    program_windows,
    pulses,
)
from compliance.model.totals import Count, Counter, Step
from compliance.model.units import Unit
from ingest.manhole import Profile, Signal, signal

START = datetime(2026, 3, 2, 6, tzinfo=UTC)
MINUTE_US = 60_000_000
PACE = SamplerProgram(gallons_per_aliquot=Decimal(1000))


def series(values: Iterable[float], *, bad: Iterable[int] = ()) -> Series:
    value = np.array(list(values), np.float64)
    quality = np.zeros(len(value), np.int64)
    quality[list(bad)] = int(Quality.NO_ANSWER)
    at_us = to_us(START) + np.arange(len(value)) * MINUTE_US
    return Series(
        at_us=at_us, value=value, quality=quality, interval_us=np.full(len(value), MINUTE_US)
    )


def total(values: Iterable[float], *, rate: int | None = None) -> tuple[Step, ...]:
    read = [
        Count(at_us=to_us(START) + n * MINUTE_US, value=Decimal(str(value)))
        for n, value in enumerate(values)
    ]
    most = None if rate is None else Decimal(rate)
    return tally(read, Counter(modulus=Decimal(10**9), max_per_second=most)).steps


def minutes(count: int) -> Window:
    return Window(start=START, end=START + timedelta(minutes=count))


STEADY = [n * 100 for n in range(121)]  # gallons: an aliquot is due every ten minutes
PULLED = [n // 10 for n in range(121)]


def one(
    pulled: Iterable[float],
    gallons: Iterable[float] = STEADY,
    program: SamplerProgram = PACE,
    **more: Series | None,
) -> Composite:
    (found,) = composites(
        [minutes(120)],
        program,
        aliquots=pulses(series(pulled)),
        totals=total(gallons),
        **more,  # type: ignore[arg-type]
    )
    return found


def test_a_sampler_that_keeps_pace_with_the_flow_is_representative() -> None:
    found = one(PULLED)
    assert (found.aliquots, found.gallons, found.due) == (12, 12_000, 12)
    assert (found.representativeness, found.missed, found.faults) == (1, (), ())
    assert found.is_sound
    assert found.working[1] == "12000 gal ÷ 1000 gal an aliquot = 12 due"


def test_pulls_missed_while_water_passed_are_named_with_their_span() -> None:
    stopped = [n if n < 5 else max(5, n - 3) for n in PULLED]  # jammed for half an hour
    found = one(stopped)
    (missed,) = found.missed
    assert (missed.aliquots, found.aliquots) == (3, 9)
    assert missed.between.start == START + timedelta(minutes=50)
    assert missed.between.end == START + timedelta(minutes=89)
    assert found.representativeness == Decimal("0.75")
    assert found.faults[0] == "9 aliquots for 12 due by the water that passed"
    assert found.faults[1].startswith("3 pulls missed, most of them between 2026-03-02T06:50")


def test_pulls_missed_and_pulls_too_many_do_not_make_up_for_each_other() -> None:
    uneven = [min(n, 60) // 5 for n in range(121)]  # twice the pace, then nothing
    found = one(uneven)
    assert found.representativeness == 1
    assert sum(pull.aliquots for pull in found.missed) == 5
    assert not found.is_sound


def test_a_sampler_that_pulls_by_time_while_nothing_flows_is_found() -> None:
    found = one(PULLED, gallons=[7.0] * 121)
    assert (found.due, found.representativeness) == (0, None)
    assert found.faults == ("12 aliquots for 0 due by the water that passed",)


def test_a_sampler_that_never_pulls_misses_all_that_was_due() -> None:
    found = one([4.0] * 121)
    assert (found.aliquots, found.missed[0].aliquots) == (0, 12)
    assert found.faults[0] == "no aliquot was taken"


def test_unknown_volume_gives_no_figure_and_says_so() -> None:
    short = total(STEADY[:60])
    jumped = total([g + 500_000 * (n > 60) for n, g in enumerate(STEADY)], rate=10)
    for totals in (short, jumped):
        (found,) = composites([minutes(120)], PACE, aliquots=pulses(series(PULLED)), totals=totals)
        assert (found.gallons, found.due, found.representativeness) == (None, None, None)
        assert found.faults == ("the total does not tell how much water passed",)


def test_a_count_that_was_not_read_for_part_of_the_time_is_a_fault() -> None:
    found = one(PULLED[:90])
    assert "the aliquot count was read for 74 % of the time only" in found.faults


def test_a_gap_in_the_middle_is_bridged_by_the_count_itself() -> None:
    (found,) = composites(
        [minutes(120)],
        PACE,
        aliquots=pulses(series(PULLED, bad=range(40, 60))),
        totals=total(STEADY),
    )
    assert (found.aliquots, found.faults) == (12, ())


def test_a_warm_cabinet_spoils_a_composite_only_where_the_law_gave_a_bound() -> None:
    bound = SamplerProgram(gallons_per_aliquot=Decimal(1000), warmest_deg_c=Decimal(6))
    warm = series([4.0] * 60 + [8.5] + [4.0] * 60)
    assert one(PULLED, program=bound, cabinet=warm).faults == (
        "the cabinet reached 8.5 degC; at most 6 degC is allowed",
    )
    assert one(PULLED, cabinet=warm).warmest_deg_c == Decimal("8.5")
    assert one(PULLED, cabinet=warm).is_sound
    silent = series([4.0] * 121, bad=range(121))
    assert one(PULLED, program=bound, cabinet=silent).faults == (
        "the cabinet's temperature was not read",
    )
    assert one(PULLED, program=bound).is_sound  # the map has no such entry


BOTTLES = [1 + n // 40 for n in range(121)]
FOUR = SamplerProgram(gallons_per_aliquot=Decimal(1000), aliquots_per_bottle=4)


def test_each_bottle_is_a_composite_of_the_aliquots_that_filled_it() -> None:
    bottles = series(BOTTLES)
    found = composites(
        bottle_windows(bottles),
        FOUR,
        aliquots=pulses(series(PULLED)),
        totals=total(STEADY),
        bottles=bottles,
    )
    assert [(each.bottles, each.aliquots, each.due) for each in found] == [
        ((1,), 4, 4),
        ((2,), 4, 4),
        ((3,), 4, 4),
    ]
    assert all(each.is_sound for each in found)
    assert [change.bottle for change in bottle_changes(bottles)] == [2, 3, 4]


def test_a_bottle_that_turns_before_the_next_aliquot_keeps_its_own() -> None:
    early = SamplerProgram(
        gallons_per_aliquot=Decimal(1000), aliquots_per_bottle=4, moves_when_full=False
    )
    turned = series([1 + max(0, n - 1) // 4 for n in PULLED])  # with the fifth aliquot
    found = composites(
        bottle_windows(turned)[:2],
        early,
        aliquots=pulses(series(PULLED)),
        totals=total(STEADY),
        bottles=turned,
    )
    assert [each.aliquots for each in found] == [4, 4]


def test_a_bottle_skipped_or_overfilled_is_a_fault() -> None:
    skipped = one(PULLED, bottles=series([1] * 60 + [3] * 61))
    assert skipped.faults == ("bottle 3 follows bottle 1",)
    jammed = one(PULLED, program=FOUR, bottles=series([1] * 121))
    assert jammed.faults == ("12 aliquots are more than 4 a bottle hold",)


def test_a_count_that_begins_again_ends_a_program_and_its_composite() -> None:
    anew = series([n // 10 if n < 60 else (n - 60) // 10 for n in range(121)])
    aliquots = pulses(anew)
    found = composites(program_windows(aliquots), PACE, aliquots=aliquots, totals=total(STEADY))
    assert [(each.window.start, each.aliquots) for each in found] == [
        (START, 5),
        (START + timedelta(minutes=60), 6),
    ]
    assert all(each.is_sound for each in found)


def test_a_small_count_that_begins_again_loses_no_aliquot() -> None:
    assert sum(step.volume for step in pulses(series([0, 1, 0, 0, 1, 2, 0, 0, 1]))) == 4


def test_a_pulse_counter_rolls_over_at_its_modulus() -> None:
    assert sum(s.volume for s in pulses(series([65_533, 65_535, 1, 2]))) == 5
    assert sum(s.volume for s in pulses(series([9998, 1, 2]), modulus=Decimal(10_000))) == 4


def test_a_total_in_cubic_metres_is_paced_in_gallons() -> None:
    (found,) = composites(
        [minutes(120)],
        SamplerProgram(gallons_per_aliquot=Decimal("264.1720523581484")),
        aliquots=pulses(series(PULLED)),
        totals=total([n / 10 for n in range(121)]),
        total_unit=Unit.M3,
    )
    assert found.due is not None
    assert round(found.due, 9) == 12


FLOWS = st.lists(st.integers(0, 300), min_size=20, max_size=120)


@given(FLOWS, st.integers(100, 2000))
def test_a_sampler_paced_by_the_total_is_sound_whatever_the_flow(flow, pace) -> None:
    gallons = [sum(flow[:n]) for n in range(len(flow) + 1)]
    pulled = [g // pace for g in gallons]
    program = SamplerProgram(gallons_per_aliquot=Decimal(pace))
    (found,) = composites(
        [minutes(len(flow))],
        program,
        aliquots=pulses(series(pulled)),
        totals=total(gallons),
    )
    assert found.aliquots == pulled[-1]
    assert set(found.faults) <= {"no aliquot was taken"}
    assert bool(found.faults) == (pulled[-1] == 0)


@given(FLOWS, st.lists(st.integers(1, 119), max_size=4))
def test_composites_that_tile_the_time_share_out_every_aliquot_and_gallon(flow, cuts) -> None:
    gallons = [sum(flow[:n]) for n in range(len(flow) + 1)]
    edges = sorted({0, len(flow), *(cut for cut in cuts if cut < len(flow))})
    at = [START + timedelta(minutes=edge) for edge in edges]
    found = composites(
        [Window(start=a, end=b) for a, b in zip(at, at[1:], strict=False)],
        PACE,
        aliquots=pulses(series([g // 1000 for g in gallons])),
        totals=total(gallons),
    )
    assert sum(each.aliquots for each in found) == gallons[-1] // 1000
    assert sum(each.gallons or 0 for each in found) == pytest.approx(gallons[-1])


@given(FLOWS, st.data())
def test_missed_pulls_are_never_more_than_were_really_missed(flow, data) -> None:
    gallons = [sum(flow[:n]) for n in range(len(flow) + 1)]
    due = [g // 1000 for g in gallons]
    jam = data.draw(st.integers(0, len(flow)))
    free = data.draw(st.integers(jam, len(flow)))
    lost = due[free] - due[jam]
    pulled = [n if at < jam else max(due[jam], n - lost) for at, n in enumerate(due)]
    (found,) = composites(
        [minutes(len(flow))], PACE, aliquots=pulses(series(pulled)), totals=total(gallons)
    )
    assert sum(pull.aliquots for pull in found.missed) <= lost


def test_the_simulated_manhole_takes_a_sound_composite_every_day() -> None:
    zone = ZoneInfo("America/Chicago")
    profile = Profile(
        seed=7, zone=zone, gallons_per_day=20_000, working_days=7, shift=(7, 17), night_share=0.1,
        rest_share=0.1, ph_mean=7, ph_swing=0.3, temperature_mean=70, temperature_swing=4,
        gallons_per_sample=500, samples_per_bottle=4,
    )  # fmt: skip
    days = [local_day(date(2026, 3, day), zone) for day in (7, 8)]  # the second has 23 hours
    at_us = np.arange(to_us(days[0].start), to_us(days[1].end) + MINUTE_US, MINUTE_US)
    plain = {
        "quality": np.zeros(len(at_us), np.int64),
        "interval_us": np.full(len(at_us), MINUTE_US),
    }
    read = {
        name: Series(at_us=at_us, value=signal(name, profile, events=(), at_us=at_us), **plain)
        for name in (Signal.SAMPLE_COUNT, Signal.TOTAL)
    }
    counts = [
        Count(at_us=int(at), value=Decimal(str(round(value, 3))))
        for at, value in zip(at_us, read[Signal.TOTAL].value, strict=True)
    ]
    found = composites(
        days,
        SamplerProgram(gallons_per_aliquot=Decimal(500)),
        aliquots=pulses(read[Signal.SAMPLE_COUNT]),
        totals=tally(counts, Counter(modulus=Decimal(10**9))).steps,
    )
    assert [each.faults for each in found] == [(), ()]
    assert all(each.aliquots >= 36 for each in found)
