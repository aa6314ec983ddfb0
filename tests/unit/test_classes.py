"""Classes of users by the figures: what counts, and which bounds count when touched."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from compliance.errors import InputError
from compliance.judging.classes import (
    Discharge,
    Share,
    hardly_significant,
    middle_tier,
    significant,
)


@pytest.mark.parametrize(("gpd", "is_one"), [("24999.9", False), ("25000", True)])
def test_d25_process_water_alone_makes_significant(gpd: str, is_one: bool) -> None:
    of = Discharge(
        process_gpd=Decimal(gpd), sanitary_gpd=Decimal(3000), cooling_gpd=Decimal(1500),
        blowdown_gpd=Decimal(500),
    )  # fmt: skip
    assert significant(of).points_to is is_one


@pytest.mark.parametrize(("used", "is_one"), [("34.99", False), ("35", True)])
def test_five_percent_of_a_capacity_makes_significant(used: str, is_one: bool) -> None:
    share = Share(name="lb/day of BOD₅", used=Decimal(used), capacity=Decimal(700))
    found = significant(Discharge(process_gpd=Decimal(1)), [share])
    assert found.points_to is is_one
    assert found.why[-1] == (
        f"{used} of 700 lb/day of BOD₅, {'at or over' if is_one else 'under'} 5 %"
    )


def test_a_categorical_user_is_significant_however_little_it_discharges() -> None:
    assert significant(Discharge(process_gpd=Decimal(0)), is_categorical=True).points_to


@pytest.mark.parametrize(
    ("gpd", "complied", "certified", "concentrate", "may_be"),
    [
        (100, True, True, False, True), (101, True, True, False, False),
        (5, False, True, False, False), (5, True, False, False, False),
        (5, True, True, True, False),
    ],
)  # fmt: skip
def test_hardly_significant_needs_all_of_it(
    gpd: int, complied: bool, certified: bool, concentrate: bool, may_be: bool
) -> None:
    found = hardly_significant(
        Decimal(gpd), complied=complied, certified=certified, untreated_concentrate=concentrate
    )
    assert found.points_to is may_be
    assert len(found.why) == 4


def test_d27_the_middle_tier_has_three_ceilings() -> None:
    found = middle_tier(
        design_mgd=Decimal("0.5"),
        design_organic_lb_day=Decimal(1400),
        headworks_lb_day=[("zinc", Decimal(2))],
    )
    assert found.flow_gpd == 50
    assert found.organic_lb_day == Fraction("0.14")
    assert found.pollutants_lb_day == (("zinc", Fraction("0.0002")),)
    large = middle_tier(design_mgd=Decimal(80))
    assert large.flow_gpd == 5000
    assert large.organic_lb_day is None


def test_a_plant_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="design flow is 0"):
        middle_tier(design_mgd=Decimal(0))
    with pytest.raises(InputError, match="dry-weather flow is 0"):
        share = Share(name="dry-weather flow", used=Decimal(1), capacity=Decimal(0))
        significant(Discharge(process_gpd=Decimal(1)), [share])
