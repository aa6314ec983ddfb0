"""``pretreat capacity`` on files: the five-day plant, exit codes, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from app.commands import pretreat
from compliance.errors import InputError, NotInForce

HEADER = "date,flow_gpd,bod5_mg_l,tss_mg_l,tp_mg_l"
PLANT = """\
average_design: {flow_mgd: 0.70, bod5_lb_day: "1400", tss_lb_day: 1600, tp_lb_day: 45}
source: CMAR 2025
"""
START = date(2025, 7, 1)
Files = Callable[..., list[str]]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    def write(rows: list[str], *, plant: str = PLANT, header: str = HEADER) -> list[str]:
        (tmp_path / "loads.csv").write_text("\n".join([header, *rows, ""]))
        (tmp_path / "plant.yaml").write_text(plant)
        return ["capacity", str(tmp_path / "loads.csv"), "--plant", str(tmp_path / "plant.yaml")]

    return write


def run(arguments: list[str]) -> tuple[int, dict[str, Any]]:
    answer = CliRunner().invoke(pretreat, [*arguments, "--json"], catch_exceptions=False)
    return answer.exit_code, json.loads(answer.stdout)


def said(arguments: list[str]) -> str:
    with pytest.raises(InputError) as error:
        CliRunner().invoke(pretreat, arguments, catch_exceptions=False)
    return str(error.value)


def days(row: str, count: int = 365) -> list[str]:
    return [f"{START + timedelta(days=n)},{row}" for n in range(count)]


def five_days() -> list[str]:
    rows = []
    for n in range(365):
        day = START + timedelta(days=n)
        flow = 91_000 if day.weekday() < 5 else 0
        rows.append(f"{day},{flow},{250 if day.weekday() == 2 else ''},,")
    return rows


def test_the_plant_of_five_days_is_not_required(files: Files) -> None:
    code, found = run(files(five_days()))
    assert code == 0
    assert (found["required"], found["projected"], found["by"]) == (False, False, [])
    assert found["shares"] == {"flow": "9.30", "bod5": "9.69", "tss": None, "tp": None}
    assert found["samples"] == {"bod5": 52, "tss": 0, "tp": 0}
    assert found["days"] == 365
    assert found["sampled_days"]["bod5"] == "13.55"


def test_ten_percent_exactly_is_exit_one(files: Files) -> None:
    code, found = run(files(days("70000,150,150,5")))
    assert code == 1
    assert (found["required"], found["by"]) == (True, ["flow"])
    assert found["shares"] == {"flow": "10.00", "bod5": "6.26", "tss": "5.47", "tp": "6.49"}


def test_a_hair_less_is_not_and_prints_so(files: Files) -> None:
    code, found = run(files(days("69999.993,,,")))
    assert code == 0
    assert found["shares"]["flow"] == "9.999999"


def test_fewer_than_twelve_months_are_projected_and_never_required(files: Files) -> None:
    code, found = run(files(days("140000,,,", count=364)))
    assert code == 0
    assert (found["required"], found["projected"], found["by"]) == (False, True, ["flow"])


def test_rows_come_in_any_order(files: Files) -> None:
    rows = five_days()
    assert run(files(list(reversed(rows)))) == run(files(rows))


def test_only_the_twelve_months_that_end_with_the_last_day_count(files: Files) -> None:
    early = [f"{START - timedelta(days=n)},700000,,," for n in range(1, 30)]
    assert run(files([*early, *days("7000,,,")]))[1]["shares"]["flow"] == "1.00"


def test_sanitary_flow_is_left_out_with_its_basis(files: Files) -> None:
    header = f"{HEADER},sanitary_gpd"
    rows = days("70000,,,,700")
    code, found = run(files(rows, header=header, plant=f"{PLANT}sanitary_basis: 35 people\n"))
    assert (code, found["shares"]["flow"], found["warnings"]) == (0, "9.90", [])
    assert any("35 people" in line for line in found["working"]["flow"])
    assert "on which basis" in run(files(rows, header=header))[1]["warnings"][0]


def test_a_blank_is_no_record_and_a_zero_a_day_without_discharge(files: Files) -> None:
    rows = days("70000,,,")
    rows[10:110] = [f"{row.split(',')[0]},0,,," for row in rows[10:110]]
    assert run(files(rows))[1]["shares"]["flow"] == "7.26"
    rows[10:20] = [f"{row.split(',')[0]},,,," for row in rows[10:20]]
    found = run(files(rows))[1]
    assert found["days"] == 355
    assert any("10 of 365 days" in one for one in found["warnings"])


def test_a_sample_without_flow_is_told_and_does_not_count(files: Files) -> None:
    rows = days("70000,,,")
    rows[5] = f"{rows[5].split(',')[0]},,900,,"
    found = run(files(rows))[1]
    assert found["samples"]["bod5"] == 0
    assert any("1 sampled day without" in one for one in found["warnings"])


def test_a_load_that_the_document_does_not_have_is_not_known(files: Files) -> None:
    plant = "average_design: {flow_mgd: 0.7, bod5_lb_day: 1400}\nsource: CMAR 2025\n"
    found = run(files(days("7000,150,150,5"), plant=plant))[1]
    assert found["shares"]["tss"] is None
    assert found["states"]["tss"] == "unknown"


def test_two_years_have_a_forecast(files: Files) -> None:
    rows = [f"{START + timedelta(days=n)},{40_000 + 20 * n},,," for n in range(730)]
    ahead = run(files(rows))[1]["forecast"]["flow"]
    assert ahead["on"] > "2027-06-30"
    assert "straight line" in ahead["says"]


def test_people_read_a_table_with_the_working(files: Files) -> None:
    answer = CliRunner().invoke(pretreat, files(days("70000,,,")), catch_exceptions=False)
    assert answer.exit_code == 1
    assert "the Director determines" in answer.stdout
    assert "70000.00 gpd ÷ 0.70 MGD" in answer.stdout


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("2025-13-01,1,,,", "row 2, column date: found '2025-13-01'"),
        ("07/01/2025,1,,,", "write it year first"),
        ("2025-07-01,-1,,,", "row 2, column flow_gpd: found '-1'"),
        ("2025-07-01,nan,,,", "plain number"),
        ("2025-07-01,1e9,,,", "plain number"),
        ("2025-07-01,1,<2,,", "column bod5_mg_l: found '<2'"),
        ("2025-07-01,70,000,1,1,1,1", "found 7 cells, expected 5"),
        ("2025-07-01,1,,,\n2025-07-01,2,,,", "row 3, column date"),
        ("", "no row of a day"),
    ],
)
def test_a_bad_row_refuses_the_file_in_a_sentence(files: Files, row: str, sentence: str) -> None:
    told = said(files([row]))
    assert told.startswith("loads.csv") and sentence in told


def test_five_bad_rows_are_named_and_the_others_counted(files: Files) -> None:
    told = said(files([f"2025-07-0{n},x,,," for n in range(1, 9)]))
    assert told.count("column flow_gpd") == 5 and told.endswith("and 3 more")


@pytest.mark.parametrize(
    ("plant", "sentence"),
    [
        ("source: x\n", "average_design"),
        ("average_design: {bod5_lb_day: 1}\nsource: x\n", "average_design.flow_mgd is 'missing'"),
        ("average_design: {flow_mgd: 0}\nsource: x\n", "flow_mgd is '0'"),
        ("average_design: {flow_mgd: a lot}\nsource: x\n", "'a lot'"),
        ("average_design: {flow_mgd: 1, cod_lb_day: 2}\nsource: x\n", "'cod_lb_day'"),
        ("average_design: {flow_mgd: 1}\n", "source is missing"),
        ("average_design: {flow_mgd: 1}\nsource: x\nplant: y\n", "'plant'"),
        ("average_design: {flow_mgd: 1\n", "not YAML"),
        ("- 1\n", "no plant"),
    ],
)
def test_a_plant_that_cannot_be_used_is_refused(files: Files, plant: str, sentence: str) -> None:
    told = said(files(days("1,,,"), plant=plant))
    assert told.startswith("plant.yaml") and sentence in told


def test_a_missing_column_is_named(files: Files) -> None:
    assert "add tp_mg_l" in said(files(["2025-07-01,1,,"], header=HEADER[: HEADER.rindex(",")]))


def test_a_city_without_such_a_test_is_told(files: Files) -> None:
    assert "no test of a share" in said([*files(days("1,,,")), "--ordinance", "monona"])


def test_before_the_rule_there_is_no_test(files: Files) -> None:
    with pytest.raises(NotInForce):
        run(files(["2010-01-01,1,,,"]))


def test_a_file_that_is_not_there_is_a_sentence(files: Files, tmp_path: Path) -> None:
    arguments = files(days("1,,,"))
    arguments[1] = str(tmp_path / "nothing.csv")
    assert "nothing.csv cannot be read" in said(arguments)
