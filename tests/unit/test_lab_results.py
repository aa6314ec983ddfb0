"""Laboratory files: every row becomes a result or a fault, and none is lost on the way."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from app.labfiles import sheet
from compliance.errors import InputError
from compliance.model.samples import Sample, SampleType, TakenBy
from compliance.sampling.results import read, to_json
from compliance.sampling.takings import civil_day

CHICAGO = ZoneInfo("America/Chicago")


def lab(text: str | bytes) -> dict[str, Any]:
    content = text.encode() if isinstance(text, str) else text
    return to_json(read(sheet(content, filename="results.csv"), zone=CHICAGO))


def case(shared: Path, case_id: str) -> dict[str, Any]:
    reports = json.loads((shared / "cases" / "field_reports.json").read_text())
    return lab(next(one["input"] for one in reports if one["id"] == case_id))


def values(found: dict[str, Any]) -> list[str]:
    return [one["qualifier"] + one["value"] for one in found["accepted"]]


def rejected_rows(found: dict[str, Any]) -> list[int]:
    return [one["row"] for one in found["rejected"]]


@pytest.mark.parametrize(
    ("case_id", "accepted", "rejected"),
    [
        ("LAB-01", ["<5.0", "<5.0"], [4]),
        ("LAB-03", ["<5.0", "<5.0"], [4, 5]),
        ("LAB-06", ["<0.150", "0.210"], []),
        ("LAB-08", ["9.78", "10.11", "30.0"], []),
        ("LAB-13", ["210", "220", "230", "240"], []),
        ("LAB-17", [], [5]),
        ("LAB-19", ["180", "196"], [4, 5]),
        ("LAB-23", ["1.9"], [3, 4, 5]),
        ("LAB-25", ["<2.0"], [2, 4]),
        ("LAB-27", ["200", "210", "220"], []),
        ("TIM-05", ["220"], [2]),
    ],
)
def test_reports_from_the_field_are_read_right(
    shared: Path, case_id: str, accepted: list[str], rejected: list[int]
) -> None:
    found = case(shared, case_id)
    assert values(found) == accepted
    assert rejected_rows(found) == rejected
    assert found["rows"] == len(accepted) + len(rejected)


def test_a_limit_is_converted_by_its_own_unit(shared: Path) -> None:
    assert [one["rl"] for one in case(shared, "LAB-06")["accepted"]] == ["0.150", "0.150"]


def test_midnight_at_the_end_of_a_day_is_told_and_a_date_alone_stays_one(shared: Path) -> None:
    found = case(shared, "LAB-13")
    assert [one["sampled_to"] for one in found["accepted"]] == [
        "2024-03-31T09:00:00-05:00",
        "2024-03-31T21:00:00-05:00",
        "2024-04-01T00:00:00-05:00",
        "2024-03-31",
    ]
    assert any("24:00" in warning for warning in found["warnings"])


def test_tim_05_a_time_that_never_was_is_refused_and_a_repeated_one_taken_and_said(
    shared: Path,
) -> None:
    found = case(shared, "TIM-05")
    assert found["rejected"][0]["expected"].startswith("a time that exists")
    assert found["accepted"][0]["sampled_to"] == "2024-11-03T01:30:00-05:00"
    assert any("comes twice" in warning for warning in found["warnings"])


@pytest.mark.parametrize(
    "unit", [b"\xb5g/L", "µg/L".encode(), "μg/L".encode(), "Âµg/L".encode(), b"ug/L", b"mcg/L"]
)
def test_micrograms_are_never_milligrams(unit: bytes) -> None:
    assert values(lab(b"Sample,Parameter,Result,Units\nG-1,Zinc,120," + unit)) == ["0.120"]


def test_a_byte_order_mark_hides_no_column() -> None:
    found = lab(
        b"\xef\xbb\xbfCollected,Sample ID,Parameter,Result,Units\n2024-03-05 08:00,H-1,TSS,310,mg/L"
    )
    assert found["accepted"][0]["sampled_from"] == "2024-03-05T08:00:00-06:00"


def test_a_header_is_found_under_a_letterhead_between_semicolons() -> None:
    found = lab("Prairie Labs, Inc.\n\nReport 7\nSample;Analyte;Result;Units\nA;TSS;18;mg/L")
    assert (found["accepted"][0]["row"], values(found)) == (5, ["18"])


@pytest.mark.parametrize(
    ("cells", "dates"),
    [
        (["3/4/2024", "10/28/2024"], ["2024-03-04", "2024-10-28"]),
        (["3/4/2024", "28/10/2024"], ["2024-04-03", "2024-10-28"]),
    ],
)
def test_slash_dates_of_a_column_have_one_order(cells: list[str], dates: list[str]) -> None:
    rows = "".join(f"{n},{cell},TSS,1,mg/L\n" for n, cell in enumerate(cells))
    found = lab("Sample,Collected,Parameter,Result,Units\n" + rows)
    assert [one["sampled_to"] for one in found["accepted"]] == dates


def test_slash_dates_that_fit_no_one_order_are_all_rejected() -> None:
    found = lab(
        "Sample,Collected,Parameter,Result,Units\n1,3/28/2024,TSS,1,mg/L\n2,28/3/2024,TSS,1,mg/L\n"
        "3,2024-03-28,TSS,1,mg/L"
    )
    assert rejected_rows(found) == [2, 3]


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("Oil & Grease (HEM)", "oil_and_grease"),
        ("HEM", "oil_and_grease"),
        ("SGT-HEM", "petroleum_oil"),
        ("HEM (SGT-HEM, non-polar material)", "petroleum_oil"),
        ("BOD5", "bod5"),
        ("BOD, 5-day carbonaceous", "cbod5"),
        ("CBOD", "cbod5"),
        ("Nitrogen, Total Kjeldahl", "tkn"),
        ("Nitrogen, Total", "total_n"),
        ("Total Phosphorus as P", "tp"),
        ("Orthophosphate as P", None),
        ("TPH", None),
        ("Zinc, Total", "zinc"),
    ],
)
def test_one_analyte_never_passes_for_another(name: str, parameter: str | None) -> None:
    found = lab(f'Sample,Parameter,Result,Units\nA,"{name}",40,mg/L')
    assert [one["parameter"] for one in found["accepted"]] == ([parameter] if parameter else [])


@pytest.mark.parametrize(
    ("cells", "column"),
    [
        ("2024-02-30 08:00,TSS,1,mg/L", "Collected"),
        ("2024-02-03 08:00,TSS,1,mg/kg", "Units"),
        ('2024-02-03 08:00,TSS,"1,200",mg/L', "Result"),
        ("2024-02-03 08:00,TSS,-1,mg/L", "Result"),
        ("2024-02-03 08:00,pH,14.5,SU", "Result"),
        ("2024-02-03 08:00,TSS,NaN,mg/L", "Result"),
        ("2024-02-03 08:00,TP,30,mg/L as CaCO3", "Units"),
    ],
)
def test_a_fault_names_its_column_and_the_repair(cells: str, column: str) -> None:
    found = lab(f"Collected,Parameter,Result,Units\n{cells}")
    fault = found["rejected"][0]
    assert (fault["row"], fault["column"]) == (2, column)
    assert all(fault[part] for part in ("found", "expected", "repair"))


def test_a_second_result_of_a_sample_and_parameter_is_named() -> None:
    found = lab("Sample,Parameter,Result,Units\nA,TSS,1,mg/L\nA,TSS,2,mg/L")
    assert rejected_rows(found) == [3]


def test_a_heading_that_is_not_understood_is_named() -> None:
    assert (
        "'Colour'" in lab("Sample,Parameter,Result,Units,Colour\nA,TSS,1,mg/L,red")["warnings"][0]
    )


@pytest.mark.parametrize(
    "content",
    [b"", b"  \n", b"%PDF-1.7 \x00", b"just a line of prose\nand one more\n", b"PK\x03\x04"],
)
def test_what_is_no_table_is_refused(content: bytes) -> None:
    with pytest.raises(InputError, match="results.csv"):
        sheet(content, filename="results.csv")


def test_a_workbook_that_would_unpack_to_too_much_is_refused_unread() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 60_000_000)
    with pytest.raises(InputError, match="unpack"):
        sheet(packed.getvalue(), filename="bomb.xlsx")


def workbook(rows: list[list[str | int | float]]) -> bytes:
    """The smallest workbook there is: one sheet, strings written in place."""
    cells = "".join(
        "<row>"
        + "".join(
            f"<c><v>{cell}</v></c>"
            if isinstance(cell, int | float)
            else f'<c t="inlineStr"><is><t>{cell}</t></is></c>'
            for cell in row
        )
        + "</row>"
        for row in rows
    )
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    rel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/'
        'content-types"><Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}"><Relationship Id="a" '
        f'Type="{rel}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {main} xmlns:r="{rel}"><sheets>'
        '<sheet name="S" sheetId="1" r:id="b"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}"><Relationship Id="b" '
        f'Type="{rel}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f"<worksheet {main}><sheetData>{cells}</sheetData></worksheet>",
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return packed.getvalue()


def test_a_workbook_is_read_as_a_csv_would_be() -> None:
    rows: list[list[str | int | float]] = [
        ["Sample", "Collected", "Parameter", "Result", "Units"],
        ["W-1", "2024-03-05 08:00", "TSS", 310, "mg/L"],
        ["W-2", "2024-03-05 09:00", "Zinc", 0.21, "mg/L"],
    ]
    found = lab(workbook(rows))
    assert (found["format"], values(found)) == ("xlsx", ["310", "0.21"])
    assert found["accepted"][1]["row"] == 3


def test_real_exports_lose_no_row(shared: Path) -> None:
    for file in sorted((shared / "data" / "lab_files").glob("*.csv")):
        found = read(sheet(file.read_bytes(), filename=file.name), zone=CHICAGO)
        assert found.rows == len(found.accepted) + len(found.rejected) > 0, file.name


@pytest.mark.parametrize(
    ("starts", "hours", "day"),
    [
        (datetime(2024, 3, 31, 0, tzinfo=CHICAGO), 24, date(2024, 3, 31)),
        (datetime(2024, 3, 31, 8, tzinfo=CHICAGO), 24, date(2024, 3, 31)),
        (datetime(2024, 3, 31, 16, tzinfo=CHICAGO), 24, date(2024, 4, 1)),
        (datetime(2024, 3, 31, 12, tzinfo=CHICAGO), 24, date(2024, 3, 31)),  # a tie: the earlier
        (datetime(2024, 3, 31, 8, tzinfo=CHICAGO), 0, date(2024, 3, 31)),
    ],
)
def test_a_composite_belongs_to_the_day_of_its_greater_part(
    starts: datetime, hours: int, day: date
) -> None:
    taken = Sample(
        label="A",
        point=None,
        sampled_from=starts,
        sampled_to=starts.astimezone(UTC) + timedelta(hours=hours),
        sample_type=SampleType.COMPOSITE,
        taken_by=TakenBy.INDUSTRIAL_USER,
        laboratory=None,
    )
    assert civil_day(taken, CHICAGO) == day


def test_phosphate_is_kept_unrounded_where_it_is_compared() -> None:
    found = read(
        sheet(b"Sample,Parameter,Result,Units\nF,TP,30.0,mg/L as PO4", filename="f"), zone=CHICAGO
    )
    assert found.accepted[0].result.value == Decimal("30.0") * Decimal("30.974") / Decimal("94.971")
