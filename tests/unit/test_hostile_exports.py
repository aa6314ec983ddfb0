"""Exports that nobody means well with: each is refused in one sentence, and none is half read."""

from __future__ import annotations

import gzip
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from app.historian.contents import MODEST_BYTES
from app.historian.exports import Manner, parse, read
from compliance.errors import InputError

MANNER = Manner(zone=ZoneInfo("America/Chicago"))
HEADER = "at,point,parameter,value,unit"
GOOD = "2026-03-01T08:00,MH-1,ph,7,SU"


def refusal(text: str | bytes) -> str:
    content = text.encode() if isinstance(text, str) else text
    with pytest.raises(InputError) as error:
        parse(content, "export.csv", MANNER)
    return str(error.value)


def row(**cells: str) -> str:
    usual = dict(zip(HEADER.split(","), GOOD.split(","), strict=True))
    return f"{HEADER}\n{','.join((usual | cells).values())}\n"


@pytest.mark.parametrize("year", ["0000", "0001", "1899", "2200", "9999"])
@pytest.mark.parametrize("offset", ["", "Z", "+05:00", "-06:00"])
def test_a_year_of_no_record_is_named(year: str, offset: str) -> None:
    at = f"{year}-12-31T23:59{offset}"
    expected = f"row 2, column at: found '{at}', expected a year from 1900 to 2199"
    assert expected in refusal(row(at=at))


@pytest.mark.parametrize(
    ("cells", "column"),
    [
        ({"at": "２０２６-03-01T08:00"}, "at"),
        ({"value": "５"}, "value"),
        ({"value": "٥"}, "value"),
        ({"value": "1e309"}, "value"),
        ({"value": "1e-400"}, "value"),
        ({"value": "1e999999999999999999999"}, "value"),
        ({"value": "0e999999"}, "value"),
        ({"value": "7." + "0" * 100}, "value"),
        ({"point": "\x1b[31mMH-1"}, "point"),
        ({"point": "M" * 201}, "point"),
    ],
)
def test_a_cell_that_no_historian_writes_is_named(cells: dict[str, str], column: str) -> None:
    assert f"row 2, column {column}: found " in refusal(row(**cells))


def test_a_long_cell_is_cut_in_the_sentence() -> None:
    said = refusal(row(value="x" * 5000))
    assert f"'{'x' * 59}…'" in said
    assert len(said) < 300
    assert len(refusal("x" * 5000 + "\n1\n")) < 300


@pytest.mark.parametrize(("one", "other"), [("value", "VALUE"), ("unit", "unit"), ("at", " At ")])
def test_two_columns_of_one_meaning_are_both_named(one: str, other: str) -> None:
    said = refusal(f"{HEADER},{other}\n{GOOD},5\n")
    assert f"the columns {one!r} and {other.strip()!r} both mean {one}" in said


def test_a_header_without_rows_is_no_clean_record() -> None:
    for text in (f"{HEADER}\n", f"{HEADER}\n,,,,\n\n"):
        assert "no reading at all, so nothing was judged" in refusal(text)


def test_comments_are_named_and_not_skipped() -> None:
    assert "row 1: found a comment" in refusal(f"# from the historian\n{HEADER}\n{GOOD}\n")
    said = refusal(f"{HEADER}\n{GOOD}\n# out of service\n")
    assert said.startswith("export.csv, row 3, column at: found '# out of service', expected")
    assert "\n" not in said


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_nul_byte_is_named_with_its_row(encoding: str) -> None:
    said = refusal(f"{HEADER}\n{GOOD}\n{GOOD}\0\n".encode(encoding))
    assert "row 3: found a NUL byte" in said


def test_a_quotation_mark_left_open_is_named() -> None:
    said = refusal(f'{HEADER}\n{GOOD}\n2026-03-01T08:01,"MH-1,ph,7,SU\n')
    assert "row 3: a quotation mark" in said


def test_a_gzip_bomb_is_refused_and_a_constant_signal_is_not(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.csv.gz"
    bomb.write_bytes(gzip.compress(b"0" * (MODEST_BYTES + 1)))
    with pytest.raises(InputError, match="would unpack to more than"):
        read(str(bomb), MANNER)
    minutes = "".join(
        f"2026-03-{m // 1440 + 1:02}T{m // 60 % 24:02}:{m % 60:02}Z,MH-1,ph,7,SU\n"
        for m in range(30_000)
    )
    bomb.write_bytes(gzip.compress(f"{HEADER}\n{minutes}".encode()))
    assert len(read(str(bomb), MANNER).series[0].series) == 30_000


@pytest.mark.parametrize("spoil", [15, -6])
def test_a_spoilt_archive_is_one_sentence(tmp_path: Path, spoil: int) -> None:
    packed = bytearray(gzip.compress(f"{HEADER}\n{GOOD}\n".encode()))
    packed[spoil] ^= 0xFF
    file = tmp_path / "export.csv.gz"
    file.write_bytes(packed)
    with pytest.raises(InputError, match=r"export\.csv\.gz cannot be read"):
        read(str(file), MANNER)
