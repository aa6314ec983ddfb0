"""Papers as rules: ids, versions in time, what an approval covers, which limit is the strictest."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.jobs.stack import considered, strictest
from compliance.model.control import (
    Approval,
    ApprovalOnFile,
    Control,
    ControlKind,
    ControlLimit,
    SamplingDuty,
    UserClass,
    from_json,
    slug,
    to_json,
)
from compliance.model.findings import Side
from compliance.model.parameters import Parameter
from compliance.model.units import Unit
from compliance.rules import book
from compliance.rules.control import bindings, lifting, lifts, refusal
from compliance.rules.schema import LimitRule, NarrativeRule

LIMIT = ControlLimit(
    point=None, part="part 2.1", parameter=Parameter.ZINC, basis="daily_max", at_least=None,
    at_most=Decimal("2.61"), unit=Unit.MG_L, sample_types=("composite",), enforceable=True,
)  # fmt: skip
PERMIT = Control(
    kind=ControlKind.PERMIT, number="P-12/a", user="acme", user_class=UserClass.CIU,
    effective=date(2026, 1, 1), ended=date(2031, 1, 1), issued_by="Dan", office="Director",
    document=None, limits=(LIMIT,),
    sampling=(SamplingDuty(point="MH-1", parameter=Parameter.ZINC, sample_type="composite",
                           frequency="monthly", by="the user"),),
)  # fmt: skip
days = st.dates(date(2026, 1, 1), date(2031, 1, 1))


def spans(*versions: Control) -> dict[str, list[tuple[str, str, str]]]:
    return {
        one.rule.id: [(str(v.effective), str(v.ended), str(v.at_most)) for v in one.rule.versions]
        for one in bindings(versions)
    }


def test_a_paper_is_the_same_after_json() -> None:
    assert from_json(to_json(PERMIT)) == PERMIT


def test_a_later_version_takes_over_from_its_first_day() -> None:
    later = replace(
        PERMIT, effective=date(2027, 1, 1), limits=(replace(LIMIT, at_most=Decimal(2)),)
    )
    assert spans(PERMIT, later) == {
        "permit.p_12_a.zinc.daily_max": [
            ("2026-01-01", "2027-01-01", "2.61"),
            ("2027-01-01", "2031-01-01", "2"),
        ]
    }


def test_a_version_that_begins_no_later_takes_the_place_of_the_one_before() -> None:
    same_day = replace(PERMIT, limits=(replace(LIMIT, at_most=Decimal(2)),))
    assert spans(PERMIT, same_day) == {
        "permit.p_12_a.zinc.daily_max": [("2026-01-01", "2031-01-01", "2")]
    }
    assert spans(PERMIT, replace(PERMIT, limits=())) == {"permit.p_12_a.zinc.daily_max": []}


def test_what_is_judged_otherwise_is_a_rule_of_its_own() -> None:
    later = replace(
        PERMIT, effective=date(2027, 1, 1), limits=(replace(LIMIT, sample_types=("grab",)),)
    )
    assert spans(PERMIT, later) == {
        "permit.p_12_a.zinc.daily_max": [("2026-01-01", "2027-01-01", "2.61")],
        "permit.p_12_a.zinc.daily_max.v2": [("2027-01-01", "2031-01-01", "2.61")],
    }


@given(st.lists(st.tuples(days, st.one_of(st.none(), days)), min_size=1, max_size=5))
def test_on_no_day_two_versions_of_a_limit_are_in_force(
    dates: list[tuple[date, date | None]],
) -> None:
    versions = [
        replace(PERMIT, effective=begin, ended=end if end and end > begin else None)
        for begin, end in dates
    ]
    (one,) = bindings(versions)
    for day in (date(2026, 1, 1) + timedelta(days=20 * n) for n in range(100)):
        held = [
            v
            for v in one.rule.versions
            if v.effective and v.effective <= day and (v.ended is None or day < v.ended)
        ]
        assert len(held) <= 1


def approval(**changed: object) -> ApprovalOnFile:
    given_ = Approval(
        rule_id="prescott.temperature", user="acme", at_least=None, at_most=Decimal(160),
        unit=Unit.DEG_F, since=date(2026, 7, 1), until=date(2026, 8, 1), author="Dan",
        office="Director", reason="boiler", document=None,
    )  # fmt: skip
    at = datetime(2026, 7, 1, tzinfo=UTC)
    one = ApprovalOnFile(
        number=3, user_id=1, approval=given_, entered_by="Ana", entered_at=at, has_file=False
    )
    return replace(one, **changed)  # type: ignore[arg-type]


FACT = {
    "side": Side.ABOVE,
    "worst": Decimal(155),
    "first": date(2026, 7, 5),
    "last": date(2026, 7, 5),
}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, True),
        ({"worst": Decimal(160)}, True),
        ({"worst": Decimal("160.1")}, False),
        ({"first": date(2026, 6, 30)}, False),
        ({"last": date(2026, 7, 31)}, True),
        ({"last": date(2026, 8, 1)}, False),
        ({"side": Side.BELOW}, False),
    ],
)
def test_an_approval_covers_all_of_a_fact_or_nothing(
    changed: dict[str, object], expected: bool
) -> None:
    said = {**FACT, **changed}
    assert lifts(approval(), "prescott.temperature", **said) is expected  # type: ignore[arg-type]


def test_a_withdrawn_approval_covers_what_was_before() -> None:
    one = approval(withdrawn_on=date(2026, 7, 6))
    assert lifts(one, "prescott.temperature", **FACT)  # type: ignore[arg-type]
    one = approval(withdrawn_on=date(2026, 7, 5))
    assert not lifts(one, "prescott.temperature", **FACT)  # type: ignore[arg-type]


@given(
    rule=st.sampled_from(
        ["prescott.ph", "federal.ph_floor", "permit.p_12.temperature", "prescott.petroleum_oil"]
    ),
    worst=st.decimals(0, 500, places=1),
    day=days,
)
def test_an_approval_lifts_no_other_rule(rule: str, worst: Decimal, day: date) -> None:
    for side in Side:
        given_ = {"side": side, "worst": worst, "first": day, "last": day}
        assert lifting([approval()], rule, **given_) is None  # type: ignore[arg-type]


def test_only_paragraph_five_of_prescott_can_be_lifted() -> None:
    every = [rule for found in book.books().values() for rule in found.rules]
    limits = [one for one in every if isinstance(one, LimitRule | NarrativeRule)]
    lifted = [one for one in limits if refusal(one) is None and one.id.startswith("prescott.")]
    assert {"prescott.temperature", "prescott.petroleum_oil"} <= {one.id for one in lifted}
    assert all("paragraph (5)" in one.citation for one in lifted)
    others = [one for one in limits if one not in lifted]
    assert all(refusal(one) for one in others if one.id.startswith(("prescott", "federal")))


def rule(name: str, **limit: object) -> LimitRule:
    control = replace(PERMIT, number=name, limits=(replace(LIMIT, **limit),))  # type: ignore[arg-type]
    return bindings([control])[0].rule


def test_the_strictest_is_found_across_units_and_not_across_bases() -> None:
    loose = rule("loose", at_most=Decimal(3))
    strict = rule("strict", at_most=Decimal(2610), unit=Unit.UG_L)
    monthly = rule("monthly", at_most=Decimal(1), basis="monthly_avg")
    mass = rule("mass", at_most=Decimal(1), unit=Unit.LB_DAY)
    goal = rule("goal", at_most=Decimal("0.1"), enforceable=False)
    told = considered([loose, strict, monthly, mass, goal], date(2026, 7, 1))
    assert [one["strictest"] for one in told] == [False, True, True, True, False]
    late = considered([loose], date(2031, 1, 1))
    assert [(one["in_force"], one["strictest"], one["at_most"]) for one in late] == [
        (False, False, None)
    ]


@given(st.lists(st.decimals("0.01", 100, places=2), min_size=1, max_size=6))
def test_no_enforceable_limit_is_stricter_than_the_one_marked(bounds: list[Decimal]) -> None:
    rules = [rule(f"p{n}", at_most=bound) for n, bound in enumerate(bounds)]
    marked = strictest([(one, one.versions[0]) for one in rules])
    least = {one.id for one in rules if one.versions[0].at_most == min(bounds)}
    assert marked == least


@pytest.mark.parametrize(
    ("text", "expected"), [("P-12/a", "p_12_a"), ("  MH 1 ", "mh_1"), ("§", ""), ("Ä7", "7")]
)
def test_a_number_as_rule_ids_spell_it(text: str, expected: str) -> None:
    assert slug(text) == expected
