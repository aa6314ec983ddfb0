"""A thinned total: fewer readings, the same sum and the same events."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.model.counting import counts, tally
from compliance.model.readings import Series
from compliance.model.thinning import thinned
from compliance.model.totals import Counter, Step, StepKind

SECOND_US = 1_000_000


def series(values: list[float], *, every_s: int = 2) -> Series:
    length = len(values)
    return Series(
        at_us=np.arange(length, dtype=np.int64) * every_s * SECOND_US,
        value=np.array(values, np.float64),
        quality=np.zeros(length, np.int64),
        interval_us=np.full(length, every_s * SECOND_US),
    )


def events(steps: tuple[Step, ...], *, suspect: bool) -> set[tuple[str, int, Decimal]]:
    return {
        (step.kind.value, step.at_us, step.volume)
        for step in steps
        if (step.kind is StepKind.SUSPECT) is suspect
    }


def same(values: list[float], counter: Counter) -> int:
    whole = series(values)
    few = thinned(whole, counter)
    every = tally(counts(whole, resolution="1"), counter)
    found = tally(counts(few, resolution="1"), counter)
    assert found.total == every.total
    assert events(found.events, suspect=False) == events(every.events, suspect=False)
    thinned_out, all_of_them = (events(one.events, suspect=True) for one in (found, every))
    assert thinned_out <= all_of_them
    assert bool(thinned_out) == bool(all_of_them)
    return len(few)


def test_a_day_of_a_steady_total_needs_two_readings_a_minute() -> None:
    kept = same([float(n) for n in range(43_200)], Counter(modulus=Decimal(10**6)))
    assert kept <= 2 * 1440 + 8


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["rise", "rise", "rise", "rise", "zero", "spike", "dip", "leap"]),
            st.integers(0, 40),
        ),
        max_size=60,
    ),
    st.sampled_from([None, Decimal(1), Decimal(500)]),
    st.sampled_from([1000, 10**6]),
)
def test_thinning_changes_neither_sum_nor_events(
    story: list[tuple[str, int]], most: Decimal | None, modulus: int
) -> None:
    value, values = 100, []
    for what, number in story:
        for _ in range(20):
            value = (value + 2) % modulus
            values.append(float(value))
        if what == "zero":
            value = number
        elif what == "leap":
            value = (value + 20 * number) % modulus
        elif what in ("spike", "dip"):
            odd = value + 50 * number if what == "spike" else value - number
            values.append(float(max(0, odd)))
        values.append(float(value))
    same(values, Counter(modulus=Decimal(modulus), max_per_second=most))


@pytest.mark.parametrize("length", [0, 1, 5])
def test_a_few_readings_all_stay(length: int) -> None:
    assert len(thinned(series([1.0] * length), Counter(modulus=Decimal(10)))) == length
