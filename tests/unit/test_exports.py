"""Historian exports: what is understood, and one sentence for each way to be wrong."""

from __future__ import annotations

import gzip
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from app.historian.exports import FileSeries, Manner, ReadingFile, parse, read
from compliance.errors import InputError
from compliance.model.parameters import Parameter
from compliance.model.periods import from_us
from compliance.model.readings import Quality
from compliance.model.units import Unit
from compliance.rules.schema import SampleSource

CHICAGO = ZoneInfo("America/Chicago")
MANNER = Manner(zone=CHICAGO)
HEADER = "at,point,parameter,value,unit\n"


def opened(*rows: str, header: str = HEADER, manner: Manner = MANNER) -> ReadingFile:
    return parse((header + "\n".join(rows) + "\n").encode(), "export.csv", manner)


def only(*rows: str, header: str = HEADER, manner: Manner = MANNER) -> FileSeries:
    (one,) = opened(*rows, header=header, manner=manner).series
    return one


def utc(one: FileSeries) -> list[str]:
    return [from_us(at).isoformat()[:16] for at in one.series.at_us.tolist()]


def refusal(*rows: str, header: str = HEADER, manner: Manner = MANNER) -> str:
    with pytest.raises(InputError) as error:
        opened(*rows, header=header, manner=manner)
    return str(error.value)


@pytest.mark.parametrize(
    ("row", "column", "found"),
    [
        ("2026-03-01T08:00:00,MH-1,ph,7.x,SU", "value", "7.x"),
        ('2026-03-01T08:00:00,MH-1,ph,"7,2",SU', "value", "7,2"),
        ("2026-03-01T08:00:00,MH-1,ph,1_0,SU", "value", "1_0"),
        ("2026-03-01T08:00:00,MH-1,ph,<7,SU", "value", "<7"),
        ("2026-03-01T08:00:00,MH-1,ph,7.2,furlong", "unit", "furlong"),
        ("2026-03-01T08:00:00,MH-1,ph,7.2,", "unit", ""),
        ("2026-03-01T08:00:00,MH-1,ph,7.2,mg/L", "unit", "mg/L"),
        ("2026-03-01T08:00:00,MH-1,acidity,7.2,SU", "parameter", "acidity"),
        ("2026-03-01T08:00:00,,ph,7.2,SU", "point", ""),
        ("2026-02-30T08:00:00,MH-1,ph,7.2,SU", "at", "2026-02-30T08:00:00"),
        ("2026-03-01T25:00:00,MH-1,ph,7.2,SU", "at", "2026-03-01T25:00:00"),
        ("2026-03-01,MH-1,ph,7.2,SU", "at", "2026-03-01"),
        ("3/1/2026 8:00,MH-1,ph,7.2,SU", "at", "3/1/2026 8:00"),
        (",MH-1,ph,7.2,SU", "at", ""),
        ("2026-03-08T02:30:00,MH-1,ph,7.2,SU", "at", "2026-03-08T02:30:00"),
        ("2026-11-01T01:30:00,MH-1,ph,7.2,SU", "at", "2026-11-01T01:30:00"),
    ],
)
def test_a_bad_row_refuses_the_file_in_one_sentence(row: str, column: str, found: str) -> None:
    said = refusal("2026-03-01T07:00:00,MH-1,ph,7.1,SU", row)
    assert said.startswith(f"export.csv, row 3, column {column}: found {found!r}, expected ")
    assert "; " in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("columns", "row", "column"),
    [
        ("quality", "fine", "quality"),
        ("sample_type", "bottle", "sample_type"),
    ],
)
def test_optional_columns_are_closed_in_spelling(columns: str, row: str, column: str) -> None:
    said = refusal(
        f"2026-03-01T08:00:00,MH-1,ph,7,SU,{row}", header=f"{HEADER.strip()},{columns}\n"
    )
    assert f"row 2, column {column}: found {row!r}" in said


def test_the_first_five_bad_rows_are_named() -> None:
    said = refusal(*(f"2026-03-01T08:0{i}:00,MH-1,ph,x,SU" for i in range(8)))
    assert [line.split(",")[1] for line in said.splitlines()] == [f" row {n}" for n in range(2, 7)]


def test_a_missing_column_is_named() -> None:
    assert "add unit" in refusal("2026-03-01T08:00,A,ph,7", header="at,point,parameter,value\n")


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe\x00", b"\x1f\x8b broken"])
def test_a_file_that_is_no_table_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "export.csv"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"export\.csv"):
        read(str(file), MANNER)
    with pytest.raises(InputError, match=r"nowhere\.csv"):
        read(str(tmp_path / "nowhere.csv"), MANNER)


def test_a_row_with_too_many_fields_is_named() -> None:
    good = "2026-03-01T08:00:00,MH-1,ph,7.2,SU"
    assert "row 3" in refusal(good, good + ",more")
    assert "more fields" in refusal(good + ",more")


def test_a_row_that_is_cut_short_is_named() -> None:
    assert "row 2, column unit" in refusal("2026-03-01T08:00:00,MH-1,ph,7.2")


def test_offsets_are_taken_as_they_are_and_local_times_in_the_zone() -> None:
    one = only(
        "2026-03-01T08:00:00Z,MH-1,ph,7,SU",
        "2026-03-01 03:00:00 -06:00,MH-1,ph,7,SU",
        "2026-03-01T04:00,MH-1,ph,7,SU",
        "2026-03-01T05:00:00.5-0600,MH-1,ph,7,SU",
    )
    assert utc(one) == [f"2026-03-01T{hour}:00" for hour in ("08", "09", "10", "11")]


HOUR = ("01:00", "01:30")


@pytest.mark.parametrize("backwards", [False, True])
def test_where_a_series_passes_the_repeated_hour_twice_the_order_decides(backwards: bool) -> None:
    times = ["00:30", *HOUR, *HOUR, "02:00"]
    rows = [f"2026-11-01T{time},MH-1,ph,7.{i},SU" for i, time in enumerate(times)]
    file = opened(*(rows[::-1] if backwards else rows))
    (one,) = file.series
    assert utc(one) == [
        f"2026-11-01T{t}" for t in ("05:30", "06:00", "06:30", "07:00", "07:30", "08:00")
    ]
    assert [one.written(i)[0] for i in range(6)] == [f"7.{i}" for i in range(6)]
    assert "order of the rows decided" in file.warnings[0]


def test_hourly_readings_pass_it_twice_too() -> None:
    times = ["00:00", "01:00", "01:00", "02:00"]
    one = only(*(f"2026-11-01T{time},MH-1,ph,7,SU" for time in times))
    assert np.diff(one.series.at_us).tolist() == [3_600_000_000] * 3


def test_each_series_is_decided_by_its_own_rows() -> None:
    twice = [f"2026-11-01T{time},MH-1,ph,7,SU" for time in (*HOUR, *HOUR)]
    once = [f"2026-11-01T{time},MH-2,ph,7,SU" for time in HOUR]
    said = refusal(*twice, *once)
    assert [line.split(",")[1] for line in said.splitlines()] == [" row 6", " row 7"]


def test_rows_in_no_order_do_not_decide_the_repeated_hour() -> None:
    times = ["01:00", "03:00", "01:30", "02:00", "01:00"]
    assert "repeated hour" in refusal(*(f"2026-11-01T{t},MH-1,ph,7,SU" for t in times))


@pytest.mark.parametrize(("fold", "hour"), [("first", "06"), ("second", "07")])
def test_fold_decides_where_the_order_does_not(fold: str, hour: str) -> None:
    manner = Manner(zone=CHICAGO, fold=fold)
    assert utc(only("2026-11-01T01:30,MH-1,ph,7,SU", manner=manner)) == [f"2026-11-01T{hour}:30"]


def test_rows_may_come_in_any_order_and_one_said_twice_counts_once() -> None:
    rows = [f"2026-03-01T08:0{i}:00,MH-1,ph,7.{i},SU" for i in (3, 1, 2)]
    file = opened(*rows, "2026-03-01T08:01:00,MH-1,pH,7.10,s.u.")
    assert [file.series[0].written(i)[0] for i in range(3)] == ["7.1", "7.2", "7.3"]
    assert file.warnings == ("1 row repeats another one and counts once",)


def test_two_values_at_one_instant_are_refused() -> None:
    said = refusal("2026-03-01T08:00,MH-1,ph,7.1,SU", "2026-03-01T08:00,MH-1,ph,7.2,SU")
    assert "row 3" in said
    assert "row 2" in said


def test_spellings_of_one_parameter_are_one_series_in_one_unit() -> None:
    one = only(
        "2026-03-01T08:00,MH-1,Temp,50,°C",
        "2026-03-01T08:01,MH-1,temperature,122,degF",
    )
    assert (one.parameter, one.unit) == (Parameter.TEMPERATURE, Unit.DEG_C)
    assert one.series.value.tolist() == pytest.approx([50.0, 50.0])
    assert one.exact(1) == 50
    assert one.written(1) == ("122", Unit.DEG_F)


def test_quality_and_sample_type_are_read_and_absent_means_good_meter() -> None:
    header = HEADER.strip() + ",quality,sample_type\n"
    file = opened(
        "2026-03-01T08:00,MH-1,ph,7,SU,bad,",
        "2026-03-01T08:01,MH-1,ph,7,SU,,meter",
        "2026-03-01T08:02,MH-1,ph,NaN,SU,,",
        "2026-03-01T08:03,MH-1,ph,,SU,missing,",
        "2026-03-01T08:00,MH-1,ph,7,SU,suspect,grab",
        header=header,
    )
    assert [one.source for one in file.series] == [SampleSource.METER, SampleSource.GRAB]
    quality = [Quality(q) for q in file.series[0].series.quality.tolist()]
    assert quality[0] == Quality.DECLARED_BAD
    assert quality[1] == Quality.GOOD
    assert Quality.NOT_FINITE in quality[2]
    assert Quality.MISSING_MARK in quality[3]


def test_the_interval_is_the_median_step_or_a_minute_for_one_reading() -> None:
    one = only(*(f"2026-03-01T08:{m:02}:00,MH-1,ph,7,SU" for m in (0, 5, 10, 40)))
    assert one.interval_us == 300_000_000
    assert only("2026-03-01T08:00,MH-1,ph,7,SU").interval_us == 60_000_000
    given = Manner(zone=CHICAGO, interval_us=5_000_000)
    assert only("2026-03-01T08:00,MH-1,ph,7,SU", manner=given).interval_us == 5_000_000


def test_gzip_semicolons_a_mark_of_order_and_blank_lines_are_understood(tmp_path: Path) -> None:
    text = "\ufeffAt;Point;Parameter;Value;Unit\n\n2026-03-01T08:00;MH-1;pH;7.2;s.u.\n\n"
    file = tmp_path / "export.csv.gz"
    file.write_bytes(gzip.compress(text.encode()))
    (one,) = read(str(file), MANNER).series
    assert one.written(0) == ("7.2", Unit.SU)


def test_rows_are_counted_with_blank_lines() -> None:
    assert "row 4" in refusal("2026-03-01T08:00,MH-1,ph,7,SU", "", "2026-03-01T08:01,MH-1,ph,x,SU")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_a_degree_sign_is_understood_however_windows_wrote_it(encoding: str) -> None:
    content = f"{HEADER}2026-03-01T08:00,MH-1,temperature,50,°C\n".encode(encoding)
    (one,) = parse(content, "export.csv", MANNER).series
    assert one.unit is Unit.DEG_C
