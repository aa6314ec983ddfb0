"""Laboratory rows that cannot be: each is a fault of its row, and the rows beside it are kept."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from app.labfiles import sheet
from compliance.sampling.results import read, to_json

RECEIVED = datetime(2026, 3, 1, 12, tzinfo=UTC)
HEADINGS = "Sample,Collected,End,Parameter,Result,Units,RL"
GOOD = {
    "Sample": "A",
    "Collected": "2026-02-03 09:00",
    "End": "",
    "Parameter": "TSS",
    "Result": "5",
    "Units": "mg/L",
    "RL": "",
}


def lab(*rows: dict[str, str], encoding: str = "utf-8") -> dict[str, Any]:
    lines = [",".join((GOOD | cells).values()) for cells in rows]
    content = "\n".join([HEADINGS, *lines]).encode(encoding)
    zone = ZoneInfo("America/Chicago")
    return to_json(read(sheet(content, filename="r.csv"), zone=zone, received_at=RECEIVED))


@pytest.mark.parametrize(
    ("cells", "column"),
    [
        ({"Result": "1e309"}, "Result"),
        ({"Result": "1e30"}, "Result"),
        ({"Result": "1e-400"}, "Result"),
        ({"Result": "1e99999999999999999999"}, "Result"),
        ({"Result": "<1e-400"}, "Result"),
        ({"Result": "0." + "0" * 50 + "1"}, "Result"),
        ({"Result": "1000001"}, "Result"),
        ({"Result": "2000000000", "Units": "ug/L"}, "Result"),
        ({"Result": "ND", "RL": "1000001"}, "Result"),
        ({"Result": "ND", "RL": "1e309"}, "RL"),
        ({"Result": "٥"}, "Result"),
        ({"Collected": "0001-01-01"}, "Collected"),
        ({"Collected": "9999-12-31 24:00"}, "Collected"),
        ({"Collected": "9999-12-31"}, "Collected"),
        ({"Collected": "1/1/0001"}, "Collected"),
        ({"Collected": "2026-03-01 06:01"}, "Collected"),
        ({"Collected": "2026-03-02"}, "Collected"),
        ({"Collected": "", "End": "2026-03-02"}, "End"),
        ({"Sample": "x" * 201}, "Sample"),
        ({"Sample": "A\0"}, "Sample"),
    ],
)
def test_what_cannot_be_is_a_fault_of_its_row(cells: dict[str, str], column: str) -> None:
    found = lab({"Sample": "good"}, cells)
    (fault,) = found["rejected"]
    assert (fault["row"], fault["column"]) == (3, column)
    assert all(fault[part] for part in ("found", "expected", "repair"))
    assert [one["sample"] for one in found["accepted"]] == ["good"]


def test_a_nul_in_a_wide_file_is_a_fault_too() -> None:
    assert [one["row"] for one in lab({"Sample": "A\0"}, encoding="utf-16")["rejected"]] == [2]


def test_a_sample_of_the_very_minute_and_a_pure_substance_are_accepted() -> None:
    found = lab({"Collected": "2026-03-01 06:00"}, {"Sample": "B", "Result": "1000000"})
    assert found["rejected"] == []


@pytest.mark.parametrize(
    ("received", "is_fault"),
    [
        ("2026-02-03 08:59", True),
        ("2026-02-03 09:00", False),
        ("2026-02-03", False),
        ("2/2/2026", True),
        ("", False),
        ("n/a", False),
    ],
)
def test_a_sample_is_taken_before_the_laboratory_has_it(received: str, is_fault: bool) -> None:
    headings = "Sample,Collected,Date Received,Parameter,Result,Units"
    content = f"{headings}\nA,2026-02-03 09:00,{received},TSS,5,mg/L".encode()
    report = read(sheet(content, filename="r.csv"), zone=ZoneInfo("America/Chicago"))
    assert [fault.column for fault in report.rejected] == ["Collected"] * is_fault


def test_full_width_digits_are_read_as_the_plain_ones() -> None:
    found = lab({"Result": "５．２", "Collected": "２０２６-02-03 09:00"})
    (one,) = found["accepted"]
    assert (one["value"], one["sampled_to"]) == ("5.2", "2026-02-03T09:00:00-06:00")


def test_samples_of_ten_years_ago_are_told_of_in_one_warning() -> None:
    old = [{"Sample": str(n), "Collected": "2016-02-28"} for n in range(3)]
    found = lab(*old, {"Sample": "new", "Collected": "2016-03-01"})
    assert len(found["accepted"]) == 4
    assert found["warnings"] == [
        "3 rows (2, 3, 4): sampled over 10 years before it was received: check the year"
    ]


def test_a_composite_of_a_century_is_refused() -> None:
    found = lab({"Collected": "", "End": "2026-02-03"})
    assert not found["rejected"]
    content = b"Sample,Start,End,Parameter,Result,Units\nA,1926-02-03,2026-02-03,TSS,5,mg/L"
    report = read(sheet(content, filename="r.csv"), zone=ZoneInfo("America/Chicago"))
    assert "within 92 days" in report.rejected[0].expected


def test_an_exact_repeat_is_called_one_and_another_value_is_not() -> None:
    found = lab({}, {}, {"Result": "6"})
    repeat, other = found["rejected"]
    assert "repeats row 2 exactly" in repeat["expected"]
    assert "row 2 has it already" in other["expected"]


def test_a_long_cell_is_cut_in_the_fault() -> None:
    (fault,) = lab({"Parameter": "x" * 5000})["rejected"]
    assert fault["found"] == "x" * 59 + "…"


@pytest.mark.parametrize(
    ("mark", "name"), [(",", "csv"), (";", "csv"), ("\t", "tsv"), ("|", "csv")]
)
def test_a_format_is_one_word(mark: str, name: str) -> None:
    content = f"Sample{mark}Parameter{mark}Result{mark}Units\nA{mark}TSS{mark}5{mark}mg/L"
    assert sheet(content.encode(), filename="r.csv").format == name
