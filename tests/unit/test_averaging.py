"""Averages: what is below detection, which days belong together, and what is never averaged."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.errors import InputError, InsufficientData, UnitMismatch
from compliance.judging.averaging import (
    Average,
    AveragePolicy,
    DayRule,
    Found,
    NonDetects,
    average,
    calendar_month,
    day_values,
    four_monitoring_days,
    judge_average,
    thirty_days,
)
from compliance.judging.results import Outcome
from compliance.model.findings import Side
from compliance.model.parameters import Parameter
from compliance.model.units import Unit

FIRST = date(2026, 3, 1)
RESULTS = st.lists(
    st.tuples(
        st.integers(0, 60),
        st.decimals(0, 1000, places=3),
        st.sampled_from(["", "", "<", ">"]),
    ),
    min_size=1,
    max_size=12,
)


def found(text: str, day: int = 0, unit: Unit = Unit.MG_L, **more: Any) -> Found:
    """A result such as ``<5.0`` so many days after the first."""
    qualifier = text[0] if text[0] in "<>" else ""
    number = text.lstrip("<>")
    return Found(
        day=FIRST + timedelta(days=day), value=Decimal(number), qualifier=qualifier,
        written=number, unit=unit, **more,
    )  # fmt: skip


def mean(*texts: str, policy: AveragePolicy | None = None, **more: Any) -> Average:
    """The mean of results on days that follow one another."""
    used = policy or AveragePolicy()
    values = day_values(
        Parameter.ZINC, [found(text, n, **more) for n, text in enumerate(texts)], Unit.MG_L, used
    )
    return average(Parameter.ZINC, values, Unit.MG_L, policy=used)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (NonDetects.ZERO, "2.85"), (NonDetects.HALF, "4.725"), (NonDetects.FULL, "6.6"),
        (NonDetects.HALF_MDL, "3.225"),
    ],
)  # fmt: skip
def test_cmp_06_what_is_below_detection_counts_by_a_rule_that_is_printed(
    rule: NonDetects, expected: str
) -> None:
    policy = AveragePolicy(non_detects=rule, adopted_by="Resolution 7 of 2026")
    of = mean("11.4", "<5.0", "<5.0", "<5.0", policy=policy, mdl=Decimal("1.0"))
    assert of.value == Fraction(expected)
    assert of.working[-1] == f"3 below detection {rule.shown}: Resolution 7 of 2026"


def test_cmp_06_by_default_as_zero_and_not_adopted() -> None:
    of = mean("11.4", "<5.0", "<5.0", "<5.0")
    assert of.value == Fraction("2.85")
    assert of.working == (
        "4 results on 4 monitored days, mean 2.85 mg/L",
        "(11.40 + 0.00 + 0.00 + 0.00) ÷ 4 = 2.85 mg/L",
        "3 below detection counted as zero: the program's setting, not adopted",
    )


@pytest.mark.parametrize(
    ("texts", "value", "qualifier"),
    [
        (("9", "<5", "1"), "1", ""),
        (("9", "<5", "<5"), "5", "<"),
        (("9", "<5", "7", "<4"), "5", "<"),
        (("9", "1", "7", "<4"), "4", ""),
        (("2", "4"), "3", ""),
    ],
)
def test_a_median_ranks_what_is_below_detection_lowest(
    texts: tuple[str, ...], value: str, qualifier: str
) -> None:
    of = mean(*texts, policy=AveragePolicy(non_detects=NonDetects.MEDIAN))
    assert (of.value, of.qualifier) == (Fraction(value), qualifier)


def test_a_rule_that_halves_a_detection_limit_asks_for_it() -> None:
    with pytest.raises(InsufficientData, match="has no detection limit"):
        mean("<5", policy=AveragePolicy(non_detects=NonDetects.HALF_MDL))


@pytest.mark.parametrize(
    ("texts", "limit", "outcome"),
    [
        (("<0.10",), "0.05", Outcome.NOT_SENSITIVE),  # CMP-07
        (("<0.10",), "0.10", Outcome.COMPLIES),
        (("9", "<0.10"), "0.05", Outcome.EXCEEDS),
        (("1", "1", "<26"), "25", Outcome.COMPLIES),  # even in full it is 9.33
        (("1", ">4"), "5", Outcome.SHOWS_NOTHING),
        ((">10",), "10", Outcome.EXCEEDS),
        (("10",), "10", Outcome.COMPLIES),
        (("10.0001",), "10", Outcome.EXCEEDS),
    ],
)
def test_cmp_07_a_method_that_cannot_see_the_limit_shows_neither(
    texts: tuple[str, ...], limit: str, outcome: Outcome
) -> None:
    judged = judge_average(mean(*texts), at_least=None, at_most=Decimal(limit))
    assert judged.outcome is outcome


@pytest.mark.parametrize(
    ("texts", "outcome", "side"),
    [
        (("4",), Outcome.EXCEEDS, Side.BELOW), (("5",), Outcome.COMPLIES, None),
        (("<4",), Outcome.EXCEEDS, Side.BELOW),
        (("<6",), Outcome.SHOWS_NOTHING, None), ((">4",), Outcome.SHOWS_NOTHING, None),
        (("9", "9"), Outcome.EXCEEDS, Side.ABOVE),
    ],
)  # fmt: skip
def test_an_average_has_two_sides(
    texts: tuple[str, ...], outcome: Outcome, side: Side | None
) -> None:
    judged = judge_average(mean(*texts), at_least=Decimal(5), at_most=Decimal(8))
    assert (judged.outcome, judged.side) == (outcome, side)


def test_a_mean_over_the_limit_never_prints_as_the_limit() -> None:
    judged = judge_average(mean("1.4801", "1.48"), at_least=None, at_most=Decimal("1.48"))
    assert judged.reason == "Zinc, average 1.48005 mg/L is over the limit of 1.48 mg/L"


@pytest.mark.parametrize("parameter", [Parameter.PH, Parameter.TEMPERATURE])
def test_ph_and_temperature_are_refused(parameter: Parameter) -> None:
    with pytest.raises(InputError, match="is never averaged"):
        day_values(parameter, [], Unit.SU)
    with pytest.raises(InputError, match="is never averaged"):
        average(parameter, (), Unit.SU)


def test_nothing_measured_is_no_average() -> None:
    with pytest.raises(InsufficientData, match="Zinc: nothing was measured in March"):
        average(Parameter.ZINC, (), Unit.MG_L, over="March")


def test_another_kind_of_unit_is_refused() -> None:
    with pytest.raises(UnitMismatch):
        mean("5", unit=Unit.LB)


def test_a_day_of_several_results_is_one_day_by_its_rule() -> None:
    of = [found("1"), found("3"), found("6", 1)]
    for rule, day, total in ((DayRule.MEAN, 2, 4), (DayRule.GREATEST, 3, Fraction(9, 2))):
        policy = AveragePolicy(day=rule)
        values = day_values(Parameter.ZINC, of, Unit.MG_L, policy)
        assert values[0].value == day
        averaged = average(Parameter.ZINC, values, Unit.MG_L, policy=policy)
        assert averaged.value == total
        assert averaged.working[-1] == f"a day of several results counts by their {rule.value}"


def test_micrograms_are_averaged_in_the_unit_of_the_limit() -> None:
    assert mean("1500", "500", unit=Unit.UG_L).value == 1


def values(*days: int) -> Any:
    return day_values(Parameter.ZINC, [found("1", day) for day in days], Unit.MG_L)


def ordinals(run: Any) -> list[int]:
    return [(one.day - FIRST).days for one in run]


def test_a_month_ends_with_its_last_day() -> None:
    assert ordinals(calendar_month(values(-1, 0, 30, 31), FIRST)) == [0, 30]


def test_four_monitoring_days_follow_one_another_whatever_lies_between() -> None:
    runs = four_monitoring_days(values(0, 10, 11, 50, 51))
    assert [ordinals(run) for run in runs] == [[0, 10, 11, 50], [10, 11, 50, 51]]
    assert four_monitoring_days(values(0, 1, 2)) == ()


def test_thirty_days_are_thirty() -> None:
    runs = thirty_days(values(0, 29, 30))
    assert [ordinals(run) for run in runs] == [[0], [0, 29], [29, 30]]


def made(rows: list[tuple[int, Decimal, str]], policy: AveragePolicy) -> Average:
    of = [found(f"{mark}{value}", day) for day, value, mark in rows]
    return average(
        Parameter.ZINC, day_values(Parameter.ZINC, of, Unit.MG_L, policy), Unit.MG_L, policy=policy
    )


@given(RESULTS, st.sampled_from([n for n in NonDetects if n is not NonDetects.HALF_MDL]),
       st.decimals(0, 1000, places=3), st.decimals(0, 1000, places=3))  # fmt: skip
def test_a_stricter_limit_never_finds_less(
    rows: list[tuple[int, Decimal, str]], rule: NonDetects, one: Decimal, two: Decimal
) -> None:
    of = made(rows, AveragePolicy(non_detects=rule))
    loose, strict = max(one, two), min(one, two)
    if judge_average(of, at_least=None, at_most=loose).outcome is Outcome.EXCEEDS:
        assert judge_average(of, at_least=None, at_most=strict).outcome is Outcome.EXCEEDS
    if judge_average(of, at_least=None, at_most=strict).outcome is Outcome.COMPLIES:
        assert judge_average(of, at_least=None, at_most=loose).outcome is Outcome.COMPLIES


@given(RESULTS, st.sampled_from([NonDetects.ZERO, NonDetects.FULL, NonDetects.MEDIAN]), st.data())
def test_the_order_of_results_does_not_matter(
    rows: list[tuple[int, Decimal, str]], rule: NonDetects, data: st.DataObject
) -> None:
    policy = AveragePolicy(non_detects=rule)
    other = data.draw(st.permutations(rows))
    assert made(rows, policy) == made(other, policy)


@given(RESULTS)
def test_zero_favours_the_discharger_over_half_and_half_over_full(
    rows: list[tuple[int, Decimal, str]],
) -> None:
    zero, half, full = (
        made(rows, AveragePolicy(non_detects=rule)).value
        for rule in (NonDetects.ZERO, NonDetects.HALF, NonDetects.FULL)
    )
    assert zero <= half <= full == made(rows, AveragePolicy()).most


def test_equal_results_of_a_day_are_told_apart_by_nothing() -> None:
    of = [found("1", name="b"), found("2", name="a"), found("2", name="b")]
    assert len({day_values(Parameter.ZINC, each, Unit.MG_L) for each in permutations(of)}) == 1
