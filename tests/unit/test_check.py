"""``pretreat check``, as people and scripts call it: the sentences of its contract."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from app.commands import main

HEADER = "at,point,parameter,value,unit"
Run = Callable[..., tuple[int, Any]]


@pytest.fixture
def check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs the command on rows; returns its exit code and its JSON, or what it said."""

    def run(rows: list[str], *options: str, header: str = HEADER, json_too: bool = True):
        file = tmp_path / "export.csv"
        file.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
        options = options or ("--ordinance", "prescott")
        argv = ["pretreat", "check", str(file), *options, *(["--json"] if json_too else [])]
        monkeypatch.setattr(sys, "argv", argv)
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        code = int(end.value.code or 0)
        return code, (err if code == 2 else json.loads(out) if json_too else out)

    return run


def minutes(kind: str, unit: str, *values: object, hour: int = 8, **more: str) -> list[str]:
    tail = "".join(f",{value}" for value in more.values())
    return [
        f"2026-03-01T{hour + m // 60:02}:{m % 60:02}:00,MH-1,{kind},{value},{unit}{tail}"
        for m, value in enumerate(values)
    ]


def found(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(f["rule"], f["side"], f["worst"]) for f in report["findings"]]


def test_exactly_the_right_ones_are_found(check: Run) -> None:
    rows = minutes("ph", "s.u.", "5.9", "6.0", "9.0", "9.01")
    rows += minutes("temperature", "degC", "65.5", "65.6")
    code, report = check(rows)
    assert code == 1
    assert found(report) == [
        ("prescott.ph", "below", "5.9"),
        ("prescott.temperature", "above", "150.08"),
        ("prescott.ph", "above", "9.01"),
    ]


def test_cmp_08_values_on_the_limit(check: Run) -> None:
    rows = minutes("ph", "SU", "5.99", "6.0", "9.0", "9.01", quality="", sample="")
    rows += minutes("temperature", "°F", "150.0", "150.1", quality="", sample="")
    rows += minutes("petroleum oil", "ppm", "25", "25.0", "25.1", quality="good", sample="grab")
    _, report = check(rows, header=f"{HEADER},quality,sample_type")
    assert sorted(worst for _, _, worst in found(report)) == ["150.1", "25.1", "5.99", "9.01"]
    assert {f["authority"] for f in report["findings"]} == {"ordinance"}


def test_the_shape_of_a_report(check: Run) -> None:
    day = ["7.00"] * 1440
    day[480:485] = ["5.40", "5.20", "5.30", "5.50", "5.90"]
    rows = [
        f"2026-03-01T{m // 60:02}:{m % 60:02}:00-06:00,MH-1,ph,{value},s.u.,"
        + ("bad" if 600 <= m < 605 else "good")
        for m, value in enumerate(day)
    ]
    code, report = check(rows, header=f"{HEADER},quality")
    assert code == 1
    (finding,) = report["findings"]
    assert finding.pop("citation").startswith("§ 470-4")
    assert finding == {
        "rule": "prescott.ph", "kind": "exceedance", "point": "MH-1", "parameter": "ph",
        "side": "below", "starts_at": "2026-03-01T08:00:00-06:00",
        "ends_at": "2026-03-01T08:05:00-06:00", "seconds": 300, "seconds_beyond": 300, "runs": 1,
        "worst": "5.20", "limit": "6.0", "unit": "s.u.", "readings": 5, "open_ended": False,
        "review": False, "authority": "ordinance",
    }  # fmt: skip
    assert report["coverage"] == [
        {
            "point": "MH-1", "parameter": "ph", "readings": 1440, "good": 1435, "flagged": 5,
            "gaps": [{"from": "2026-03-01T10:00:00-06:00", "to": "2026-03-01T10:05:00-06:00"}],
            "completeness": "0.9965",
        }
    ]  # fmt: skip
    assert report["ordinances"] == ["prescott"]
    assert report["not_evaluated"] == []
    assert report["warnings"] == []


def test_cmp_10_no_averaging_no_borrowed_excuse(check: Run) -> None:
    values = ["7.5"] * 60 + ["4.8"] * 20 + ["7.5"] * 40
    code, report = check(
        minutes("ph", "s.u.", *values), "--ordinance", "prescott", "--ordinance", "federal"
    )
    assert code == 1
    assert [(f["rule"], f["seconds"], f["worst"]) for f in report["findings"]] == [
        ("federal.ph_floor", 1200, "4.8"),
        ("prescott.ph", 1200, "4.8"),
    ]


def test_d13_d15_the_minutes_of_other_rules_do_not_apply_here(check: Run) -> None:
    """446 minutes a month are for direct dischargers, 15 minutes another county's."""
    code, report = check(minutes("ph", "s.u.", "7", "5.2", "7"), "--ordinance", "federal")
    assert (code, report["findings"]) == (0, [])
    code, _ = check(minutes("ph", "s.u.", "7", "4.99", "7"), "--ordinance", "federal")
    assert code == 1


def test_d35_ph_is_never_averaged(check: Run) -> None:
    _, report = check(minutes("ph", "s.u.", "4.0", "10.0"))
    assert [side for _, side, _ in found(report)] == ["below", "above"]


def test_a_finding_on_a_suspect_reading_is_for_review(check: Run) -> None:
    rows = minutes("ph", "s.u.", "7", "5", "7", quality="suspect")
    _, report = check(rows, header=f"{HEADER},quality")
    assert report["findings"][0]["review"] is True
    assert report["coverage"][0]["good"] == 3


@pytest.mark.parametrize(
    "row", ["5,bad", "5,missing", "5,maintenance", "NaN,good", "14.1,good", "-1,good"]
)
def test_what_is_not_judged_is_flagged_and_never_found(check: Run, row: str) -> None:
    value, quality = row.split(",")
    rows = [
        *minutes("ph", "s.u.", "7", quality="good"),
        f"2026-03-01T08:01:00,MH-1,ph,{value},s.u.,{quality}",
    ]
    code, report = check(rows, header=f"{HEADER},quality")
    assert (code, report["findings"]) == (0, [])
    assert (report["coverage"][0]["good"], report["coverage"][0]["flagged"]) == (1, 1)


def test_an_oil_monitor_is_screening_and_alone_exits_zero(check: Run) -> None:
    code, report = check(minutes("petroleum_oil", "mg/L", "20", "26", "20"))
    assert code == 0
    (finding,) = report["findings"]
    assert (finding["kind"], finding["authority"]) == ("exceedance", "program")


def test_oil_from_a_composite_is_not_judged(check: Run) -> None:
    rows = minutes("petroleum_oil", "mg/L", "200", sample="composite")
    code, report = check(rows, header=f"{HEADER},sample_type")
    assert (code, report["findings"]) == (0, [])
    assert "judged from grab" in report["not_evaluated"][0]["reason"]


def test_monona_has_no_limit_loaded_and_never_says_compliant(check: Run) -> None:
    code, report = check(minutes("ph", "s.u.", "2.0"), "--ordinance", "monona")
    assert code == 0
    assert report["not_evaluated"] == [
        {"parameter": "ph", "reason": "no limit in force", "from": None, "to": None}
    ]


def test_cadmium_has_no_limit_in_force(check: Run) -> None:
    _, report = check(
        minutes("cadmium", "mg/L", "0.5", sample="grab"), header=f"{HEADER},sample_type"
    )
    assert report["not_evaluated"] == [
        {"parameter": "cadmium", "reason": "no limit in force", "from": None, "to": None}
    ]


def test_the_span_before_the_limit_is_named(check: Run) -> None:
    rows = [f"2017-06-{day}T12:00:00-05:00,MH-1,ph,5.0,s.u." for day in (10, 11, 12, 13)]
    code, report = check(rows)
    assert code == 1
    assert report["findings"][0]["starts_at"] == "2017-06-12T12:00:00-05:00"
    assert report["not_evaluated"] == [
        {
            "parameter": "ph",
            "reason": "no limit in force",
            "from": "2017-06-10T12:00:00-05:00",
            "to": "2017-06-12T00:00:00-05:00",
        }
    ]


def test_a_file_wholly_before_the_limit_has_no_span(check: Run) -> None:
    code, report = check(["2017-06-10T12:00:00-05:00,MH-1,ph,5.0,s.u."])
    assert code == 0
    assert report["not_evaluated"][0]["from"] is None


def test_slugs_are_screened_on_meters_and_exit_zero(check: Run) -> None:
    flow = ["40"] * 780 + ["230"] * 16 + ["40"] * 5
    code, report = check(minutes("flow", "gpm", *flow))
    assert code == 0
    (finding,) = report["findings"]
    assert (finding["rule"], finding["kind"], finding["authority"]) == (
        "prescott.slug", "possible_slug", "program",
    )  # fmt: skip
    assert (finding["worst"], finding["limit"], finding["seconds"]) == ("230", "200.00", 960)
    (early,) = report["not_evaluated"]
    assert (early["parameter"], early["from"][11:16], early["to"][11:16]) == (
        "flow",
        "08:00",
        "20:00",
    )


def test_a_baseline_screens_a_short_record(check: Run) -> None:
    rows = minutes("flow", "gpm", *["230"] * 17)
    assert check(rows)[1]["findings"] == []
    options = ("--ordinance", "monona", "--baseline", "MH-1:flow=40")
    assert found(check(rows, *options)[1]) == [("monona.slug", "above", "230")]


def test_interval_rejoin_and_zone_are_options(check: Run) -> None:
    rows = minutes("ph", "s.u.", "5", "7", "7", "5", "7")
    assert check(rows)[1]["findings"][0]["runs"] == 2
    options = ("--ordinance", "prescott", "--rejoin", "100", "--tz", "UTC", "--interval", "30")
    report = check(rows, *options)[1]
    assert [f["starts_at"] for f in report["findings"]] == [
        "2026-03-01T08:00:00+00:00",
        "2026-03-01T08:03:00+00:00",
    ]
    assert report["coverage"][0]["completeness"] == "0.5556"


def test_a_converted_worst_never_prints_as_the_limit(check: Run) -> None:
    _, report = check(minutes("temperature", "degC", "65.556"))
    worst = report["findings"][0]["worst"]
    assert Decimal(worst) > 150
    assert not check(minutes("temperature", "degC", "65.555"))[1]["findings"]


def test_a_number_longer_than_a_float_passes_the_limit(check: Run) -> None:
    _, report = check(minutes("ph", "s.u.", "9.0000000000000000001"))
    assert found(report) == [("prescott.ph", "above", "9.0000000000000000001")]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--ordinance", "springfield"), "springfield"),
        (("--ordinance", "prescott", "--tz", "Nowhere"), "--tz"),
        (("--ordinance", "prescott", "--fold", "third"), "--fold"),
        (("--ordinance", "prescott", "--interval", "0"), "--interval"),
        (("--ordinance", "prescott", "--rejoin", "-1"), "--rejoin"),
        (("--ordinance", "prescott", "--baseline", "flow=40"), "--baseline"),
        (("--ordinance", "prescott", "--baseline", "MH-9:flow=40"), "MH-9:flow"),
        (("--ordinance", "prescott", "--baseline", "MH-1:pH=7"), "not screened for slugs"),
        (("--ordinance", "prescott", "--baseline", "MH-1:ph=1e999"), "--baseline"),
        (("--ordinance", "prescott", "--baseline", "MH-1:ph=1e-999"), "--baseline"),
    ],
)
def test_a_wrong_option_is_one_sentence(check: Run, options: tuple[str, ...], says: str) -> None:
    code, said = check(minutes("ph", "s.u.", "7"), *options)
    assert code == 2
    assert says in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--ordinance", "federal", "--baseline", "MH-1:flow=40"), "screens no slugs"),
        (("--baseline", "MH-1:flow=40", "--baseline", "MH-1:Flow=50"), "a second value"),
        (("--baseline", "MH-1:tss=40"), "from samples only"),
    ],
)
def test_a_baseline_is_never_ignored(check: Run, options: tuple[str, ...], says: str) -> None:
    rows = minutes("flow", "gpm", "40", sample="meter") + minutes("tss", "mg/L", "9", sample="grab")
    given = options if "--ordinance" in options else ("--ordinance", "prescott", *options)
    code, said = check(rows, *given, header=f"{HEADER},sample_type")
    assert code == 2
    assert says in said


def test_a_record_that_is_all_flagged_is_said_to_be_unjudged(check: Run) -> None:
    rows = minutes("ph", "s.u.", "5", "5", quality="bad")
    code, out = check(rows, header=f"{HEADER},quality", json_too=False)
    assert code == 0
    assert "No reading could be judged" in out


def test_standard_input_is_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = "\n".join([HEADER, *minutes("ph", "s.u.", "5")]).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    monkeypatch.setattr(
        sys, "argv", ["pretreat", "check", "-", "--ordinance", "prescott", "--json"]
    )
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    assert json.loads(capsys.readouterr().out)["findings"]


def test_the_table_for_people_names_the_finding(check: Run) -> None:
    code, out = check(minutes("ph", "s.u.", "7", "5.2", "7"), json_too=False)
    assert code == 1
    assert "prescott.ph" in out
    assert "5.2 s.u." in out
