"""The rulebooks: anchors found, days that count, and one file for each way to be wrong."""

from __future__ import annotations

import os
import re
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from compliance.errors import NotInForce, RuleError, UnknownRule
from compliance.model.findings import Authority
from compliance.model.parameters import Parameter
from compliance.rules.book import RuleBook, book, books, find, parse, schema, versions
from compliance.rules.effective import stretches
from compliance.rules.schema import LimitRule, NarrativeRule, Rule, SampleSource

TEXTS = Path(__file__).parents[2].parent / "shared" / "ordinances"
ELSEWHERE = {"prescott.counting", "monona.counting"}  # in another chapter, which is not held
ANCHORED = [(b, r) for b in books().values() if b.text for r in b.rules]


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("“", '"').replace("”", '"').replace("\xa0", " "))


@pytest.mark.parametrize(("of", "rule"), ANCHORED, ids=lambda value: getattr(value, "id", ""))
def test_every_anchor_stands_in_its_ordinance(of: RuleBook, rule: Rule) -> None:
    if not TEXTS.exists() and not os.environ.get("CI"):
        pytest.skip("the ordinance texts are not here")
    if rule.id in ELSEWHERE:
        assert rule.anchor is None
        return
    assert rule.anchor is not None
    assert _plain(rule.anchor) in _plain((TEXTS / str(of.text)).read_text(encoding="utf-8"))


def test_ph_has_no_limit_before_its_amendment() -> None:
    prescott = book("prescott")
    with pytest.raises(NotInForce):
        prescott.in_force("prescott.ph", date(2017, 6, 11))
    version = prescott.in_force("prescott.ph", date(2017, 6, 12))
    assert (version.at_least, version.at_most) == (Decimal("6.0"), Decimal("9.0"))  # type: ignore[union-attr]


def test_an_inferred_day_says_so() -> None:
    for rule in book("prescott").rules:
        for version in versions(rule):
            if version.effective:
                assert version.adopted
                assert "inferred" in str(version.note)


@pytest.mark.parametrize("name", ["ph", "temperature", "petroleum_oil"])
def test_monona_lists_its_limits_without_a_number(name: str) -> None:
    rule = book("monona").rule(f"monona.{name}")
    assert isinstance(rule, LimitRule)
    assert rule.versions == ()
    assert rule.reason


def test_both_cities_strengths_and_pound_factors() -> None:
    day = date(2026, 1, 1)
    expected = {"prescott": "200 200 50 12", "monona": "200 250 40 10"}
    kinds = (Parameter.CBOD5, Parameter.TSS, Parameter.TKN, Parameter.TP)
    for city, numbers in expected.items():
        strengths = book(city).strengths(day)
        assert " ".join(str(strengths[kind].strength) for kind in kinds) == numbers
        factor = book(city).in_force(f"{city}.pound_factor", day)
        assert factor.factor == Decimal("8.34")  # type: ignore[union-attr]
    assert book("prescott").rule("prescott.pound_factor").authority is Authority.PROGRAM


def test_only_paragraph_five_may_be_lifted_by_the_director() -> None:
    lifted = {
        rule.id
        for each in books().values()
        for rule in each.rules
        if isinstance(rule, LimitRule | NarrativeRule) and rule.lifted_by_approval
    }
    assert {
        "prescott.temperature",
        "prescott.petroleum_oil",
        "prescott.floatable_oil",
        "prescott.toxics",
    } <= lifted
    assert all("paragraph (5)" in find(one)[1].citation for one in lifted)
    assert not {"prescott.ph", "prescott.wpdes", "federal.ph_floor"} & lifted


def test_petroleum_oil_is_enforceable_from_grabs_and_screening_from_meters() -> None:
    rule = find("prescott.petroleum_oil")[1]
    assert isinstance(rule, LimitRule)
    assert rule.authority_on(SampleSource.GRAB) is Authority.ORDINANCE
    assert rule.authority_on(SampleSource.METER) is Authority.PROGRAM
    assert rule.authority_on(SampleSource.COMPOSITE) is None


def test_days_are_cut_half_open_where_a_version_begins() -> None:
    rule = find("prescott.ph")[1]
    cut = list(stretches(versions(rule), date(2017, 6, 10), date(2017, 6, 13)))
    assert [(s.start.day, s.end.day, s.version is None) for s in cut] == [
        (10, 12, True),
        (12, 14, False),
    ]


def test_an_unknown_rule_is_named() -> None:
    with pytest.raises(UnknownRule, match="nowhere"):
        find("nowhere.ph")
    with pytest.raises(UnknownRule, match=r"prescott\.zinc"):
        find("prescott.zinc")


def test_the_schema_names_the_fields_of_a_file() -> None:
    assert {"rulebook", "zone", "rules"} <= set(schema()["properties"])


GOOD = """
rulebook: town
title: A town
zone: America/Chicago
rules:
  - id: town.ph
    citation: § 1
    says: No pH below 6.
    anchor: null
    parameter: ph
    unit: s.u.
    basis: instantaneous
    authority: ordinance
    versions:
      - {effective: 2020-01-01, at_least: "6.0"}
"""


def test_a_good_file_is_read() -> None:
    assert parse(GOOD, "town.yaml").rule("town.ph").citation == "§ 1"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"6.0"', "6.0", "in quotes"),
        ('"6.0"', '"six"', "in quotes"),
        ('"6.0"', '"NaN"', "finite"),
        ("    citation: § 1\n", "", "citation is missing"),
        ("effective: 2020-01-01, ", "", "effective is missing"),
        ("says:", "sais:", "says is missing"),
        ("    anchor: null\n", "    anchor: null\n    limit: 6\n", "limit is not a field"),
        ("parameter: ph", "parameter: pH", "parameter"),
        ("unit: s.u.", "unit: SU", "unit"),
        ("authority: ordinance", "authority: mayor", "authority"),
        ("id: town.ph", "id: village.ph", "must begin with town."),
        ("id: town.ph", "id: Town pH", "id"),
        ("id: town.ph", "kind: wish\n    id: town.ph", "unknown kind"),
        ("zone: America/Chicago", "zone: Chicago time", "time zone"),
        ("title: A town", "title: A town\ntitle: Another", "stands twice"),
        ("    citation: § 1", "    citation: § 1\n    citation: § 2", "stands twice"),
        (', at_least: "6.0"', "", "neither at_least nor at_most"),
        ('at_least: "6.0"', 'at_least: "6.0", at_most: "5.0"', "is over at_most"),
        ("effective: 2020-01-01,", "effective: 2020-01-01, ended: 2019-01-01,", "not after"),
        (
            '{effective: 2020-01-01, at_least: "6.0"}',
            '{effective: 2020-01-01, at_least: "6.0"}\n'
            '      - {effective: 2021-01-01, at_least: "5.0"}',
            "two versions of town.ph in force on 2021-01-01",
        ),
        ("authority: ordinance", "authority: ordinance\n    judged_by: nobody", "needs a reason"),
        ("rules:\n", "rules: []\nmore:\n", "rules"),
        ("rulebook: town", "rulebook: [town", "line"),
    ],
)
def test_a_file_that_is_wrong_is_refused_in_one_sentence(old: str, new: str, says: str) -> None:
    assert old in GOOD
    with pytest.raises(RuleError) as refusal:
        parse(GOOD.replace(old, new, 1), "town.yaml")
    sentence = str(refusal.value)
    assert sentence.startswith("town.yaml")
    assert says in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "just words", "\x00"])
def test_a_file_that_is_no_rulebook_is_refused(text: str) -> None:
    with pytest.raises(RuleError, match=r"town\.yaml"):
        parse(text, "town.yaml")


def test_a_rule_named_twice_is_refused() -> None:
    document = yaml.safe_load(GOOD)
    document["rules"] *= 2
    with pytest.raises(RuleError, match=r"town\.ph twice"):
        parse(yaml.safe_dump(document), "town.yaml")
