"""Pounds, flows and limits written as one another: exact, and never of what has no mass."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.errors import InputError, UnitMismatch
from compliance.judging.loading import (
    concentration_limit,
    converted,
    day_mass,
    days_of,
    greatest_flow,
    is_weighed,
    mass,
    mean_flow,
    month_mass,
    per_day,
    refuse_mass,
    strength_of,
)
from compliance.model.parameters import Parameter
from compliance.model.periods import Window
from compliance.model.units import Unit, dimension

FACTOR = Decimal("8.34")
ZONE = ZoneInfo("America/Chicago")
NUMBER = st.decimals(0, 100_000, places=4)
POSITIVE = st.decimals(Decimal("0.0001"), 100_000, places=4)
UNITS = [(one, two) for one in Unit for two in Unit if dimension(one) == dimension(two)]


def test_the_working_of_a_mass_can_be_followed() -> None:
    found = mass(Decimal(150), Decimal(1_500_000), pound_factor=FACTOR)
    assert found.working == ("150.00 mg/L × 1.5 million gallons × 8.34 = 1876.50 lb",)
    assert found.value == Fraction("1876.5")


def test_micrograms_and_cubic_metres_weigh_the_same() -> None:
    cubic = converted(1_000_000, Unit.GAL, Unit.M3)
    found = mass(
        Decimal(15000), cubic, pound_factor=FACTOR, strength_unit=Unit.UG_L, volume_unit=Unit.M3
    )
    assert found.value == Fraction("125.1")


@given(NUMBER, st.lists(NUMBER, min_size=1, max_size=8))
def test_mass_is_strength_times_volume_however_it_is_split(
    strength: Decimal, volumes: list[Decimal]
) -> None:
    parts = [mass(strength, volume, pound_factor=FACTOR) for volume in volumes]
    whole = mass(strength, sum((Fraction(v) for v in volumes), Fraction(0)), pound_factor=FACTOR)
    assert day_mass(parts).value == whole.value


@given(NUMBER, st.sampled_from(UNITS))
def test_units_there_and_back(value: Decimal, units: tuple[Unit, Unit]) -> None:
    one, two = units
    assert converted(converted(value, one, two), two, one) == Fraction(value)


@given(POSITIVE, POSITIVE)
def test_a_strength_of_a_load_and_back(lb_day: Decimal, mgd: Decimal) -> None:
    mg_l = strength_of(lb_day, mgd, pound_factor=FACTOR)
    back = mass(mg_l, Fraction(mgd) * 1_000_000, pound_factor=FACTOR)
    assert back.value == Fraction(lb_day)


@pytest.mark.parametrize("parameter", [Parameter.PH, Parameter.TEMPERATURE, Parameter.FLOW])
def test_what_has_no_mass_is_refused(parameter: Parameter) -> None:
    assert not is_weighed(parameter)
    with pytest.raises(InputError, match="is no mass in water"):
        refuse_mass(parameter)


@pytest.mark.parametrize(
    ("start", "end", "days"),
    [
        ((5, 22), (6, 6), 1),  # a night's shift
        ((5, 8), (6, 8), 1),
        ((5, 8), (7, 8), 2),
        ((5, 8), (5, 16), 1),
        ((7, 8), (8, 8), 1),  # 23 hours on 8 March 2026
    ],
)
def test_a_composite_stands_for_its_days_and_is_never_stretched(
    start: tuple[int, int], end: tuple[int, int], days: int
) -> None:
    window = Window(
        start=datetime(2026, 3, *start, tzinfo=ZONE).astimezone(UTC),
        end=datetime(2026, 3, *end, tzinfo=ZONE).astimezone(UTC),
    )
    assert days_of(window, ZONE) == days
    found = mass(Decimal(2), Decimal(1_000_000), pound_factor=FACTOR)
    assert per_day(found, days).value == Fraction("16.68") / days
    assert per_day(found, days).unit is Unit.LB_DAY


def test_a_month_without_one_days_record_has_no_mass() -> None:
    days = [(date(2026, 3, n), Decimal(1000)) for n in range(1, 32)]
    found = month_mass(Decimal(1), days, pound_factor=FACTOR)
    assert found.value == Fraction("0.031") * Fraction(FACTOR)
    with pytest.raises(InputError, match="2026-03-31 has no record"):
        month_mass(Decimal(1), [*days[:30], (date(2026, 3, 31), None)], pound_factor=FACTOR)


def test_what_cannot_be_is_refused_in_a_sentence() -> None:
    pounds = mass(1, 1, pound_factor=FACTOR)
    for act, said in (
        (lambda: mass(Decimal(-1), 1, pound_factor=FACTOR), "strength is -1.00 mg/L"),
        (lambda: mass(1, Decimal(-1), pound_factor=FACTOR), "volume is"),
        (lambda: per_day(pounds, 0), "over 0 days"),
        (lambda: per_day(per_day(pounds, 1), 1), "found lb/day"),
        (lambda: day_mass([]), "no part of the day"),
        (lambda: strength_of(1, 0, pound_factor=FACTOR), "the flow is 0 MGD"),
        (lambda: concentration_limit(1, 1, pound_factor=FACTOR, kept_back=1), "the reserve is 1"),
        (lambda: mean_flow(1, 0), "the time is 0 s"),
        (lambda: greatest_flow([(0, 1), (60, 1)], seconds=90), "of 90 s cannot"),
    ):
        with pytest.raises(InputError, match=said):
            act()
    with pytest.raises(UnitMismatch):
        mass(1, 1, pound_factor=FACTOR, strength_unit=Unit.LB)


def test_a_reserve_is_kept_back_first() -> None:
    found = concentration_limit(
        Decimal("0.0834"), Decimal("0.01"), pound_factor=FACTOR, kept_back=Decimal("0.1")
    )
    assert found.value == Fraction("0.9")
    assert "less 10.00 %" in found.working[0]


def test_the_greatest_average_flow_is_over_whole_windows_only() -> None:
    minutes = [(n * 60, Decimal(gallons)) for n, gallons in enumerate([10, 50, 30, 10])]
    found = greatest_flow(minutes, seconds=120)
    assert found is not None and found.value == 40
    with_hole = [minutes[0], minutes[1], (240, Decimal(100)), (300, Decimal(10))]
    held = greatest_flow(with_hole, seconds=120)
    assert held is not None and held.value == 55
    assert greatest_flow(minutes[:2], seconds=600) is None
    assert greatest_flow([], seconds=60) is None
    assert mean_flow(150, 60, Unit.GPD).value == 216_000
