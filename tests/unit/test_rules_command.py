"""``pretreat rules``: what it lists, shows on a day, and refuses."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.commands import main

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``pretreat rules …``; returns its exit code and what it printed."""

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["pretreat", "rules", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out or err

    return run


def test_the_list_names_every_rule_with_its_citation(rules: Run) -> None:
    code, out = rules("list", "--json")
    rows = {row["id"]: row for row in json.loads(out)}
    assert code == 0
    assert {"prescott.ph", "federal.ph_floor", "prescott.service_agreement.tp"} <= set(rows)
    assert all(row["citation"] for row in rows.values())
    assert rows["monona.ph"]["versions"] == 0
    assert "prescott.petroleum_oil" in rules("list")[1]


def test_a_rule_is_shown_with_the_numbers_of_a_day(rules: Run) -> None:
    code, out = rules("show", "prescott.ph", "--on", "2026-03-01", "--json")
    shown = json.loads(out)
    assert code == 0
    (version,) = shown["versions"]
    assert (version["effective"], version["at_least"], version["at_most"]) == (
        "2017-06-12",
        "6.0",
        "9.0",
    )
    assert "at_most 9.0" in " ".join(rules("show", "prescott.ph")[1].split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("show", "prescott.ph", "--on", "2017-06-11"), "no version in force on 2017-06-11"),
        (("show", "monona.ph", "--on", "2026-01-01"), "MMSD Sewer Use Ordinance"),
        (("show", "prescott.ph", "--on", "2026-02-30"), "2026-02-30"),
        (("show", "prescott.nothing"), "prescott.nothing"),
        (("check",), "--schema"),
        (("check", "nowhere.yaml"), "nowhere.yaml"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(
    rules: Run, arguments: tuple[str, ...], says: str
) -> None:
    code, said = rules(*arguments)
    assert code == 2
    assert says in said
    assert said.count("\n") == 1


def test_a_rulebook_file_is_checked(rules: Run, tmp_path: Path) -> None:
    file = tmp_path / "prescott.yaml"
    source = Path(__file__).parents[2] / "compliance" / "rules" / "prescott.yaml"
    text = source.read_text(encoding="utf-8")
    file.write_text(text, encoding="utf-8")
    assert rules("check", str(file))[0] == 0
    file.write_text(text.replace('"6.0"', "6.0"), encoding="utf-8")
    code, said = rules("check", str(file))
    assert code == 2
    assert "prescott.ph" in said
    assert "rulebook" in json.loads(rules("check", "--schema")[1])["properties"]


def test_the_register_is_printed_with_counts_and_what_is_missing(rules: Run) -> None:
    code, out = rules("coverage", "prescott", "--json")
    told = json.loads(out)
    assert code == 0
    assert set(told["counts"]) == {"program", "person", "not automated", "nothing to judge"}
    assert sum(told["counts"].values()) == len(told["clauses"])
    ph = next(row for row in told["clauses"] if "prescott.ph" in row["rules"])
    assert ph["judged_by"] == "program"
    assert any("1-4" in one["text"] for one in told["missing"])
    code, out = rules("coverage", "monona")
    assert code == 0
    assert "not automated" in out and "chapter V" in out
    assert f"{told['counts']['program']} program" in rules("coverage", "prescott")[1]


def test_a_text_that_a_register_does_not_account_for_is_exit_1(
    rules: Run, tmp_path: Path, shared: Path
) -> None:
    text = (shared / "ordinances" / "monona-sewer-chapter.txt").read_text(encoding="utf-8")
    file = tmp_path / "chapter.txt"
    file.write_text(text, encoding="utf-8")
    assert rules("coverage", "monona", "--text", str(file))[0] == 0
    file.write_text(text + "\nNo user shall discharge paint.", encoding="utf-8")
    code, out = rules("coverage", "monona", "--text", str(file))
    assert code == 1
    assert "no row for: No user shall discharge paint." in out


def test_a_changed_file_is_compared_with_the_rulebook_in_force(rules: Run, tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "compliance" / "rules" / "prescott.yaml"
    text = source.read_text(encoding="utf-8")
    file = tmp_path / "amended.yaml"
    file.write_text(text, encoding="utf-8")
    assert "say the same" in rules("diff", "prescott", str(file))[1]
    file.write_text(text.replace('at_most: "9.0"', 'at_most: "10.0"'), encoding="utf-8")
    code, out = rules("diff", "prescott", str(file), "--json")
    assert code == 0
    (one,) = json.loads(out)["differences"]
    assert (one["rule"], one["judges_otherwise_from"]) == ("ph", "2017-06-12")
    assert one["fields"] == [
        {"field": "at_most", "since": "2017-06-12", "before": "9.0", "after": "10.0"}
    ]
    assert "from 2017-06-12" in rules("diff", "prescott", str(file))[1]


def test_a_weaker_number_is_warned_of_and_loads(rules: Run, tmp_path: Path) -> None:
    file = tmp_path / "town.yaml"
    file.write_text(
        "rulebook: town\ntitle: A town\nzone: America/Chicago\nrules:\n"
        "  - {id: town.snc, kind: snc, base: federal.snc, citation: Town Code § 9, says: Ours.,\n"
        "     anchor: null, authority: ordinance,\n"
        "     versions: [{effective: 2020-01-01, late_report_days: 60}]}\n",
        encoding="utf-8",
    )
    code, out = rules("check", str(file))
    assert code == 0
    assert "warning: Town Code § 9: late report days is 60 days" in out
    assert len(json.loads(rules("check", str(file), "--json")[1])["warnings"]) == 1


def test_every_kind_of_rule_is_shown_in_words(rules: Run) -> None:
    assert "trc_factors bod5 1.4, cbod5 1.4" in rules("show", "federal.snc")[1]
    assert "minutes_per_month 446" in rules("show", "federal.excursion_allowance")[1]
    assert "hours 24" in rules("show", "federal.clock.call")[1]
    listed = {row["id"]: row for row in json.loads(rules("list", "--json")[1])}
    assert listed["prescott.clock.appeal"]["numbers"] == "days 10"
    assert {"snc", "clock", "counting", "allowance"} <= {row["kind"] for row in listed.values()}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("coverage", "nowhere"), "expected one of federal, monona, prescott, wisconsin"),
        (("coverage", "nowhere.yaml"), "cannot be read"),
        (("coverage", "monona", "--text", "nowhere.txt"), "cannot be read"),
        (("diff", "prescott", "nowhere"), "is no rulebook and no file"),
        (("diff", "nowhere.yaml", "prescott"), "cannot be read"),
    ],
)
def test_what_cannot_be_compared_or_covered_is_one_sentence(
    rules: Run, arguments: tuple[str, ...], says: str
) -> None:
    code, said = rules(*arguments)
    assert code == 2
    assert says in said
    assert said.count("\n") == 1
