"""Rules beyond limits: significance with its bases, clocks, allowances, and bases of limits."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from compliance.errors import NotInForce, RuleError
from compliance.model.limits import AVERAGES, MASSES, Basis
from compliance.model.parameters import Parameter
from compliance.rules.book import RuleBook, book, books, parse
from compliance.rules.schema import (
    AllowanceRule,
    ClockRule,
    CountingRule,
    LimitRule,
    SampleSource,
    SncRule,
)
from compliance.rules.significance import figures, weaker

DAY = date(2026, 6, 30)
HEAD = "rulebook: town\ntitle: A town\nzone: America/Chicago\nrules:\n"
COMMON = "    citation: Town Code § 9\n    says: In our words.\n    anchor: null\n"


def town(*rules: str) -> RuleBook:
    return parse(HEAD + "".join(rules), "town.yaml")


def snc(versions: str, *, base: str | None = "federal.snc", name: str = "town.snc") -> str:
    rests = f"    base: {base}\n" if base else ""
    head = f"  - id: {name}\n    kind: snc\n{COMMON}    authority: ordinance\n{rests}"
    return f"{head}    versions:\n{versions}"


def figures_of(of: RuleBook, name: str, day: date = DAY) -> dict[str, object]:
    rule = of.rule(name)
    assert isinstance(rule, SncRule)
    return figures(rule, day, among=of)


def test_federal_significance_has_the_figures_of_the_rule() -> None:
    found = figures_of(book("federal"), "federal.snc")
    assert found["window_months"] == 6
    assert (found["chronic_percent"], found["trc_percent"]) == (66, 33)
    assert (found["late_report_days"], found["milestone_days"]) == (45, 90)
    assert found["trc_factor"] == Decimal("1.2")
    factors = found["trc_factors"]
    assert isinstance(factors, dict)
    assert {one for one in factors if factors[one] == Decimal("1.4")} == {
        Parameter.BOD5,
        Parameter.CBOD5,
        Parameter.TSS,
        Parameter.OIL_AND_GREASE,
        Parameter.PETROLEUM_OIL,
        Parameter.FLOATABLE_OIL,
    }
    assert "ph_margin" not in found


def test_wisconsin_differs_in_ph_and_in_the_ninetieth_day_only() -> None:
    federal = figures_of(book("federal"), "federal.snc")
    state = figures_of(book("wisconsin"), "wisconsin.snc")
    assert state.pop("ph_margin") == Decimal("0.4")
    assert state.pop("milestone_inclusive") is True
    assert federal.pop("milestone_inclusive") is False
    assert state == federal


def test_wisconsin_has_no_limit_on_readings() -> None:
    assert book("wisconsin").of(LimitRule) == ()


def test_a_local_number_stands_from_its_day_and_the_rest_is_of_the_base() -> None:
    versions = (
        "      - {effective: 2010-01-01, ended: 2026-01-01, late_report_days: 30}\n"
        "      - {effective: 2026-01-01, late_report_days: 45}\n"
    )
    local = town(snc(versions))
    assert figures_of(local, "town.snc", date(2025, 12, 31))["late_report_days"] == 30
    assert figures_of(local, "town.snc", date(2026, 1, 1))["late_report_days"] == 45
    assert figures_of(local, "town.snc")["chronic_percent"] == 66
    with pytest.raises(NotInForce):
        figures_of(local, "town.snc", date(2009, 12, 31))
    assert weaker(local) == ()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("late_report_days: 60", "late report days is 60 days, 40 CFR 403.8(f)(2)(viii) has 45"),
        ("milestone_days: 91", "milestone days is 91 days"),
        ("chronic_percent: 67", "chronic percent is 67 percent"),
        ('trc_factor: "1.4"', "trc factor is 1.4 times the limit"),
        ('trc_factors: {bod5: "1.5"}', "trc factor of bod5 is 1.5 times the limit"),
    ],
)
def test_a_weaker_local_number_is_warned_of(given: str, says: str) -> None:
    (warning,) = weaker(town(snc(f"      - {{effective: 2020-01-01, {given}}}\n")))
    assert says in warning
    assert "does not displace" in warning


@pytest.mark.parametrize(
    "given", ["late_report_days: 30", "chronic_percent: 66", 'trc_factor: "1.1"']
)
def test_a_local_number_as_strict_or_stricter_is_not(given: str) -> None:
    assert weaker(town(snc(f"      - {{effective: 2020-01-01, {given}}}\n"))) == ()


def test_a_local_ph_under_the_federal_floor_is_warned_of() -> None:
    rule = limit("ph", "s.u.", "instantaneous", 'at_least: "4.5"')
    (warning,) = weaker(town(rule))
    assert "at_least is 4.5 s.u." in warning and "has 5.0" in warning
    assert weaker(town(rule.replace('"4.5"', '"5.0"'))) == ()


def test_no_rulebook_of_ours_is_weaker_than_the_federal_one() -> None:
    assert [weaker(one) for one in books().values()] == [()] * len(books())


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ((snc("      - {effective: null}\n", base="town.snc"),), "rests on itself"),
        (
            (
                snc("      - {effective: null}\n", base="town.other"),
                snc("      - {effective: null}\n", name="town.other", base="town.snc"),
            ),
            "rests on itself",
        ),
        ((snc("      - {effective: null}\n", base="federal.ph_floor"),), "expected kind snc"),
        ((snc("      - {effective: null}\n", base="federal.nothing"),), "federal.nothing"),
    ],
)
def test_a_base_that_cannot_be_is_one_sentence(rules: tuple[str, ...], says: str) -> None:
    with pytest.raises(RuleError) as refusal:
        weaker(town(*rules))
    assert says in str(refusal.value) and "\n" not in str(refusal.value)


def limit(parameter: str, unit: str, basis: str, bounds: str) -> str:
    return (
        f"  - id: town.{parameter}.{basis}\n{COMMON}    authority: ordinance\n"
        f"    parameter: {parameter}\n    unit: {unit}\n    basis: {basis}\n"
        f"    versions:\n      - {{effective: 2020-01-01, {bounds}}}\n"
    )


GIVEN = {
    Basis.INSTANTANEOUS: ("ph", "s.u.", 'at_least: "6"'),
    Basis.DAILY_MAX: ("zinc", "mg/L", 'at_most: "2.61"'),
    Basis.DAILY_SUSTAINED_MIN: ("ph", "s.u.", 'at_least: "5.5", seconds: 900'),
    Basis.AVERAGE_4_DAYS: ("zinc", "ug/L", 'at_most: "1480"'),
    Basis.AVERAGE_30_DAYS: ("zinc", "mg/L", 'at_most: "1.48"'),
    Basis.MONTHLY_AVG: ("zinc", "mg/L", 'at_most: "1.48"'),
    Basis.MASS_DAY: ("bod5", "lb/day", 'at_most: "150"'),
    Basis.MASS_MONTH: ("bod5", "lb", 'at_most: "3000"'),
    Basis.FLOW_MAX: ("flow", "gpm", 'at_most: "250"'),
}


@pytest.mark.parametrize("basis", GIVEN)
def test_a_limit_of_every_basis_is_read(basis: Basis) -> None:
    parameter, unit, bounds = GIVEN[basis]
    (rule,) = town(limit(parameter, unit, basis.value, bounds)).of(LimitRule)
    assert rule.basis is basis
    is_folded = rule.authority_on(SampleSource.METER) is not None
    assert is_folded == (basis in (Basis.INSTANTANEOUS, Basis.FLOW_MAX))
    assert rule.authority_on(SampleSource.COMPOSITE) is not None


def test_a_limit_on_what_reaches_the_plant_is_none_of_the_users() -> None:
    text = limit("temperature", "degC", "plant_influent", 'at_most: "40"')
    with pytest.raises(RuleError, match="expected applies_at: plant"):
        town(text)
    plant = town(text.replace("    versions", "    applies_at: plant\n    versions"))
    assert plant.limits(Parameter.TEMPERATURE) == ()


@pytest.mark.parametrize(
    ("parameter", "unit", "basis", "bounds", "says"),
    [
        *[
            ("ph", "s.u.", basis.value, 'at_most: "9"', "which has no mean")
            for basis in sorted(AVERAGES)
        ],
        *[
            ("zinc", "mg/L", basis.value, 'at_most: "9"', "expected load or mass")
            for basis in sorted(MASSES)
        ],
        ("ph", "s.u.", "mass_day", 'at_most: "9"', "expected a concentration"),
        ("zinc", "degF", "daily_max", 'at_most: "9"', "a unit of temperature"),
        ("volume", "gal", "flow_max", 'at_most: "9"', "expected the parameter flow"),
        ("ph", "s.u.", "daily_sustained_min", 'at_least: "5"', "seconds in each version"),
        ("ph", "s.u.", "instantaneous", 'at_least: "5", seconds: 9', "go with daily_sustained_min"),
        ("ph", "s.u.", "hourly", 'at_least: "5"', "basis is 'hourly'"),
    ],
)
def test_a_limit_that_does_not_go_with_its_basis_is_refused(
    parameter: str, unit: str, basis: str, bounds: str, says: str
) -> None:
    with pytest.raises(RuleError) as refusal:
        town(limit(parameter, unit, basis, bounds))
    assert says in str(refusal.value) and "\n" not in str(refusal.value)


def clock(version: str) -> str:
    return (
        f"  - id: town.clock.call\n    kind: clock\n{COMMON}    authority: ordinance\n"
        "    what: a call\n    owed_by: user\n    starts: the discharge\n"
        f"    versions:\n      - {{effective: null, {version}}}\n"
    )


@pytest.mark.parametrize(
    "version", ["hours: 24", "business_days: 2", 'each_year_by: "06-30"', "at_once: true"]
)
def test_a_clock_says_one_length(version: str) -> None:
    (rule,) = town(clock(version)).of(ClockRule)
    assert len(rule.versions[0].model_dump(exclude_none=True)) == 1


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (clock("note: Words."), "has none; expected exactly one of hours"),
        (clock("hours: 24, days: 1"), "has hours and days"),
        (clock("days: 0"), "greater than 0"),
        (clock('each_year_by: "June"'), "each_year_by"),
        (snc("      - {effective: null, chronic_percent: 66}\n", base=None), "no base, so it must"),
        (snc("      - {effective: null, chronic_percent: 660}\n"), "chronic_percent is 660"),
        (snc('      - {effective: null, trc_factor: "0.9"}\n'), "factor of 1 or less"),
        (snc("      - {effective: null, trc_factor: 1.2}\n"), "in quotes"),
        (snc('      - {effective: null, ph_margin: "0"}\n'), "above zero"),
        (snc('      - {effective: null, trc_factors: {bod: "1.4"}}\n'), "bod"),
    ],
)
def test_a_rule_of_a_program_that_is_wrong_is_refused(rule: str, says: str) -> None:
    with pytest.raises(RuleError) as refusal:
        town(rule)
    sentence = str(refusal.value)
    assert sentence.startswith("town.yaml, rule town.")
    assert says in sentence and "\n" not in sentence


def test_the_excursion_allowance_is_off_unless_a_permit_adopts_it() -> None:
    (rule,) = book("federal").of(AllowanceRule)
    (version,) = rule.versions
    assert (version.minutes_per_month, version.minutes_each) == (446, 60)
    assert (rule.only_by, version.never_below) == ("permit", Decimal("5.0"))


def test_all_eight_prohibitions_of_the_federal_rule_are_there() -> None:
    cited = {rule.citation for rule in book("federal").rules}
    for number in range(1, 9):
        assert any(one.startswith(f"40 CFR 403.5(b)({number})") for one in cited), number


@pytest.mark.parametrize(
    ("name", "length"),
    [
        ("federal.clock.call", "hours 24"),
        ("federal.clock.repeat", "days 30"),
        ("federal.clock.schedule_report", "days 14"),
        ("prescott.clock.reconsideration", "days 10"),
        ("prescott.clock.reconsideration_answer", "days 15"),
        ("prescott.clock.appeal", "days 10"),
        ("prescott.clock.hearing", "days 30"),
        ("prescott.clock.ruling", "days 45"),
        ("prescott.clock.clear_water", "days 60"),
        ("monona.clock.payment", "days 20"),
        ("wisconsin.clock.maintenance_report", "each_year_by 06-30"),
    ],
)
def test_clocks_have_the_lengths_of_their_texts(name: str, length: str) -> None:
    holder = book(name.partition(".")[0])
    version = holder.in_force(name, DAY)
    field, expected = length.split()
    assert str(getattr(version, field)) == expected


def test_every_clock_that_counts_days_names_a_rule_of_counting() -> None:
    for one in (rule for each in books().values() for rule in each.of(ClockRule)):
        if one.counting is not None:
            holder = book(one.counting.partition(".")[0])
            assert isinstance(holder.rule(one.counting), CountingRule)


def test_the_users_call_is_owed_to_the_control_authority_and_never_by_the_city() -> None:
    for name in ("federal", "wisconsin"):
        rule = book(name).rule(f"{name}.clock.call")
        assert isinstance(rule, ClockRule)
        assert (rule.owed_by, rule.owed_to) == ("user", "control authority")
        assert "that the user performed" in rule.starts
