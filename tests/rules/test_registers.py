"""The registers: every sentence of a text has a row, in its order, and names rules that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from compliance.errors import RuleError, UnknownRule
from compliance.rules.accounting import sentences, unaccounted
from compliance.rules.book import book, books
from compliance.rules.parts import Judge
from compliance.rules.register import Register, misnamed, parse, register, registers

HELD = [one for one in registers().values() if one.text]


def text_of(of: Register, shared: Path) -> str:
    return (shared / "ordinances" / str(of.text)).read_text(encoding="utf-8")


def test_each_rulebook_has_a_register_and_both_cities_their_text() -> None:
    assert registers().keys() == books().keys()
    assert {one.register_of: one.text for one in HELD} == {
        name: book(name).text for name in ("prescott", "monona")
    }


@pytest.mark.parametrize("of", HELD, ids=lambda one: one.register_of)
def test_every_sentence_of_the_text_has_a_row_in_its_order(of: Register, shared: Path) -> None:
    assert of.faults(text_of(of, shared)) == ()


@pytest.mark.parametrize("of", HELD, ids=lambda one: one.register_of)
def test_a_row_taken_out_leaves_a_sentence_without_one(of: Register, shared: Path) -> None:
    text = text_of(of, shared)
    for index, gone in enumerate(of.clauses):
        rest = (*of.clauses[:index], *of.clauses[index + 1 :])
        assert of.model_copy(update={"clauses": rest}).faults(text), gone.clause


@pytest.mark.parametrize("of", HELD, ids=lambda one: one.register_of)
def test_rows_exchanged_are_told(of: Register, shared: Path) -> None:
    first, second, *rest = of.clauses
    changed = of.model_copy(update={"clauses": (second, first, *rest)})
    assert any("stands before" in one for one in changed.faults(text_of(of, shared)))


@pytest.mark.parametrize("of", registers().values(), ids=lambda one: one.register_of)
def test_rows_name_rules_that_exist_and_are_judged_alike(of: Register) -> None:
    assert tuple(misnamed(of)) == ()


def test_every_rule_stands_in_a_register() -> None:
    named = {
        rule
        for one in registers().values()
        for row in (*one.clauses, *one.missing)
        for rule in row.rules
    }
    assert {rule.id for each in books().values() for rule in each.rules} == named


@pytest.mark.parametrize("of", registers().values(), ids=lambda one: one.register_of)
def test_the_counts_add_up_to_the_clauses(of: Register) -> None:
    assert sum(of.counts().values()) == len(of.clauses)
    assert of.counts()["program"] == sum(1 for row in of.clauses if row.judged_by is Judge.PROGRAM)
    assert all(of.counts()[name] for name in ("program", "person", "not automated"))


def test_a_limit_that_is_not_loaded_is_not_automated() -> None:
    rows = [row for row in register("monona").clauses if "monona.ph" in row.rules]
    assert [row.judged_by for row in rows] == [Judge.NOBODY]
    assert any("chapter V" in one.text for one in register("monona").missing)


def test_daily_offences_are_the_law_of_one_city_only() -> None:
    clause = "monona.separate_offences"
    assert any(clause in row.rules for row in register("monona").clauses)
    said = " ".join(str(row.says) for row in register("prescott").clauses)
    assert "each day" not in said.casefold()


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("One. Two; Three.", ["One.", "Two;", "Three."]),
        ("By Ch. NR 218 and Wis. Adm. Code.", ["By Ch. NR 218 and Wis. Adm. Code."]),
        ("See § 281.45, Wis. Stats.[1]\n[1]\nNote.", ["See § 281.45, Wis. Stats.[1]", "Note."]),
        ("(a)\nA.\n(12)\nWords", ["Words"]),
        ("He said “yes.” Then he left.", ['He said "yes."', "Then he left."]),
        ("\n \n", []),
    ],
)
def test_a_text_is_cut_into_its_sentences(text: str, cut: list[str]) -> None:
    assert [one.words for one in sentences(text)] == cut


def test_an_anchor_may_not_serve_two_sentences() -> None:
    text = "No oil. No acid."
    assert unaccounted(text, [("1", "No oil"), ("2", "No acid")]) == ()
    (fault,) = unaccounted(text, [("1", "No oil")])
    assert fault == "no row for: No acid."
    (fault, bare) = unaccounted(text, [("1", "No oil"), ("2", "No lead")])
    assert "2: the anchor 'No lead' is not in the text" in fault and "No acid" in bare


GOOD = """
register_of: town
title: A town
text: town.txt
clauses:
  - clause: § 1
    kind: prohibition
    says: No acid.
    anchors: [No acid]
    judged_by: person
    reason: It is seen.
"""


def test_a_good_register_is_read() -> None:
    assert parse(GOOD, "town.yaml").counts()["person"] == 1


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("    judged_by: person\n", "", "needs judged_by"),
        ("    says: No acid.\n", "", "needs says"),
        ("    reason: It is seen.\n", "", "needs a reason"),
        ("judged_by: person", "judged_by: program", "needs rules or done_by"),
        ("kind: prohibition", "kind: wish", "§ 1"),
        ("    anchors: [No acid]\n", "", "has no anchor at § 1"),
        ("text: town.txt", "text: null", "has an anchor at § 1"),
        ("reason:", "raison:", "raison is not a field of this kind of clause"),
        ("title: A town\n", "", "title is missing"),
        ("clauses:", "claws:", "clauses is missing"),
    ],
)
def test_a_register_that_is_wrong_is_refused_in_one_sentence(old: str, new: str, says: str) -> None:
    assert old in GOOD
    with pytest.raises(RuleError) as refusal:
        parse(GOOD.replace(old, new, 1), "town.yaml")
    sentence = str(refusal.value)
    assert sentence.startswith("town.yaml")
    assert says in sentence
    assert "\n" not in sentence


def test_rules_that_a_register_invents_are_told() -> None:
    told = [
        *misnamed(parse(GOOD.replace("    judged", "    rules: [town.acid]\n    judged"), "t")),
        *misnamed(parse(GOOD.replace("    judged", "    rules: [prescott.ph]\n    judged"), "t")),
    ]
    assert "no rulebook 'town'" in told[0]
    assert told[1] == "§ 1: its rules are judged by program"


def test_an_unknown_register_is_named() -> None:
    with pytest.raises(UnknownRule, match="monona"):
        register("nowhere")
