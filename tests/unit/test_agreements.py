"""The 10 % test: case D23, the five-day plant, projections, and what is printed."""

from __future__ import annotations

import json
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from compliance.errors import InsufficientData
from compliance.judging.agreements import Design, LoadDay, Reach, Shares, Trigger, printed, shares
from compliance.model.parameters import Parameter

CASES = Path(__file__).parents[2].parent / "shared" / "cases" / "regulation.json"
TRIGGER = Trigger(at_least=Decimal(10), approaching=Decimal(8), months=12)
DESIGN = Design(
    flow_mgd=Decimal("0.7"),
    loads_lb_day={
        Parameter.BOD5: Decimal(1400),
        Parameter.TSS: Decimal(1600),
        Parameter.TP: Decimal(45),
    },
    source="CMAR 2025",
)
START = date(2025, 7, 1)


def share(days: list[LoadDay]) -> Shares:
    return shares(days, DESIGN, pound_factor=Decimal("8.34"), trigger=TRIGGER)


def year(flow: object, *, days: int = 365, sanitary: int = 0, **strengths: object) -> list[LoadDay]:
    mg_l = {Parameter(name): Decimal(str(value)) for name, value in strengths.items()}
    return [
        LoadDay(
            day=START + timedelta(days=n),
            flow_gpd=None if flow is None else Decimal(str(flow)),
            sanitary_gpd=Decimal(sanitary),
            strengths=mg_l,
        )
        for n in range(days)
    ]


def texts(found: Shares) -> dict[str, str | None]:
    return {one.parameter.value: one.text for one in found.shares}


def test_case_d23_ten_percent_exactly_triggers_by_flow_alone() -> None:
    case = next(c for c in json.loads(CASES.read_text()) if c["id"] == "D23")
    given, expected = case["inputs"], case["expected"]
    found = share(
        year(
            given["iu_avg_flow_gpd"],
            bod5=given["iu_BOD5_mg_L"],
            tss=given["iu_TSS_mg_L"],
            tp=given["iu_TP_mg_L"],
        )
    )
    assert found.required is expected["agreement_required"]
    assert [one.value for one in found.by] == expected["by"]
    assert texts(found) == {"flow": "10.00", "bod5": "6.26", "tss": "5.47", "tp": "6.49"}
    assert found.days == 365


def test_a_five_day_plant_is_not_accused_by_its_working_days() -> None:
    days = []
    for one in year(91_000):
        working = one.day.weekday() < 5
        sampled = one.day.weekday() == 2
        days.append(
            LoadDay(
                day=one.day,
                flow_gpd=Decimal(91_000 if working else 0),
                strengths={Parameter.BOD5: Decimal(250)} if sampled else {},
            )
        )
    found = share(days)
    assert not found.required
    assert texts(found)["flow"] == "9.30"
    assert texts(found)["bod5"] == "9.69"
    assert found.shares[1].reach is Reach.APPROACHING
    assert found.shares[1].samples == 52


def test_less_than_twelve_months_is_projected_never_required() -> None:
    found = share(year(140_000, days=364)[1:])
    assert found.projected is True
    assert found.required is False
    assert found.shares[0].reach is Reach.PROJECTED


def test_days_without_a_record_are_left_out_and_days_without_discharge_count() -> None:
    days = year(70_000)
    days[3:103] = [
        LoadDay(day=day.day, flow_gpd=None, strengths=day.strengths) for day in days[3:103]
    ]
    assert (texts(share(days))["flow"], share(days).days) == ("10.00", 265)
    days[3:103] = [LoadDay(day=day.day, flow_gpd=Decimal(0)) for day in days[3:103]]
    assert (texts(share(days))["flow"], share(days).days) == ("7.26", 365)


def test_sanitary_flow_is_deducted() -> None:
    assert texts(share(year(70_000, sanitary=700)))["flow"] == "9.90"


def test_strength_is_weighted_by_flow() -> None:
    days = year(50_000)
    days[0] = LoadDay(
        day=START, flow_gpd=Decimal(10_000), strengths={Parameter.BOD5: Decimal(1000)}
    )
    days[1] = LoadDay(
        day=days[1].day, flow_gpd=Decimal(90_000), strengths={Parameter.BOD5: Decimal(100)}
    )
    assert "= 190.00 mg/L" in share(days).shares[1].working[0]


def test_without_a_sample_the_share_is_not_known() -> None:
    found = share(year(70_000))
    assert texts(found)["tp"] is None
    assert found.shares[3].reach is Reach.UNKNOWN


@pytest.mark.parametrize(
    ("percent", "text"),
    [
        (Fraction(10), "10.00"),
        (Fraction("9.99986"), "9.9999"),
        (Fraction("9.994"), "9.99"),
        (Fraction("10.001"), "10.00"),
        (Fraction("9.999999"), "9.999999"),
    ],
)
def test_a_share_under_ten_never_prints_as_ten(percent: Fraction, text: str) -> None:
    assert printed(percent, Decimal(10)) == text


def test_no_record_at_all_is_said() -> None:
    with pytest.raises(InsufficientData):
        share([])
    with pytest.raises(InsufficientData):
        share(year(None, days=3))
