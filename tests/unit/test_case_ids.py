"""Every report from the field has a test that bears its id in its name, and a line in the docs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
RELIABILITY = TESTS.parent / "docs" / "reliability.md"
THREADS = [f"T{number}" for number in range(1, 31)]
AREAS = ("ingest", "time", "storage")
NAMED = re.compile(r"^(?:async )?def test((?:_(?:t\d{1,2}|(?:ing|tim|sto)_\d\d))+)_", re.MULTILINE)
ROW = re.compile(r"^\| ((?:T|ING-|TIM-|STO-)\d.*?) \| .* \| (.*) \|$", re.MULTILINE)
ONE = re.compile(r"(t|ing_|tim_|sto_)(\d+)")


def ids_of(text: str) -> Iterator[str]:
    """The ids that the names of a file's tests begin with, as the reports write them."""
    for names in NAMED.findall(text):
        for kind, number in ONE.findall(names):
            yield f"{kind.upper().replace('_', '-')}{number}"


@pytest.fixture
def expected(shared: Path) -> list[str]:
    cases = json.loads((shared / "cases" / "field_reports.json").read_text())
    return THREADS + [case["id"] for case in cases if case["area"] in AREAS]


def test_the_ids_of_a_test_are_read_from_its_name() -> None:
    text = "def test_t10_t11_short() -> None:\nasync def test_ing_07_mark():\ndef test_tim(): ..."
    assert list(ids_of(text)) == ["T10", "T11", "ING-07"]


def test_every_report_of_the_field_has_a_test_by_its_id(expected: list[str]) -> None:
    found = {id for path in TESTS.rglob("test_*.py") for id in ids_of(path.read_text())}
    assert [id for id in expected if id not in found] == []


def test_the_docs_name_the_tests_of_every_report(expected: list[str]) -> None:
    """Each id has a row; each module that the row names is there and has a test of that id."""
    rows = ROW.findall(RELIABILITY.read_text())
    told = {id: re.findall(r"`(.+?)`", where) for ids, where in rows for id in ids.split(", ")}
    assert [id for id in expected if id not in told] == []
    for id, modules in told.items():
        for module in modules:
            (path,) = TESTS.rglob(f"{module}.py") if "/" not in module else [TESTS / f"{module}.py"]
            assert id in ids_of(path.read_text()), f"{module} has no test of {id}"
