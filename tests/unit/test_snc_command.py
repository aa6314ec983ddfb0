"""``pretreat snc``: what it prints, its exit codes, and what it refuses in a sentence."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.commands import main

Run = Callable[..., tuple[int, str, str]]
HEADER = "collected_at,point,parameter,qualifier,result,unit,taken_by\n"
LIMITS = "point,parameter,basis,limit,unit\n001,zinc,daily_max,2.61,mg/L\n"
RESULTS = HEADER + "".join(
    f"2026-0{month}-05 08:00,001,zinc,,{value},mg/L,IU\n"
    for month, value in enumerate(("2.7", "2.7", "2.65", "2.62", "2.0", "1.0"), start=1)
)


@pytest.fixture
def snc(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs ``pretreat snc`` on two texts; returns exit code, output and errors."""

    def run(results: str | bytes, limits: str, *words: str) -> tuple[int, str, str]:
        files = (tmp_path / "results.csv", tmp_path / "limits.csv")
        files[0].write_bytes(results if isinstance(results, bytes) else results.encode())
        files[1].write_text(limits)
        named = ["pretreat", "snc", str(files[0]), "--limits", str(files[1])]
        monkeypatch.setattr(sys, "argv", [*named, "--as-of", "2026-06-30", *words])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    return run


def test_it_prints_what_the_contract_says(snc: Run) -> None:
    code, out, err = snc(RESULTS, LIMITS, "--rules", "federal", "--json")
    assert (code, err) == (1, "")
    assert json.loads(out) == {
        "window": {"from": "2026-01-01", "to": "2026-06-30"},
        "provisional": False,
        "determinations": [
            {
                "point": "001", "parameter": "zinc", "basis": "daily_max", "n": 6, "exceed": 4,
                "trc": 0, "chronic_snc": True, "trc_snc": False, "status": "significant",
            }
        ],
    }  # fmt: skip


def test_before_the_windows_last_day_it_is_provisional(snc: Run) -> None:
    words = ("--rules", "federal", "--json", "--as-of")
    assert json.loads(snc(RESULTS, LIMITS, *words, "2026-06-29")[1])["provisional"] is True
    found = json.loads(snc(RESULTS, LIMITS, *words, "2026-09-30")[1])
    assert (found["window"]["from"], found["provisional"]) == ("2026-04-01", False)
    assert found["determinations"][0]["status"] == "noncompliance"


def test_one_row_for_each_limit_and_nothing_measured_is_no_data(snc: Run) -> None:
    more = LIMITS + "002,pH,instantaneous,9.0,SU\n"
    code, out, _ = snc(HEADER, more, "--ordinance", "prescott", "--json")
    found = json.loads(out)["determinations"]
    assert code == 0
    assert [row["status"] for row in found] == ["no data", "no data"]
    assert found[1]["trc_snc"] is False  # Wisconsin has a margin for pH
    (_, federal, _) = snc(HEADER, more, "--rules", "federal", "--json")
    assert json.loads(federal)["determinations"][1]["trc_snc"] is None


def test_the_table_says_plain_words_first_and_never_determines(snc: Run) -> None:
    code, out, _ = snc(RESULTS, LIMITS, "--rules", "wisconsin", "--working")
    assert code == 1
    assert "most results over the limit: meets the arithmetic of SNC (chronic), not d" in out
    assert "100 x 4 = 400 >= 66 x 6 = 396" in out
    assert "one more measurement without an exceedance" not in out  # the half-year is over
    assert "violation" not in out


def test_the_worksheet_has_a_line_for_each_measurement_and_no_formula(
    snc: Run, tmp_path: Path
) -> None:
    sheet = tmp_path / "sheet.csv"
    results = RESULTS.replace(",001,", ",=1+1,")
    snc(results, LIMITS.replace("001", "=1+1"), "--rules", "federal", "--worksheet", str(sheet))
    rows = list(csv.DictReader(sheet.read_text(encoding="utf-8").splitlines()))
    assert [row["exceeds"] for row in rows] == ["yes"] * 4 + ["no"] * 2
    assert {row["well_over_from"] for row in rows} == {"3.132 mg/L"}
    assert rows[0]["point"] == "'=1+1" and rows[0]["source"] == "row 2"


def test_gzip_and_a_file_with_its_mark_are_read(snc: Run) -> None:
    packed = gzip.compress(b"\xef\xbb\xbf" + RESULTS.replace(",", ";").encode())
    code, out, _ = snc(packed, LIMITS, "--rules", "federal", "--json")
    assert (code, json.loads(out)["determinations"][0]["n"]) == (1, 6)


def test_the_day_is_that_of_the_plant(snc: Run) -> None:
    late = HEADER + "2026-07-01T03:00:00Z,001,zinc,,5,mg/L,IU\n"
    words = ("--rules", "federal", "--json")
    assert json.loads(snc(late, LIMITS, *words)[1])["determinations"][0]["n"] == 1
    utc = snc(late, LIMITS, *words, "--tz", "UTC")
    assert json.loads(utc[1])["determinations"][0]["n"] == 0
    assert "outside the window" in utc[2]


def test_a_factor_of_the_limits_own_holds_and_never_on_ph(snc: Run) -> None:
    limits = (
        "point,parameter,basis,limit,unit,trc_factor,at_least\n"
        "001,zinc,daily_max,2.61,mg/L,1.03,\n001,ph,instantaneous,9,s.u.,1.2,6\n"
    )
    code, out, err = snc(RESULTS, limits, "--rules", "federal", "--json")
    zinc, ph = json.loads(out)["determinations"]
    assert code == 1 and zinc["trc"] == 2 and zinc["trc_snc"] is True
    assert ph["trc_snc"] is None and "passed over" in err


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("2026-13-05,001,zinc,,1,mg/L,IU", "row 2, column collected_at: found '2026-13-05'"),
        (",001,zinc,,1,mg/L,IU", "row 2, column collected_at: found ''"),
        ("2026-03-05,,zinc,,1,mg/L,IU", "row 2, column point"),
        ("2026-03-05,001,zync,,1,mg/L,IU", "row 2, column parameter: found 'zync'"),
        ("2026-03-05,001,zinc,~,1,mg/L,IU", "row 2, column qualifier: found '~'"),
        ("2026-03-05,001,zinc,,one,mg/L,IU", "row 2, column result: found 'one'"),
        ("2026-03-05,001,zinc,,-1,mg/L,IU", "row 2, column result: found '-1', expected zero"),
        ("2026-03-05,001,zinc,,1e400,mg/L,IU", "row 2, column result"),
        ("2026-03-05,001,ph,,14.1,s.u.,IU", "expected a pH from 0 to 14"),
        ("2026-03-05,001,zinc,,1,degF,IU", "row 2, column unit: found 'degF'"),
        ("2026-03-05,001,zinc,,1,lb/day,IU", "as the limit of zinc at 001 has"),
        ("2026-03-05,001,zinc,,1,mg/L,IU,more", "found 8 cells, expected 7"),
    ],
)
def test_a_bad_row_of_results_refuses_the_file(snc: Run, row: str, told: str) -> None:
    code, out, err = snc(HEADER + row + "\n", LIMITS, "--rules", "federal")
    assert (code, out) == (2, "")
    assert err.startswith("pretreat: results.csv, row 2") and told in err and "Trace" not in err


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("001,zinc,weekly,1,mg/L,,", "column basis: found 'weekly'"),
        ("001,zinc,daily_max,,mg/L,,", "column limit: found ''"),
        ("001,zinc,daily_max,1,mg/L,,2", "column at_least: found '2'"),
        ("001,zinc,daily_max,1,mg/L,0.9,", "column trc_factor: found '0.9'"),
        ('001,zinc,daily_max,"1,5",mg/L,,', "column limit: found '1,5'"),
        ("001,ph,monthly_avg,9,s.u.,,", "pH is never averaged"),
        ("001,temperature,daily_max,9,mg/L,,", "column unit"),
    ],
)
def test_a_bad_row_of_limits_refuses_the_file(snc: Run, row: str, told: str) -> None:
    header = "point,parameter,basis,limit,unit,trc_factor,at_least\n"
    code, _, err = snc(RESULTS, header + row + "\n", "--rules", "federal")
    assert code == 2 and err.startswith("pretreat: limits.csv, row 2") and told in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "--rules is missing"),
        (("--rules", "ohio"), "--rules is 'ohio'"),
        (("--ordinance", "gotham"), "no rulebook 'gotham'"),
        (("--rules", "federal", "--as-of", "June"), "--as-of is 'June'"),
        (("--rules", "federal", "--tz", "Mars"), "--tz is 'Mars'"),
    ],
)
def test_wrong_usage_is_one_sentence(snc: Run, words: tuple[str, ...], told: str) -> None:
    code, _, err = snc(RESULTS, LIMITS, *words)
    assert code == 2 and told in err and err.count("\n") == 1


def test_missing_columns_and_an_empty_file_are_named(snc: Run) -> None:
    assert (
        "add or rename qualifier"
        in snc(RESULTS.replace("qualifier", "q"), LIMITS, "--rules", "federal")[2]
    )
    assert "no limit at all" in snc(RESULTS, LIMITS.split("\n")[0], "--rules", "federal")[2]
    assert "is empty" in snc("", LIMITS, "--rules", "federal")[2]


def test_only_the_first_five_bad_rows_are_named(snc: Run) -> None:
    bad = HEADER + "2026-03-05,001,zinc,,x,mg/L,IU\n" * 8
    err = snc(bad, LIMITS, "--rules", "federal")[2]
    assert err.count("column result") == 5 and "and 3 more rows" in err
