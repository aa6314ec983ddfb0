"""Surcharges: a bill is the sum of its rounded lines, and no strength below normal earns credit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.billing.lines import bill, due_on
from compliance.billing.quantities import metered_water
from compliance.billing.strength import (
    Finding,
    Policy,
    StrengthRule,
    flow_weighted,
    mean,
    period_strength,
)
from compliance.billing.tariffs import Due, Tariff, in_force, parse, tariffs
from compliance.billing.words import money
from compliance.errors import InsufficientData, RuleError
from compliance.model.billing import Bill, Category, NormalStrength, Strength, Usage
from compliance.model.money import dollars
from compliance.model.parameters import Parameter
from compliance.model.periods import Period
from compliance.model.samples import TakenBy

QUARTER = Period(start=date(2026, 1, 1), end=date(2026, 4, 1))
CODES = {
    "cbod": Parameter.CBOD5,
    "tss": Parameter.TSS,
    "tkn": Parameter.TKN,
    "tp": Parameter.TP,
    "BOD": Parameter.CBOD5,
    "SS": Parameter.TSS,
    "TN": Parameter.TKN,
    "TP": Parameter.TP,
}


def of_case(shared: Path, case_id: str, file: str = "billing") -> dict[str, Any]:
    cases = json.loads((shared / "cases" / f"{file}.json").read_text(), parse_float=Decimal)
    return next(one for one in (cases if isinstance(cases, list) else cases["cases"])
                if one["id"] == case_id)  # fmt: skip


def strengths(of: Mapping[str, Any]) -> dict[Parameter, Strength]:
    return {CODES[k]: Strength(mg_l=Decimal(str(v)), working=()) for k, v in of.items()}


def normals(of: Mapping[str, Any]) -> dict[Parameter, NormalStrength]:
    return {CODES[k]: NormalStrength(mg_l=Decimal(str(v)), citation="§ 1") for k, v in of.items()}


def usage(million_gallons: str, of: Mapping[str, Any], period: Period = QUARTER) -> Usage:
    gallons = Decimal(million_gallons) * 1_000_000
    return Usage(
        period=period,
        category=Category.C,
        meter_size='2"',
        volume=metered_water(gallons, reads=None),
        strengths=strengths(of),
    )


def amounts(made: Bill) -> dict[str, Decimal]:
    return {line.code: line.amount for line in made.lines}


def tariff() -> Tariff:
    return tariffs()["monona-placeholder"]


def finding(mg_l: str, flow: str | None, **changed: Any) -> Finding:
    found = {"label": "S", "point": "MH-1", "day": date(2026, 1, 5), "mg_l": Decimal(mg_l),
             "is_non_detect": False, "taken_by": TakenBy.INDUSTRIAL_USER,
             "flow_gal": None if flow is None else Decimal(flow)}  # fmt: skip
    return Finding(**(found | changed))


def test_monona_category_c_floor(shared: Path) -> None:
    case = of_case(shared, "monona-category-c-floor")
    given_, expected = case["inputs"], case["expected"]
    made = bill(usage(given_["volume_mg"], given_["conc"]), tariff(), normals(given_["normal"]))
    found = amounts(made)
    assert {code: str(found[code]) for code in ("cbod", "tss", "tkn", "tp")} == {
        code: expected[code] for code in ("cbod", "tss", "tkn", "tp")
    }
    assert made.total - found["customer"] - found["volume"] == Decimal(expected["surcharge"])


def test_d29_a_month_under_the_published_rates(shared: Path) -> None:
    case = of_case(shared, "D29", "regulation")
    month = Period(start=date(2026, 1, 1), end=date(2026, 2, 1))
    used = usage(str(case["inputs"]["volume_MG"]), case["inputs"]["conc"], month)
    made = bill(used, tariff(), normals(case["inputs"]["thresholds"]))
    assert made.total == Decimal(str(case["expected"]["total_usd"]))
    pounds = {line.code: line.quantity for line in made.lines}
    assert pounds["tss"] == Decimal("694.305")


def test_a_line_shows_the_sum_that_led_to_it() -> None:
    of = {"cbod": "412", "tss": "10", "tkn": "1", "tp": "1"}
    normal = normals({"cbod": "200", "tss": "200", "tkn": "50", "tp": "12"})
    made = bill(usage("0.4126", of), tariff(), normal)
    line = next(line for line in made.lines if line.code == "cbod")
    assert line.working == (
        "412 mg/L − 200 mg/L = 212 mg/L above normal domestic strength (§ 1)",
        "212 mg/L × 0.4126 MG × 8.34 = 729.509808 lb",
        "729.509808 lb × $0.22/lb = $160.492158…, rounded half up to $160.49",
    )


def test_thousand_gallons_are_not_million_gallons() -> None:  # BIL-03
    of = {"cbod": "620", "tss": "0", "tkn": "0", "tp": "0"}
    normal = normals({"cbod": "200", "tss": "200", "tkn": "50", "tp": "12"})
    line = bill(usage("0.5", of), tariff(), normal).lines[2]
    assert line.quantity == Decimal("1751.4")


def test_a_mean_of_exactly_normal_strength_pays_nothing() -> None:  # BIL-18
    of = [finding(value, "1000") for value in ("199.3", "201.9", "201.2", "197.6")]
    assert mean(of) == 200
    flows = ["1234.5", "777", "31.25", "90001"]
    assert flow_weighted(Parameter.CBOD5, [
        finding("200", flow, day=date(2026, 1, n + 1)) for n, flow in enumerate(flows)
    ]) == 200  # fmt: skip


def test_flow_weighted_and_mean_differ(shared: Path) -> None:
    case = of_case(shared, "flow-weighted-vs-mean")
    of = [
        finding(one["bod"], str(Decimal(one["mg"]) * 1_000_000), day=date(2026, 1, n + 1))
        for n, one in enumerate(case["inputs"]["periods"])
    ]
    assert mean(of) == Decimal(case["expected"]["mean_mgl"])
    assert flow_weighted(Parameter.BOD5, of) == Decimal(case["expected"]["fw_mgl"])


def test_a_rule_nobody_adopted_favours_the_payer_and_says_so() -> None:
    of = [finding("300", "1000000"), finding("900", "200000", day=date(2026, 2, 5))]
    found = period_strength(Parameter.CBOD5, of)
    assert found.mg_l == 400
    assert found.working[1] == (
        "How several results become one is not adopted by the city: the flow-weighted mean favours "
        "the payer; the plain mean, 600 mg/L, would charge no less"
    )
    adopted = Policy(rule=StrengthRule.MEAN, adopted_by="Resolution 12")
    by_resolution = period_strength(Parameter.CBOD5, of, adopted)
    assert by_resolution.mg_l == 600
    assert "Several results count by their plain mean: Resolution 12" in by_resolution.working


def test_samples_are_averaged_before_normal_strength_is_taken_off(shared: Path) -> None:
    case = of_case(shared, "excess-then-average-vs-average-then-excess")
    of = [finding(v, "1", day=date(2026, 1, n + 1)) for n, v in enumerate(case["inputs"]["tss"])]
    strength = period_strength(Parameter.TSS, of)
    made = bill(
        usage("1", {"cbod": 0, "tss": strength.mg_l, "tkn": 0, "tp": 0}),
        tariff(),
        normals({"cbod": 200, "tss": case["inputs"]["normal"], "tkn": 40, "tp": 10}),
    )
    assert str(amounts(made)["tss"]) == case["expected"]["average_first"]


def test_a_sample_without_its_flow_blocks_the_line() -> None:
    with pytest.raises(InsufficientData, match="no flow"):
        period_strength(Parameter.CBOD5, [finding("300", None)])


def test_a_non_detect_counts_as_zero_and_the_city_binds_for_its_day() -> None:
    low = finding("5", "100", is_non_detect=True, label="L")
    assert period_strength(Parameter.TSS, [low, finding("100", "100", label="M")]).mg_l == 50
    city = finding("900", "100", taken_by=TakenBy.CITY, label="C")
    found = period_strength(Parameter.TSS, [finding("100", "100", label="M"), city])
    assert found.mg_l == 900
    assert any("sample M" in line for line in found.working)


@pytest.mark.parametrize(
    ("start", "end", "billed", "city", "due"),
    [
        ((2024, 1, 1), (2024, 4, 1), (2024, 4, 2), "monona", (2024, 4, 22)),  # BIL-16
        ((2024, 1, 1), (2024, 4, 1), (2024, 5, 15), "monona", (2024, 5, 15)),
        ((2023, 10, 1), (2024, 1, 1), (2024, 1, 31), "prescott", (2024, 3, 1)),
    ],
)
def test_due_days_follow_each_citys_text(
    start: tuple[int, int, int],
    end: tuple[int, int, int],
    billed: tuple[int, int, int],
    city: str,
    due: tuple[int, int, int],
) -> None:
    period = Period(start=date(*start), end=date(*end))
    rule = in_force(city, period.start).document.due
    assert isinstance(rule, Due)
    assert due_on(rule, period, date(*billed)) == date(*due)


NUMBERS = st.decimals(min_value=0, max_value=5000, places=3)


@given(mg=NUMBERS, of=st.lists(NUMBERS, min_size=4, max_size=4))
def test_a_bill_equals_its_lines_and_gives_no_credit(mg: Decimal, of: list[Decimal]) -> None:
    found = dict(zip(("cbod", "tss", "tkn", "tp"), of, strict=True))
    normal = normals({"cbod": 200, "tss": 250, "tkn": 40, "tp": 10})
    made = bill(usage(str(mg), found), tariff(), normal)
    assert made.total == sum(line.amount for line in made.lines)
    for line in made.lines:
        assert line.amount >= 0
        assert line.amount == dollars(line.quantity * line.rate)
        assert line.working[-1].endswith(money(line.amount))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('pound_factor: "8.34"', "pound_factor: 8.34"),
        ('pound_factor: "8.34"', 'pound_factor: "0"'),
        ("adopted_by: null\n", ""),
        ("stage: line", "stage: total"),
        ("kind: volume", "kind: formula"),
        ("code: tss", "code: tp"),
        ("parameter: tp", "parameter: tpp"),
        ('per_kgal: "10.00"', 'per_kgal: "10.00"\n    note: more'),
        ("city: monona", "city: monona\ncity: prescott"),
        ("lines:", "lines: [\n"),
    ],
)
def test_a_tariff_that_is_not_spelled_out_is_refused(old: str, new: str) -> None:
    text = (Path(__file__).parents[2] / "compliance/billing/monona-placeholder.yaml").read_text()
    assert old in text
    with pytest.raises(RuleError, match=r"bad\.yaml"):
        parse(text.replace(old, new, 1), "bad.yaml")


def test_an_unadopted_tariff_says_on_the_bill_that_it_is_a_placeholder() -> None:
    made = bill(
        usage("1", {"cbod": 1, "tss": 1, "tkn": 1, "tp": 1}),
        tariff(),
        normals({"cbod": 200, "tss": 250, "tkn": 40, "tp": 10}),
    )
    assert any("not adopted" in note for note in made.notes)
    assert any("PLACEHOLDER" in note for note in made.notes)
