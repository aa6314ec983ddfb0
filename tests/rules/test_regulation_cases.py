"""Cases of the regulation by id: mass, averages, combined streams, and what was misprinted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from compliance.billing.lines import bill
from compliance.billing.quantities import metered_water
from compliance.billing.strength import demand
from compliance.billing.tariffs import parse
from compliance.judging.averaging import Found, average, day_values, judge_average
from compliance.judging.combined import (
    Stream,
    StreamKind,
    combined_limits,
    mass_per_product,
    weighted_mean,
)
from compliance.judging.loading import (
    aliquots,
    by_factor,
    concentration_limit,
    hours_to_pass,
    mass,
)
from compliance.judging.results import Outcome
from compliance.judging.sustained import Allowance, allowed, sustained
from compliance.model.billing import Category, NormalStrength, Strength, Usage
from compliance.model.findings import Excursion, Side
from compliance.model.parameters import Parameter
from compliance.model.periods import Period, to_us
from compliance.model.readings import Series
from compliance.model.units import Unit
from compliance.rules.book import find
from compliance.rules.schema import AllowanceRule

TESTS = Path(__file__).parents[1]
NAMED = re.compile(r"^ *(?:async )?def test(?:_case)?((?:_[pd]\d\d)+)_", re.MULTILINE)
ZONE = ZoneInfo("America/Chicago")
MINUTE = 60_000_000
Case = Callable[[str], tuple[Mapping[str, Any], Mapping[str, Any]]]


@pytest.fixture
def case(shared: Path) -> Case:
    """A case by its id: what is given and what is expected; numbers as they are written."""
    text = (shared / "cases" / "regulation.json").read_text()
    cases = {one["id"]: one for one in json.loads(text, parse_float=Decimal)}
    return lambda id: (cases[id]["inputs"], cases[id]["expected"])


def near(found: Fraction | Decimal, expected: Any, within: str) -> bool:
    return abs(Fraction(found) - Fraction(expected)) <= Fraction(within)


def test_every_case_of_the_regulation_has_a_test_by_its_id(shared: Path) -> None:
    named = {
        id.upper()
        for path in TESTS.rglob("test_*.py")
        for ids in NAMED.findall(path.read_text())
        for id in ids.strip("_").split("_")
    }
    cases = json.loads((shared / "cases" / "regulation.json").read_text())
    assert [one["id"] for one in cases if one["id"] not in named] == []


# -- surcharges


def surcharge(given: Mapping[str, Any], rate_tss: Any) -> Decimal:
    """The published city's surcharge of a month, by a tariff of its two charged parameters."""
    excess = "\n".join(
        f"  - {{kind: strength_excess, code: {code}, description: Surcharge, parameter: {name}, "
        f'per_lb: "{rate}"}}'
        for code, name, rate in (
            ("bod", "bod5", given["rate_BOD_per_lb"]),
            ("tss", "tss", rate_tss),
        )
    )
    tariff = parse(
        "tariff: a\ncity: a\neffective: 2020-01-01\nsource: a published page\nadopted_by: null\n"
        f'pound_factor: "{given["factor"]}"\nrounding: {{stage: line, mode: half_up, places: 2}}\n'
        "due: {days: 30, counted_from: bill_date, roll: none, citation: a page}\nlines:\n" + excess,
        "a.yaml",
    )
    strengths = {Parameter.BOD5: given["BOD_mg_L"], Parameter.TSS: given["TSS_mg_L"]}
    normal = {Parameter.BOD5: given["threshold_BOD"], Parameter.TSS: given["threshold_TSS"]}
    usage = Usage(
        period=Period(start=date(2026, 1, 1), end=date(2026, 2, 1)),
        category=Category.C,
        meter_size='2"',
        volume=metered_water(given["volume_MG_month"] * 1_000_000, reads=None),
        strengths={p: Strength(mg_l=Decimal(v), working=()) for p, v in strengths.items()},
    )
    made = bill(
        usage, tariff,
        {p: NormalStrength(mg_l=Decimal(v), citation="a page") for p, v in normal.items()},
    )  # fmt: skip
    assert {line.code: line.amount for line in made.lines}["tss"] == 0  # no credit below it
    return made.total


@pytest.mark.parametrize("id", ["P01", "P03"])
def test_p01_p03_a_month_by_bod_since_cod_is_not_far_over_it(case: Case, id: str) -> None:
    given, expected = case(id)
    bod, cod = Decimal(given["BOD_mg_L"]), Decimal(given["COD_mg_L"])
    assert demand(bod, cod, switch_at=given["cod_bod_switch_ratio"]) is Parameter.BOD5
    assert near(surcharge(given, given["rate_TSS_per_lb"]), expected["surcharge_usd"], "0.01")


def test_p01_touching_the_ratio_keeps_bod() -> None:
    switch = Decimal("2.25")
    assert demand(Decimal(400), Decimal(900), switch_at=switch) is Parameter.BOD5
    assert demand(Decimal(400), Decimal("900.1"), switch_at=switch) is Parameter.COD


# -- mass


@pytest.mark.parametrize(
    ("id", "within"), [("P05", "0.005"), ("P07", "0.005"), ("P09", "0.5"), ("P11", "0.005")]
)
def test_p05_p07_p09_p11_pounds_of_a_strength_and_a_flow(case: Case, id: str, within: str) -> None:
    given, expected = case(id)
    found = mass(
        given["conc_mg_L"], given["flow_MGD"] * 1_000_000, pound_factor=given["factor"]
    )  # fmt: skip
    assert near(found.value, expected["load_lb_day"], within)
    assert found.unit is Unit.LB


@pytest.mark.parametrize("id", ["P13", "P15", "P17"])
def test_p13_p15_p17_pounds_allowed_become_a_strength(case: Case, id: str) -> None:
    given, expected = case(id)
    found = concentration_limit(
        given["max_allowable_lb_day"],
        given["industry_flow_MGD"],
        pound_factor=given["factor"],
        kept_back=given["safety_factor"],
    )
    assert near(found.value, expected["allowable_mg_L"], "0.001")


def test_p19_a_standard_in_mg_l_as_pounds_of_product(case: Case) -> None:
    given, expected = case("P19")
    found = mass_per_product(
        given["standard_mg_L"],
        given["flow_kgal_per_short_ton"],
        pound_factor=given["factor_lb_per_kgal_per_mg_L"] * 1000,
        thousand_lb_per_unit=given["thousand_lb_per_short_ton"],
    )
    printed = Fraction(expected["mass_limit_lb_per_1000_lb_product"])
    assert abs(found - printed) <= printed * Fraction("0.02")


def test_p21_aliquots_in_proportion_to_flow(case: Case) -> None:
    given, expected = case("P21")
    found = aliquots(given["flows_gpd"], given["composite_volume_mL"])
    assert found == tuple(expected["aliquots_mL"])


def test_p31_how_long_a_volume_takes(case: Case) -> None:
    given, expected = case("P31")
    assert near(hours_to_pass(given["volume_gal"], given["rate_gpm"]), expected["hours"], "0.05")


def test_p33_a_loading_factor_holds_8_34_already(case: Case) -> None:
    given, expected = case("P33")
    found = by_factor(given["loading_factor_lb_per_MG"], given["flow_MGD"])
    assert (found.value, found.unit) == (expected["load_lb_day"], Unit.LB_DAY)


def test_p35_the_right_figure_and_not_the_one_that_was_printed(case: Case) -> None:
    given, expected = case("P35")

    def pounds(mg_l: Any) -> Fraction:
        return mass(mg_l, given["flow_MGD"] * 1_000_000, pound_factor=given["factor"]).value

    assert near(pounds(given["effluent_BOD_mg_L"]), expected["correct_answer"], "0.01")
    assert near(pounds(given["effluent_TSS_mg_L"]), expected["published_answer"], "0.01")
    assert not near(pounds(given["effluent_BOD_mg_L"]), expected["published_answer"], "0.01")


# -- averages


def test_p29_a_passed_week_cures_no_average_of_thirty_days(case: Case) -> None:
    given, expected = case("P29")
    mg_l = Decimal(given["average_30d_mg_L"])
    found = Found(day=date(2026, 3, 1), value=mg_l, qualifier="", written=str(mg_l), unit=Unit.MG_L)
    of = average(Parameter.TSS, day_values(Parameter.TSS, [found], Unit.MG_L), Unit.MG_L)
    judged = {
        name: judge_average(of, at_least=None, at_most=Decimal(given[limit])).outcome
        for name, limit in (("30-day average", "limit_30d_mg_L"), ("7-day", "limit_7d_mg_L"))
    }
    assert judged == {expected["which"]: Outcome.EXCEEDS, "7-day": Outcome.COMPLIES}


# -- time outside


def excursions(minutes: list[int], worst: float = 5.5) -> list[Excursion]:
    """One a day in March 2025, so many minutes long, below a range."""
    first = to_us(datetime(2025, 3, 1, 15, tzinfo=UTC))
    return [
        Excursion(
            side=Side.BELOW, starts_us=first + n * 86_400_000_000,
            ends_us=first + n * 86_400_000_000 + length * MINUTE, beyond_us=length * MINUTE,
            runs=1, readings=length, worst=worst, worst_us=first, open_ended=False, review=False,
            settled=True,
        )
        for n, length in enumerate(minutes)
    ]  # fmt: skip


def allowance(adopted_by: str | None) -> Allowance:
    rule = find("federal.excursion_allowance")[1]
    assert isinstance(rule, AllowanceRule)
    (version,) = rule.versions
    return Allowance(
        minutes_per_month=version.minutes_per_month,
        minutes_each=version.minutes_each,
        adopted_by=adopted_by,
    )


def test_d13_the_allowance_is_kept_by_a_minute_and_holds_for_nobody_who_has_not_adopted_it(
    case: Case,
) -> None:
    given, expected = case("D13")
    of = excursions(given["excursions_min"])
    (month,) = allowed(of, allowance("permit P-12, part 3"), zone=ZONE)
    assert month.total_us == expected["total_min"] * MINUTE
    assert month.longest_us == expected["longest_min"] * MINUTE
    assert month.keeps is expected["permitted_for_direct_discharger"]
    assert all(one.is_excused for one in month.excursions)
    (month,) = allowed(of, allowance(None), zone=ZONE)
    assert any(one.is_excused for one in month.excursions) is expected["applies_to_indirect"]
    assert month.keeps is None


@pytest.mark.parametrize(
    ("minutes", "worst", "excused"),
    [
        ([61, 1], 5.5, [False, True]),
        ([60] * 7 + [27, 1], 5.5, [True] * 7 + [False, False]),
        ([1, 2], 4.99, [False, False]),
        ([1], 5.0, [True]),
    ],
)
def test_d13_what_the_allowance_does_not_cover(
    minutes: list[int], worst: float, excused: list[bool]
) -> None:
    (month,) = allowed(excursions(minutes, worst), allowance("permit P-12, part 3"), zone=ZONE)
    assert [one.is_excused for one in month.excursions] == excused


def trace(values: list[float]) -> Series:
    at = np.arange(len(values), dtype=np.int64) * MINUTE
    return Series(
        at_us=at,
        value=np.array(values),
        quality=np.zeros(len(values), np.int64),
        interval_us=np.full(len(values), MINUTE, np.int64),
    )


def test_d15_a_sustained_minimum_and_an_instantaneous_one_are_two_limits(case: Case) -> None:
    given, expected = case("D15")
    minutes, lowest = given["trace_minutes_below_5_5"], float(given["lowest"])
    of = trace([7.0, *[lowest] * minutes, 7.0])
    assert bool(sustained(of, at_least=5.5, seconds=900)) is expected["daily_min_violation"]
    below = sustained(of, at_least=5.0, seconds=1)
    assert bool(below) is expected["instantaneous_violation"]


@pytest.mark.parametrize(
    "values", [[7.0, *[5.2] * 14, 7.0], [*[5.2] * 10, 5.5, *[5.2] * 10, 7.0], [5.5] * 60]
)
def test_d15_what_is_shorter_or_interrupted_is_not_sustained(values: list[float]) -> None:
    assert sustained(trace(values), at_least=5.5, seconds=900) == ()


# -- streams that meet


def streams(given: Mapping[str, Any]) -> list[Stream]:
    regulated = [
        Stream(name=f"r{n}", kind=StreamKind.REGULATED, gpd=gpd, days=30, daily_max=limit)
        for n, (limit, gpd) in enumerate(zip(given["C"], given["F_gpd"], strict=True))
    ]
    return [
        *regulated,
        Stream(name="u", kind=StreamKind.UNREGULATED, gpd=given["F_unregulated"], days=30),
        Stream(name="d", kind=StreamKind.DILUTE, gpd=given["F_dilute"], days=30),
    ]


def test_d17_dilute_water_lowers_the_limit_of_zinc(case: Case) -> None:
    given, expected = case("D17")
    found = combined_limits(Parameter.ZINC, streams(given))
    assert found.total_gpd == expected["F_T"]
    assert found.daily_max is not None
    assert found.daily_max.value == Fraction(expected["C_T_mg_L"])
    assert found.average is None


def test_d19_a_limit_that_no_method_sees_is_not_usable(case: Case) -> None:
    given, expected = case("D19")
    found = combined_limits(
        Parameter.CYANIDE, streams(given), detection=given["detection_limit_mg_L"]
    ).daily_max
    assert found is not None
    assert found.value == Fraction(expected["C_T_mg_L"])
    assert found.usable is expected["usable"]
    assert "below the detection limit" in found.why


def test_d21_streams_that_mix_after_treatment_are_weighted_by_flow(case: Case) -> None:
    given, expected = case("D21")
    found = weighted_mean(list(zip(given["C"], given["F_gpd"], strict=True)))
    assert found == Fraction(expected["C_mg_L"])
