"""Two rulebooks side by side: what was added, is gone, changed, and since when it judges."""

from __future__ import annotations

from datetime import date

import pytest

from compliance.rules.book import book, books, parse
from compliance.rules.differing import Change, Difference, differences

TOWN = """
rulebook: town
title: A town
zone: America/Chicago
rules:
  - id: town.ph
    citation: § 1
    says: No pH under 6.
    anchor: null
    parameter: ph
    unit: s.u.
    basis: instantaneous
    authority: ordinance
    versions:
      - {effective: 2020-01-01, at_least: "6.0"}
"""
ZINC = """
  - id: town.zinc
    citation: § 2
    says: Not over 2.61 mg/L of zinc.
    anchor: null
    parameter: zinc
    unit: mg/L
    basis: daily_max
    authority: ordinance
    versions:
      - {effective: 2024-01-01, at_most: "2.61"}
"""


def between(before: str, after: str) -> tuple[Difference, ...]:
    return differences(parse(before, "a.yaml"), parse(after, "b.yaml"))


@pytest.mark.parametrize("name", sorted(books()))
def test_a_book_does_not_differ_from_itself(name: str) -> None:
    assert differences(book(name), book(name)) == ()


def test_a_changed_number_is_told_with_its_version_and_its_day() -> None:
    (one,) = between(TOWN, TOWN.replace('"6.0"', '"5.5"'))
    assert (one.name, one.change, one.judges_from) == ("ph", Change.CHANGED, date(2020, 1, 1))
    (field,) = one.fields
    assert (field.field, field.since) == ("at_least", "2020-01-01")
    assert (field.before, field.after) == ("6.0", "5.5")


def test_other_words_judge_alike() -> None:
    (one,) = between(TOWN, TOWN.replace("under 6", "below 6"))
    assert one.judges_from is None
    assert [field.field for field in one.fields] == ["says"]


def test_a_new_version_judges_otherwise_from_its_day_on() -> None:
    version = '      - {effective: 2020-01-01, at_least: "6.0"}\n'
    two = version.replace("2020-01-01,", "2020-01-01, ended: 2026-07-01,") + version.replace(
        "2020-01-01", "2026-07-01"
    ).replace("6.0", "5.5")
    (one,) = between(TOWN, TOWN.replace(version, two))
    assert one.judges_from == date(2026, 7, 1)
    assert {(field.field, field.since) for field in one.fields} == {
        ("ended", "2020-01-01"),
        ("at_least", "2026-07-01"),
    }


def test_a_rule_added_is_gone_the_other_way_round() -> None:
    (added,), (gone,) = between(TOWN, TOWN + ZINC), between(TOWN + ZINC, TOWN)
    assert (added.change, gone.change) == (Change.ADDED, Change.GONE)
    assert added.judges_from == gone.judges_from == date(2024, 1, 1)
    assert [(f.before, f.after) for f in added.fields] == [(f.after, f.before) for f in gone.fields]


def test_two_cities_are_compared_by_what_their_rules_are_called() -> None:
    assert between(TOWN, TOWN.replace("town", "village")) == ()
    found = {one.name: one for one in differences(book("prescott"), book("monona"))}
    assert found["ph"].change is Change.CHANGED
    assert found["strength.tss"].change is Change.CHANGED
    assert "pound_factor" in found
    assert found["separate_offences"].change is Change.ADDED
    assert found["service_agreement.flow"].change is Change.GONE
