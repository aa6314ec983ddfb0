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
