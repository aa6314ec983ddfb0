"""The arithmetic of significant noncompliance: cases by id, laws, and what is never counted."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.errors import InputError
from compliance.judging.clean_samples import bad_borne, clean_needed, outlooks
from compliance.judging.continuous import DischargeDay, Excursion, both
from compliance.judging.lateness import Duty, DutyKind, lateness
from compliance.judging.noncompliance import (
    Tally,
    only_published,
    percent,
    reaches,
    tallies,
    tally,
)
from compliance.judging.snc_rules import rules_of, snc_rule
from compliance.judging.worksheet import rows, told
from compliance.model.noncompliance import (
    Bound,
    Criterion,
    Limit,
    Measured,
    SncBasis,
    SncRule,
    Status,
    window_of,
)
from compliance.model.parameters import Parameter
from compliance.model.units import Unit

DAY = date(2026, 2, 3)
WINDOW = window_of(date(2026, 6, 30))
FEDERAL, WISCONSIN = snc_rule("federal", DAY), snc_rule("wisconsin", DAY)


def limit(
    kind: Parameter,
    at_most: str | None,
    *,
    at_least: str | None = None,
    basis: SncBasis = SncBasis.DAILY_MAX,
    unit: Unit = Unit.MG_L,
    factor: str | None = None,
) -> Limit:
    bound = Bound(
        at_least=None if at_least is None else Decimal(at_least),
        at_most=None if at_most is None else Decimal(at_most),
        unit=unit,
        trc_factor=None if factor is None else Decimal(factor),
    )
    return Limit(point="001", parameter=kind, basis=basis, bounds=(bound,), source="row 2")


PH = limit(Parameter.PH, "9.0", at_least="6.0", basis=SncBasis.INSTANTANEOUS, unit=Unit.SU)


def result(
    of: Limit,
    value: object,
    *,
    qualifier: str = "",
    day: date = DAY,
    by: str = "industrial_user",
    unit: Unit | None = None,
) -> Measured:
    return Measured(
        taken=day,
        day=day,
        point="001",
        parameter=of.parameter,
        qualifier=qualifier,
        value=Decimal(str(value)),
        written=str(value),
        unit=unit or of.bounds[0].unit,
        taken_by=by,
    )


def count(of: Limit, values: list[Any], rule: SncRule = FEDERAL) -> Tally:
    return tally(of, [result(of, value) for value in values], rule, WINDOW)


@pytest.fixture
def case(shared: Path) -> Any:
    """A case of the regulation, its inputs and what is expected, by id."""
    cases = json.loads((shared / "cases" / "regulation.json").read_text(), parse_float=Decimal)
    return lambda id: next((c["inputs"], c["expected"]) for c in cases if c["id"] == id)


@pytest.fixture
def report(shared: Path) -> Any:
    cases = json.loads((shared / "cases" / "field_reports.json").read_text(), parse_float=Decimal)
    return lambda id: next(c["input"] for c in cases if c["id"] == id)


def test_d01_four_of_six_over_the_limit_are_chronic(case: Any) -> None:
    given_, expected = case("D01")
    found = count(limit(Parameter.ZINC, str(given_["daily_max"])), given_["results"])
    assert (found.n, found.exceed, found.trc) == (6, 4, 0)
    assert (found.chronic_snc, found.trc_snc) == (True, False)
    assert percent(found.exceed, found.n, against=66) == str(expected["percent_exceed"])
    assert str(expected["trc_threshold"]) in found.working[2]


def test_d03_one_of_three_well_over_the_limit_is_enough(case: Any) -> None:
    given_, expected = case("D03")
    found = count(limit(Parameter.COPPER, str(given_["daily_max"])), given_["results"])
    assert found.trc == expected["trc_count"] == 1
    assert (found.trc_snc, found.chronic_snc) == (True, False)
    assert percent(1, 3, against=33) == str(expected["percent"])
    assert f"= {expected['trc_threshold']} mg/L" in found.working[2]


def test_d05_touching_the_limit_exceeds_nothing(case: Any) -> None:
    given_, expected = case("D05")
    found = count(limit(Parameter.TSS, str(given_["daily_max"])), given_["results"])
    assert found.exceed == expected["exceed"] == 0
    assert found.chronic_snc is expected["chronic_snc"] is False
    assert found.status is Status.NO_EXCEEDANCE


def test_d07_all_results_count_whoever_took_them(case: Any) -> None:
    given_, expected = case("D07")
    zinc = limit(Parameter.ZINC, str(given_["daily_max"]))
    own = [result(zinc, value, by="industrial_user") for value in given_["iu_results"]]
    theirs = [result(zinc, value, by="control_authority") for value in given_["potw_results"]]
    found = tally(zinc, own + theirs, FEDERAL, WINDOW)
    assert (found.n, found.trc, found.trc_snc) == (expected["n"], expected["trc_count"], True)
    assert tally(zinc, own, FEDERAL, WINDOW).trc_snc is expected["if_only_iu_counted"]


def test_d09_a_report_late_by_just_the_days_of_the_rule_is_late_but_no_snc(case: Any) -> None:
    given_, expected = case("D09")
    due, received = (date.fromisoformat(given_[name]) for name in ("due", "received"))
    duty = Duty(kind=DutyKind.REPORT, what="June report", due=due, done=received)
    rule = replace(FEDERAL, late_report_days=given_["rule_days"])
    found = lateness(duty, rule, as_of=date(2025, 12, 31))
    assert (found.days_late, found.late, found.snc) == (
        expected["days_late"], expected["late"], expected["snc"],
    )  # fmt: skip
    assert lateness(replace(duty, done=None), rule, as_of=date(2025, 8, 15)).snc


def test_d11_wisconsin_counts_ph_beyond_the_limit_by_four_tenths(case: Any) -> None:
    given_, expected = case("D11")
    low, high = given_["range"]
    ph = limit(Parameter.PH, str(high), at_least=str(low), unit=Unit.SU)
    found = count(ph, given_["results"], WISCONSIN)
    assert (found.n, found.exceed, found.trc) == (
        expected["n"], expected["outside"], expected["beyond_by_0_4"],
    )  # fmt: skip
    assert found.trc_snc is expected["wisconsin_trc_snc"]
    assert found.chronic_snc is expected["chronic_snc"]
    assert count(ph, given_["results"]).trc_snc is None
    assert count(ph, ["5.61", "9.39", "7"], WISCONSIN).trc == 0
    assert count(ph, ["5.6", "9.4", "7"], WISCONSIN).trc == 2


def test_d33_no_factor_is_laid_on_a_temperature(case: Any) -> None:
    """Else 150 degF and 65.6 degC would have two thresholds: which of them, a unit decided."""
    given_, expected = case("D33")
    assert expected["must_not_multiply"]
    for unit, at_most in ((Unit.DEG_F, "limit_F"), (Unit.DEG_C, "limit_C")):
        heat = limit(Parameter.TEMPERATURE, str(given_[at_most]), unit=unit, factor="1.2")
        for rule in (FEDERAL, WISCONSIN):
            found = count(heat, [500, 500], rule)
            assert (found.trc, found.trc_snc, found.chronic_snc) == (0, None, True)
            assert "left to the control authority" in found.working[2]


def test_d35_ph_is_judged_one_by_one_and_never_averaged(case: Any) -> None:
    given_, expected = case("D35")
    low, high = given_["range"]
    ph = limit(Parameter.PH, str(high), at_least=str(low), unit=Unit.SU)
    assert count(ph, given_["results"]).exceed == expected["violations"]
    monthly = replace(ph, basis=SncBasis.MONTHLY_AVG)
    with pytest.raises(InputError, match="pH is never averaged"):
        count(monthly, given_["results"])


def test_cmp_01_thirty_three_of_fifty_are_sixty_six_percent(report: Any) -> None:
    oil = limit(Parameter.PETROLEUM_OIL, str(report("CMP-01")["limit_mg_L"]))
    found = count(oil, ["25.1"] * 33 + ["25.0"] * 17)
    assert (found.n, found.exceed, found.chronic_snc) == (50, 33, True)
    assert not count(oil, ["25.1"] * 32 + ["25.0"] * 18).chronic_snc


def test_cmp_03_a_factor_is_never_laid_on_ph(report: Any) -> None:
    values = report("CMP-03")["six_months"]
    federal, wisconsin = count(PH, values), count(PH, values, WISCONSIN)
    assert (federal.exceed, federal.chronic_snc, federal.trc_snc) == (1, False, None)
    assert (wisconsin.trc, wisconsin.trc_snc) == (1, False)
    assert "1 of 4" in wisconsin.working[2] and "25.00 %" in wisconsin.working[2]
    assert wisconsin.status is Status.NONCOMPLIANCE


def test_cmp_07_a_method_that_cannot_see_the_limit_counts_but_never_exceeds(report: Any) -> None:
    assert report("CMP-07")["result"] == "<0.10 ug/L"
    mercury = limit(Parameter.MERCURY, "0.05", unit=Unit.UG_L)
    found = tally(mercury, [result(mercury, "0.10", qualifier="<")], FEDERAL, WINDOW)
    assert (found.n, found.exceed, found.trc) == (1, 0, 0)
    assert "cannot see as low as the limit" in found.lines[0].note


def test_cmp_12_nothing_sampled_is_no_data_and_never_compliance() -> None:
    found = count(limit(Parameter.TKN, "50"), [])
    assert (found.n, found.chronic_snc, found.trc_snc) == (0, False, False)
    assert found.status is Status.NO_DATA
    assert "not compliance" in told(found)
    (row,) = rows([found], FEDERAL)
    assert row.note == "no data, which is not compliance"


@pytest.mark.parametrize(
    ("as_of", "first", "end"),
    [
        (date(2026, 3, 31), date(2025, 10, 1), date(2026, 4, 1)),
        (date(2026, 4, 1), date(2026, 1, 1), date(2026, 7, 1)),
        (date(2026, 8, 15), date(2026, 4, 1), date(2026, 10, 1)),
        (date(2026, 12, 31), date(2026, 7, 1), date(2027, 1, 1)),
    ],
)
def test_the_window_is_the_half_year_that_ends_with_the_quarter(
    as_of: date, first: date, end: date
) -> None:
    assert (window_of(as_of).start, window_of(as_of).end) == (first, end)


@pytest.mark.parametrize(
    ("qualifier", "value", "exceeds", "well_over"),
    [
        ("", "2.61", False, False),
        ("", "2.611", True, False),
        ("", "3.132", True, True),
        ("<", "99", False, False),
        (">", "2.61", True, False),
        (">", "2.60", False, False),
        (">", "3.132", True, True),
    ],
)
def test_what_a_qualifier_counts_as(
    qualifier: str, value: str, exceeds: bool, well_over: bool
) -> None:
    zinc = limit(Parameter.ZINC, "2.61")
    found = tally(zinc, [result(zinc, value, qualifier=qualifier)], FEDERAL, WINDOW)
    assert (found.n, bool(found.exceed), bool(found.trc)) == (1, exceeds, well_over)


@pytest.mark.parametrize(
    ("kind", "factor"),
    [
        (Parameter.BOD5, "1.4"),
        (Parameter.CBOD5, "1.4"),
        (Parameter.TSS, "1.4"),
        (Parameter.OIL_AND_GREASE, "1.4"),
        (Parameter.COD, "1.2"),
        (Parameter.CYANIDE, "1.2"),
        (Parameter.TP, "1.2"),
    ],
)
def test_the_factor_of_each_parameter_is_reached_exactly(kind: Parameter, factor: str) -> None:
    threshold = Decimal(100) * Decimal(factor)
    assert count(limit(kind, "100"), [threshold]).trc == 1
    assert count(limit(kind, "100"), [threshold - Decimal("0.01")]).trc == 0


def test_a_result_is_compared_in_the_limits_unit_without_rounding() -> None:
    zinc = limit(Parameter.ZINC, "2.61")
    found = [result(zinc, value, unit=Unit.UG_L) for value in ("2610", "2610.001")]
    counted = tally(zinc, found, FEDERAL, WINDOW)
    assert [line.exceeds for line in counted.lines] == [False, True]
    assert [line.value for line in counted.lines] == ["2.610", "2.610001"]


def test_each_months_mean_is_one_measurement_and_a_non_detect_is_zero_there() -> None:
    zinc = limit(Parameter.ZINC, "1.0", basis=SncBasis.MONTHLY_AVG)
    found = tally(
        zinc,
        [
            result(zinc, "1.9", day=date(2026, 1, 3)),
            result(zinc, "0.3", qualifier="<", day=date(2026, 1, 9)),
            result(zinc, "1.1", day=date(2026, 2, 3)),
        ],
        FEDERAL,
        WINDOW,
    )
    assert [(line.day.month, line.value, line.exceeds) for line in found.lines] == [
        (1, "0.95", False),
        (2, "1.10", True),
    ]
    assert "not adopted" in found.lines[0].note
    assert "monthly means" in found.working[0]


def test_results_outside_window_place_or_time_of_the_limit_are_not_counted() -> None:
    zinc = limit(Parameter.ZINC, "2.61")
    late = replace(zinc, bounds=(replace(zinc.bounds[0], since=date(2026, 3, 1)),))
    days = [date(2025, 12, 31), date(2026, 1, 1), date(2026, 6, 30), date(2026, 7, 1)]
    found = [result(zinc, 3, day=day) for day in days]
    assert tally(zinc, found, FEDERAL, WINDOW).n == 2
    assert tally(late, found, FEDERAL, WINDOW).n == 1
    elsewhere = [replace(one, point="002") for one in found]
    assert [one.n for one in tallies([zinc], elsewhere, FEDERAL, WINDOW)] == [0]
    assert tally(zinc, [result(zinc, 3, unit=Unit.LB_DAY)], FEDERAL, WINDOW).n == 0


def test_a_share_just_under_is_never_printed_as_if_it_reached() -> None:
    assert percent(65_999_999, 100_000_000, against=66) == "65.999999"
    assert percent(2, 3, against=66) == "66.67"
    assert not reaches(0, 0, 33)


RESULTS = st.lists(
    st.tuples(st.decimals("0", "9", places=2), st.sampled_from(["", "<", ">"])), max_size=40
)


@given(RESULTS, st.randoms())
def test_the_order_of_results_changes_nothing(values: list[Any], random: Any) -> None:
    zinc = limit(Parameter.ZINC, "2.61")
    found = [result(zinc, value, qualifier=sign) for value, sign in values]
    mixed = list(found)
    random.shuffle(mixed)
    assert tally(zinc, found, FEDERAL, WINDOW) == tally(zinc, mixed, FEDERAL, WINDOW)


@given(RESULTS, st.decimals("0.1", "9", places=2), st.decimals("0", "3", places=2))
def test_a_stricter_limit_never_finds_less(values: list[Any], loose: Decimal, by: Decimal) -> None:
    strict = max(Decimal("0.01"), loose - by)
    for basis in (SncBasis.DAILY_MAX, SncBasis.MONTHLY_AVG):
        wide, narrow = (limit(Parameter.ZINC, str(at), basis=basis) for at in (loose, strict))
        found = [result(wide, value, qualifier=sign) for value, sign in values]
        one, two = (tally(of, found, FEDERAL, WINDOW) for of in (wide, narrow))
        assert two.exceed >= one.exceed and two.trc >= one.trc


@given(st.integers(0, 400), st.integers(0, 400), st.sampled_from([33, 66]))
def test_integers_agree_with_exact_shares(part: int, more: int, share: int) -> None:
    whole = part + more
    expected = whole > 0 and Fraction(part, whole) >= Fraction(share, 100)
    assert reaches(part, whole, share) is expected
    clean = clean_needed(part, whole, share)
    assert not reaches(part, whole + clean, share)
    assert clean == 0 or reaches(part, whole + clean - 1, share)
    if whole and not expected:
        bad = bad_borne(part, whole, share)
        assert not reaches(part + bad, whole + bad, share)
        assert reaches(part + bad + 1, whole + bad + 1, share)


def test_the_outlook_says_how_many_clean_samples_keep_the_half_year() -> None:
    zinc = limit(Parameter.ZINC, "2.61")
    found = count(zinc, ["2.7", "2.7", "2.7", "1"])
    chronic, technical = outlooks(found, FEDERAL, as_of=DAY)
    assert (chronic.criterion, chronic.clean, chronic.can_keep) == (Criterion.CHRONIC, 1, True)
    assert (technical.clean, technical.bad) == (0, 1)
    (over, _) = outlooks(found, FEDERAL, as_of=date(2026, 7, 1))
    assert not over.can_keep and "can no more be kept" in over.says
    few, _ = outlooks(found, FEDERAL, as_of=DAY, samples_left=0)
    assert not few.can_keep
    assert len(outlooks(count(PH, [7]), FEDERAL, as_of=DAY)) == 1


def test_of_monthly_means_only_the_months_left_can_help() -> None:
    zinc = limit(Parameter.ZINC, "1", basis=SncBasis.MONTHLY_AVG)
    found = tally(
        zinc, [result(zinc, 2, day=date(2026, month, 1)) for month in range(1, 6)], FEDERAL, WINDOW
    )
    chronic, _ = outlooks(found, FEDERAL, as_of=date(2026, 6, 2))
    assert (chronic.clean, chronic.can_keep) == (3, False)
    assert "only 1 can still follow" in chronic.says


def test_at_the_end_of_march_it_may_rest_on_what_was_published_already() -> None:
    zinc = limit(Parameter.ZINC, "1")
    bad = [result(zinc, 5, day=date(2025, 11, day)) for day in (1, 2, 3)]
    later = [result(zinc, 0, day=date(2026, 2, 1)), result(zinc, 5, day=date(2026, 2, 2))]
    before = tally(zinc, bad, FEDERAL, window_of(date(2025, 12, 31)))
    march, june = window_of(date(2026, 3, 31)), window_of(date(2026, 6, 30))
    assert only_published(tally(zinc, bad + later[:1], FEDERAL, march), before)
    assert not only_published(tally(zinc, bad + later, FEDERAL, march), before)
    assert not only_published(tally(zinc, later, FEDERAL, june), before)


def test_a_milestone_ninety_days_late_counts_in_wisconsin_and_not_federally() -> None:
    due = date(2026, 1, 1)
    duty = Duty(kind=DutyKind.MILESTONE, what="Start of construction", due=due, done=None)
    on_day, after = date(2026, 4, 1), date(2026, 4, 2)
    assert not lateness(duty, FEDERAL, as_of=on_day).snc
    assert lateness(duty, WISCONSIN, as_of=on_day).snc
    assert lateness(duty, FEDERAL, as_of=after).snc
    assert lateness(replace(duty, done=due), FEDERAL, as_of=after).days_late == 0
    assert lateness(replace(duty, done=date(2026, 5, 1)), FEDERAL, as_of=after).snc


def day(number: int, *worst: str, good: int = 100, excused: bool = False) -> DischargeDay:
    found = tuple(Excursion(worst=Decimal(one), excused=excused) for one in worst)
    return DischargeDay(day=date(2026, 2, number), good=good, due=100, excursions=found)


def test_a_day_of_continuous_record_is_one_measurement_and_kept_apart_until_adopted() -> None:
    grabs = count(PH, ["5.5"], WISCONSIN)
    record = [day(1, "5.9"), day(2, "5.5", "9.9"), day(4), day(5, "3", excused=True)]
    found = both(grabs, record, WISCONSIN)
    assert (found.samples.n, found.samples.exceed) == (1, 1)
    assert (found.with_record.n, found.with_record.exceed, found.with_record.trc) == (5, 3, 2)
    assert found.counted is found.samples and "not adopted" in found.says
    assert both(grabs, record, WISCONSIN, is_adopted=True).counted.n == 5
    assert [line.value for line in found.with_record.lines][:2] == ["5.9", "9.9"]


def test_a_day_with_too_few_good_readings_is_no_measurement() -> None:
    assert both(count(PH, []), [day(1, "3", good=74)], FEDERAL).with_record.n == 0
    assert both(count(PH, []), [day(1, "3", good=75)], FEDERAL).with_record.n == 1


def test_a_sample_belongs_to_the_measurement_of_its_day() -> None:
    found = both(count(PH, ["5.5", "7.0"], WISCONSIN), [day(3)], WISCONSIN).with_record
    assert (found.n, found.exceed, found.trc, len(found.lines[0].parts)) == (1, 1, 1, 2)


def test_instants_and_days_sort_together() -> None:
    one = result(PH, 7)
    later = replace(one, taken=datetime(2026, 2, 3, 12, tzinfo=UTC), written="5", value=Decimal(5))
    found = tally(PH, [later, one], FEDERAL, WINDOW)
    assert [line.value for line in found.lines] == ["7", "5"]


def test_nothing_is_called_determined() -> None:
    said = told(count(limit(Parameter.ZINC, "1"), [5]))
    assert said.startswith("most results over the limit")
    assert "meets the arithmetic of SNC (chronic), not determined" in said


def test_the_figures_come_from_the_books_each_resting_on_the_one_before() -> None:
    assert (FEDERAL.id, WISCONSIN.id) == ("federal.snc", "wisconsin.snc")
    assert (FEDERAL.ph_margin, WISCONSIN.ph_margin) == (None, Decimal("0.4"))
    assert (FEDERAL.milestone_inclusive, WISCONSIN.milestone_inclusive) == (False, True)
    alike = ("chronic_percent", "trc_percent", "trc_factors", "late_report_days", "window_months")
    assert all(getattr(FEDERAL, name) == getattr(WISCONSIN, name) for name in alike)
    assert WISCONSIN.warnings == ()


def test_a_wisconsin_city_is_counted_by_wisconsins_rules_and_another_by_the_federal_ones() -> None:
    assert rules_of(("prescott", "federal")) == rules_of(("monona",)) == "wisconsin"
    assert rules_of(("federal",)) == "federal"
