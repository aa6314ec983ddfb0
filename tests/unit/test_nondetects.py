"""Averages with results below detection: the stated policy, exact, printed, nothing left out."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from compliance.errors import InsufficientData, UnitMismatch
from compliance.judging.nondetects import average
from compliance.model.parameters import Parameter
from compliance.model.samples import Result
from compliance.model.units import Unit
from compliance.rules.nondetects import NonDetects, Policy, PolicyBook, policy


def result(text: str, *, mdl: str | None = None, unit: Unit = Unit.MG_L) -> Result:
    sign = text[0] if text[0] in "<>" else ""
    number = text.removeprefix(sign)
    return Result(
        parameter=Parameter.ZINC, qualifier=sign, value=Decimal(number), written=number, unit=unit,
        mdl=Decimal(mdl) if mdl else None, row=1,
    )  # fmt: skip


def by(how: NonDetects) -> Policy:
    return Policy(how=how, resolution=None)


CMP_06 = [result("11.4"), result("<5.0"), result("<5.0"), result("<5.0")]


@pytest.mark.parametrize(
    ("how", "value"),
    [
        (NonDetects.HALF, "4.725"),
        (NonDetects.ZERO, "2.85"),
        (NonDetects.FULL, "6.6"),
    ],
)
def test_cmp_06_averages_by_the_stated_rule(how: NonDetects, value: str) -> None:
    found = average(CMP_06, by(how))
    assert found.value == Fraction(value)
    assert (found.count, found.below) == (4, 3)
    assert found.says.startswith("3 of 4 below detection; ")
    assert found.says.endswith("(not adopted)")


def test_a_median_has_non_detects_lowest() -> None:
    found = average([result("<5"), result("2"), result("8"), result("9")], by(NonDetects.MEDIAN))
    assert (found.qualifier, found.value) == ("", Fraction(5))  # of <5, 2, 8, 9: 2 and 8
    assert average(CMP_06, by(NonDetects.MEDIAN)).qualifier == "<"
    assert average([result("1"), result("9")], by(NonDetects.MEDIAN)).value == 5


def test_a_policy_by_the_detection_limit_holds_a_row_without_one() -> None:
    with pytest.raises(InsufficientData, match=r"<5\.0 has no detection limit"):
        average(CMP_06, by(NonDetects.HALF_MDL))
    found = average([result("11.4"), result("<5.0", mdl="1.4")], by(NonDetects.HALF_MDL))
    assert found.value == Fraction("6.05")


def test_more_than_can_be_told_makes_it_a_least_value() -> None:
    assert average([result(">100"), result("2")], by(NonDetects.ZERO)).qualifier == ">"


def test_nothing_or_two_units_make_no_average() -> None:
    with pytest.raises(InsufficientData):
        average([], by(NonDetects.ZERO))
    with pytest.raises(UnitMismatch):
        average([result("1"), result("1", unit=Unit.UG_L)], by(NonDetects.ZERO))


def test_until_a_city_adopts_a_rule_it_is_zero_and_says_so() -> None:
    book = PolicyBook.model_validate(
        {
            "nondetects": "cities",
            "default": {"policy": "zero"},
            "adopted": [
                {
                    "rulebook": "prescott",
                    "policy": "half",
                    "effective": date(2027, 1, 1),
                    "resolution": "Res. 12-26",
                }
            ],
        }
    )
    assert policy("prescott", date(2026, 12, 31), book=book).says.endswith("zero (not adopted)")
    assert "adopted by Res. 12-26" in policy("prescott", date(2027, 1, 1), book=book).says
    assert policy("monona", date(2027, 1, 1), book=book).how is NonDetects.ZERO


def test_a_default_other_than_zero_is_refused() -> None:
    with pytest.raises(ValidationError):
        PolicyBook.model_validate(
            {"nondetects": "cities", "default": {"policy": "half"}, "adopted": []}
        )


values = st.decimals("0.1", "900", places=1)


@given(st.lists(st.tuples(st.sampled_from(["", "<"]), values), min_size=1, max_size=9), st.data())
def test_zero_is_never_more_than_half_and_half_never_more_than_full(
    given_results: list[tuple[str, Decimal]], data: st.DataObject
) -> None:
    results = [result(f"{sign}{value}") for sign, value in given_results]
    zero, half, full = (
        average(results, by(how)).value
        for how in (NonDetects.ZERO, NonDetects.HALF, NonDetects.FULL)
    )
    assert zero <= half <= full
    shuffled = data.draw(st.permutations(results))
    for how in (NonDetects.ZERO, NonDetects.MEDIAN):
        assert average(shuffled, by(how)) == average(results, by(how))
