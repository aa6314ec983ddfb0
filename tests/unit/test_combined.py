"""Combined streams: both limits, both forms, and what the formula refuses."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.errors import InputError
from compliance.judging.combined import (
    Alternative,
    Combined,
    Form,
    MassConditions,
    Stream,
    StreamKind,
    combined_limits,
    equivalent_mass,
    mass_per_product,
    production_mass,
    production_strength,
    weighted_mean,
)
from compliance.model.parameters import Parameter
from compliance.model.units import Unit

FACTOR = Decimal("8.34")
FLOW = st.integers(1, 100_000)
LIMIT = st.decimals(Decimal("0.01"), 100, places=2)


def regulated(gpd: int, daily: object = "2.61", mean: object = "1.48", **more: Any) -> Stream:
    return Stream(
        name=more.pop("name", "rinse"), kind=StreamKind.REGULATED, gpd=gpd, days=30,
        daily_max=None if daily is None else Decimal(str(daily)),
        average=None if mean is None else Decimal(str(mean)), **more,
    )  # fmt: skip


def other(kind: StreamKind, gpd: int) -> Stream:
    return Stream(name=kind.value, kind=kind, gpd=gpd, days=30)


def limits(*streams: Stream, **more: Any) -> Combined:
    return combined_limits(Parameter.ZINC, streams, **more)


def value(of: Alternative | None) -> Fraction:
    assert of is not None
    return of.value


def test_the_daily_maximum_and_the_average_are_both_combined() -> None:
    found = limits(regulated(20_000), other(StreamKind.DILUTE, 5_000))
    assert (value(found.daily_max), value(found.average)) == (Fraction("2.088"), Fraction("1.184"))
    assert found.daily_max is not None
    assert found.daily_max.working == (
        "2.61 mg/L, weighted by regulated flow, × (25000.00 gpd − 5000.00 gpd dilute) ÷ "
        "25000.00 gpd = 2.09 mg/L",
    )


def test_unregulated_process_water_gets_the_limit_of_the_regulated() -> None:
    """To write it as dilute would cut the limit in four."""
    mine = regulated(5_000)
    assert value(limits(mine, other(StreamKind.UNREGULATED, 15_000)).daily_max) == Fraction("2.61")
    dilute = limits(mine, other(StreamKind.DILUTE, 15_000))
    assert value(dilute.daily_max) == Fraction("2.61") / 4


def test_pounds_are_combined_by_the_mass_form() -> None:
    streams = (
        regulated(10_000, "0.20", "0.10"), regulated(10_000, "0.10", "0.06"),
        other(StreamKind.UNREGULATED, 20_000), other(StreamKind.DILUTE, 10_000),
    )  # fmt: skip
    found = limits(*streams, form=Form.MASS)
    assert (value(found.daily_max), value(found.average)) == (Fraction("0.6"), Fraction("0.32"))
    assert found.daily_max is not None and found.daily_max.unit is Unit.LB_DAY


def test_a_mass_limit_is_laid_beside_the_detection_limit_as_a_strength() -> None:
    streams = (regulated(1_000, "0.01", None), other(StreamKind.DILUTE, 999_000))
    found = limits(
        *streams, form=Form.MASS, detection=Decimal("0.01"), pound_factor=FACTOR
    ).daily_max  # fmt: skip
    assert found is not None and not found.usable
    seen = limits(
        *streams, form=Form.MASS, detection=Decimal("0.001"), pound_factor=FACTOR
    ).daily_max  # fmt: skip
    assert seen is not None and seen.usable
    with pytest.raises(InputError, match="no pound factor"):
        limits(*streams, form=Form.MASS, detection=Decimal("0.01"))


def test_a_limit_at_the_detection_limit_is_usable() -> None:
    found = limits(regulated(100), detection=Decimal("2.61")).daily_max
    assert found is not None and found.usable and found.why == ""


@pytest.mark.parametrize(
    ("streams", "said"),
    [
        ((regulated(0),), "no regulated stream flows"),
        ((other(StreamKind.DILUTE, 5),), "no regulated stream flows"),
        ((regulated(-1),), "its flow is -1 gpd"),
        ((replace(regulated(5), days=29),), "averaged over 29 days"),
        ((replace(other(StreamKind.DILUTE, 5), average=Decimal(1)),), "is dilute and has a stand"),
        ((regulated(5, None, None),), "is regulated and has no standard"),
        ((regulated(5, "-1"),), "a standard is below 0"),
        ((regulated(5), regulated(5, mean=None, name="etch")), "stream etch lacks a standard"),
    ],
)
def test_a_stream_that_cannot_be_is_refused_by_its_name(
    streams: tuple[Stream, ...], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        limits(*streams)


@pytest.mark.parametrize("parameter", [Parameter.PH, Parameter.TEMPERATURE])
def test_ph_and_temperature_are_never_combined_nor_weighed(parameter: Parameter) -> None:
    shown = MassConditions(saves_water="a", treats_enough="b", measures_flow="c",
                           runs_steadily="d", complied_before="e")  # fmt: skip
    for act in (
        lambda: combined_limits(parameter, [regulated(5)]),
        lambda: equivalent_mass(parameter, 1, 1, pound_factor=FACTOR, conditions=shown),
        lambda: production_mass(parameter, 1, 1),
        lambda: production_strength(parameter, 1, 1, pound_factor=FACTOR),
    ):
        with pytest.raises(InputError, match="is no mass in water"):
            act()


@given(LIMIT, FLOW, FLOW, FLOW)
def test_dilute_water_never_raises_a_limit_and_other_water_never_changes_it(
    limit: Decimal, mine: int, dilute: int, unregulated: int
) -> None:
    alone = value(limits(regulated(mine, limit)).daily_max)
    assert alone == Fraction(limit)
    beside = limits(regulated(mine, limit), other(StreamKind.UNREGULATED, unregulated))
    assert value(beside.daily_max) == alone
    assert value(limits(regulated(mine, limit), other(StreamKind.DILUTE, dilute)).daily_max) < alone


@given(st.lists(st.tuples(LIMIT, FLOW), min_size=1, max_size=6), FLOW, st.data())
def test_the_order_of_streams_does_not_matter_nor_how_one_is_split(
    parts: list[tuple[Decimal, int]], dilute: int, data: st.DataObject
) -> None:
    streams = [regulated(flow, limit) for limit, flow in parts]
    found = limits(*streams, other(StreamKind.DILUTE, dilute))
    other_order = limits(other(StreamKind.DILUTE, dilute), *data.draw(st.permutations(streams)))
    assert value(found.daily_max) == value(other_order.daily_max)
    halves = [replace(s, gpd=Fraction(Fraction(s.gpd), 2)) for s in streams for _ in range(2)]
    split = limits(*halves, other(StreamKind.DILUTE, dilute))
    assert value(found.daily_max) == value(split.daily_max)


@given(st.lists(st.tuples(LIMIT, FLOW), min_size=1, max_size=6))
def test_a_weighted_mean_lies_between_its_parts(parts: list[tuple[Decimal, int]]) -> None:
    found = weighted_mean(parts)
    assert min(Fraction(c) for c, _ in parts) <= found <= max(Fraction(c) for c, _ in parts)


def test_nothing_that_flows_has_no_mean() -> None:
    for parts in ([], [(1, 0)], [(1, -1), (1, 2)]):
        with pytest.raises(InputError, match="not all 0"):
            weighted_mean(parts)


def test_a_limit_in_pounds_needs_all_five_conditions() -> None:
    shown = MassConditions(
        saves_water="counterflow rinses", treats_enough="hydroxide treatment", measures_flow=" ",
        runs_steadily="two shifts all year", complied_before="2023 to 2025",
    )  # fmt: skip
    found = equivalent_mass(
        Parameter.ZINC, Decimal("2.61"), 100_000, pound_factor=FACTOR, conditions=shown
    )
    assert not found.usable
    assert found.why == "not shown: a continuous meter measures the effluent"
    metered = replace(shown, measures_flow="MH-1, magnetic")
    assert equivalent_mass(
        Parameter.ZINC, Decimal("2.61"), 100_000, pound_factor=FACTOR, conditions=metered
    ).usable
    assert found.value == Fraction("2.17674")


def test_production_gives_pounds_and_their_strength() -> None:
    pounds = production_mass(Parameter.ZINC, Decimal("0.05"), 20_000)
    assert pounds.value == 1
    assert pounds.unit is Unit.LB_DAY
    found = production_strength(Parameter.ZINC, pounds.value, 100_000, pound_factor=FACTOR)
    assert found.value == 1 / (Fraction("0.1") * Fraction(FACTOR))
    with pytest.raises(InputError, match="production is 0"):
        production_mass(Parameter.ZINC, 1, 0)
    with pytest.raises(InputError, match="a unit weighs 0"):
        mass_per_product(1, 1, pound_factor=FACTOR, thousand_lb_per_unit=0)
