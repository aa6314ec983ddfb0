"""History from exports into a real database: once, exactly, and what does not fit set apart."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

from compliance.errors import InputError
from compliance.model.readings import Quality
from compliance.records import tables as t
from tests.support.history import BASE, HEADER, Import, cadences, every, rows, table, written
from tests.support.manhole import Manhole


def test_an_export_is_stored_with_its_qualities_and_exact_units(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    path = written(
        tmp_path / "readings.csv",
        HEADER + "2024-01-01 00:00,MH-1,ph,7.25,SU,\n"
        "2024-01-01 00:05,MH-1,pH,,s.u.,missing\n"
        "2024-01-01 00:10,MH-1,ph,6.9,s.u.,maintenance\n"
        "2024-01-01 24:00,MH-1,flow,0.1,MGD,suspect\n",
    )
    found = importing(path)
    assert (found["code"], found["new"], found["rejected"]) == (0, 4, 0)
    assert rows(there.engine) == [
        (there.ph, "2024-01-01T06:00:00", 7.25, Quality.GOOD),
        (there.ph, "2024-01-01T06:05:00", None, Quality.MISSING_MARK),
        (there.ph, "2024-01-01T06:10:00", 6.9, Quality.MAINTENANCE),
        (there.flow, "2024-01-02T06:00:00", 100000 / 1440, Quality.DECLARED_SUSPECT),
    ]


def test_the_same_file_again_changes_nothing(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    path = written(tmp_path / "a.csv", HEADER + every(5, 50, start=BASE))
    assert importing(path)["new"] == 50
    before = (rows(there.engine), there.count("dirty"), cadences(there.engine, there.ph))
    again = importing(path)
    assert (again["code"], again["new"], again["present"], again["conflicts"]) == (0, 0, 50, 0)
    assert (rows(there.engine), there.count("dirty"), cadences(there.engine, there.ph)) == before


def test_a_value_that_is_there_stays_and_the_other_is_listed(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    first = written(tmp_path / "a.csv", HEADER + every(5, 3, start=BASE, value="7.25"))
    other = written(tmp_path / "b.csv", HEADER + every(5, 4, start=BASE, value="7.4"))
    near = written(tmp_path / "c.csv", HEADER + every(5, 3, start=BASE, value="7.253"))
    importing(first)
    found = importing(other)
    assert (found["code"], found["new"], found["present"], found["conflicts"]) == (1, 1, 3, 3)
    assert [value for _, _, value, _ in rows(there.engine)] == [7.25, 7.25, 7.25, 7.4]
    assert found["conflicting"][0] == {
        "file": "b.csv", "at": "1999-12-31T18:00:00-06:00", "point": "MH-1", "parameter": "ph",
        "entry": "ai1_value", "unit": "s.u.", "stored": "7.25", "found": "7.4",
    }  # fmt: skip
    listed = table(tmp_path / "b.conflicts.csv")
    assert [row["found"] for row in listed] == ["7.4"] * 3
    assert importing(near)["conflicts"] == 0  # nearer than half of the channel's resolution


def test_a_value_against_a_missing_one_and_a_good_against_a_bad_one_differ(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    first = written(
        tmp_path / "a.csv",
        HEADER + "2024-01-01 00:00,MH-1,ph,,s.u.,missing\n2024-01-01 00:05,MH-1,ph,7.2,s.u.,\n",
    )
    other = written(
        tmp_path / "b.csv",
        HEADER + "2024-01-01 00:00,MH-1,ph,7.1,s.u.,\n2024-01-01 00:05,MH-1,ph,7.2,s.u.,bad\n",
    )
    importing(first)
    found = importing(other)
    assert [row["stored"] for row in found["conflicting"]] == [None, "7.2"]
    assert [value for _, _, value, _ in rows(there.engine)] == [None, 7.2]


def test_bad_rows_refuse_the_run_and_the_first_five_are_named(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    bad = "".join(f"2024-01-01 00:{n:02},MH-1,ph,high,s.u.,\n" for n in range(7))
    good = written(tmp_path / "a.csv", HEADER + every(5, 3, start=BASE))
    path = written(tmp_path / "b.csv", HEADER + every(5, 3, start=BASE) + bad)
    with pytest.raises(InputError) as refused:
        importing(good, path)
    lines = str(refused.value).splitlines()
    assert lines[0] == (
        "b.csv, row 5, column value: found 'high', expected a plain decimal number such as 7.25; "
        "correct it, or leave it blank with quality missing"
    )
    assert len(lines) == 6 and "--skip-bad-rows" in lines[5]
    assert rows(there.engine) == []
    assert cadences(there.engine, there.ph) == [(BASE, 60_000)]


def test_a_row_of_the_future_is_set_aside_with_its_sentence(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    path = written(
        tmp_path / "a.csv",
        HEADER + "2024-01-01 00:00,MH-1,ph,7.2,s.u.,\n"
        f"2099-01-01 00:00,MH-1,ph,7.3,s.u.,\n{soon},MH-1,ph,7.3,s.u.,\n"
        "2300-01-01 00:00,MH-1,ph,7.3,s.u.,\n",
    )
    with pytest.raises(InputError, match="row 3, column at: .*lies in the future; correct the"):
        importing(path)
    assert rows(there.engine) == []
    found = importing(path, skip_bad_rows=True)
    assert (found["code"], found["new"], found["rejected"]) == (1, 1, 3)


def test_a_future_hour_of_tags_is_set_aside(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    tags = written(tmp_path / "tags.json", '{"tags": {"PH": "MH-1:ph s.u."}}')
    path = written(
        tmp_path / "w.csv", "$DATE,$TIME,PH\n2024-01-01,00:00,7.2\n2099-01-01,00:00,7.3\n"
    )
    found = importing(path, tags=tags, skip_bad_rows=True)
    assert (found["new"], found["rejected"]) == (1, 1)


def test_skipped_rows_lie_beside_the_file_with_their_line(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    path = written(
        tmp_path / "a.csv",
        HEADER + "2024-01-01 00:00,MH-9,ph,7.1,s.u.,\n"
        "2024-01-01 00:00,MH-1,ph,7.2,s.u.,\n"
        '2024-01-01 00:05,MH-1,ph,"7.3,s.u.,\n'
        "\n"
        "2024-01-01 00:10,MH-1,zinc,7.3,mg/L,\n"
        "2024-01-01 00:15,MH-1,ph,7.3,mg/L,\n"
        "2024-01-01 00:20,MH-1,ph,7.3,s.u.,fine\n"
        "2024-01-01 00:25,MH-1,ph,7.3,s.u.\n"
        "2024-03-10 02:30,MH-1,ph,7.3,s.u.,\n"
        "2024-01-01 00:30,MH-1,ph,7.4,s.u.,\n",
    )
    found = importing(path, skip_bad_rows=True)
    assert (found["code"], found["rows"], found["new"], found["rejected"]) == (1, 9, 2, 7)
    listed = table(tmp_path / "a.rejects.csv")
    assert [(row["row"], row["column"]) for row in listed] == [
        ("2", "point"), ("4", "all"), ("6", "parameter"), ("7", "unit"), ("8", "quality"),
        ("9", "all"), ("10", "at"),
    ]  # fmt: skip
    assert listed[0]["expected"] == "one of the monitoring points MH-1"
    assert listed[2]["expected"] == "one of MH-1:flow, MH-1:ph"
    assert listed[1]["line"] == '2024-01-01 00:05,MH-1,ph,"7.3,s.u.,'
    assert [value for _, _, value, _ in rows(there.engine)] == [7.2, 7.4]


def test_a_channel_that_is_added_later_takes_its_rows_from_the_same_file(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    path = written(
        tmp_path / "a.csv",
        HEADER + "2024-01-01 00:00,MH-1,ph,7.1,s.u.,\n2024-01-01 00:00,MH-1,orp,250,mV,\n",
    )
    assert importing(path, skip_bad_rows=True)["new"] == 1
    with there.engine.begin() as db:
        point = db.scalar(select(t.monitoring_point.c.id))
        db.execute(
            t.channel.insert().values(
                monitoring_point_id=point, entry="orp", parameter="orp", unit="mV", resolution="1"
            )
        )
    found = importing(path)
    assert (found["code"], found["new"], found["present"]) == (0, 1, 1)


def test_two_channels_of_one_parameter_are_told_apart_by_their_entry(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    with there.engine.begin() as db:
        point = db.scalar(select(t.monitoring_point.c.id))
        for entry in ("bottle", "pulses"):
            db.execute(
                t.channel.insert().values(
                    monitoring_point_id=point, entry=entry, parameter="count", unit="count",
                    resolution="1",
                )
            )  # fmt: skip
    plain = written(tmp_path / "a.csv", HEADER + "2024-01-01 00:00,MH-1,count,3,count,\n")
    with pytest.raises(InputError, match="one of MH-1:count:bottle, MH-1:count:pulses; name the"):
        importing(plain)
    named = written(tmp_path / "b.csv", HEADER + "2024-01-01 00:00,MH-1,count:bottle,3,count,\n")
    assert importing(named)["channels"][0]["entry"] == "bottle"


def test_a_dry_run_counts_and_stores_nothing(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    importing(written(tmp_path / "a.csv", HEADER + every(5, 3, start=BASE)))
    before = (rows(there.engine), there.count("batch"), cadences(there.engine, there.ph))
    path = written(tmp_path / "b.csv", HEADER + every(5, 5, start=BASE, value="7.9"))
    found = importing(path, dry_run=True)
    assert (found["new"], found["present"], found["conflicts"]) == (2, 3, 3)
    assert (rows(there.engine), there.count("batch"), cadences(there.engine, there.ph)) == before


def test_the_repeated_hour_is_told_by_order_or_by_a_person(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    def hour(*minutes: str) -> str:
        return "".join(f"2024-11-03 {at},MH-1,ph,7.1,s.u.,\n" for at in minutes)

    both = written(
        tmp_path / "a.csv", HEADER + hour("00:30", "01:00", "01:30", "01:00", "01:30", "02:00")
    )
    found = importing(both)
    assert [at[11:16] for _, at, _, _ in rows(there.engine)] == [
        "05:30", "06:00", "06:30", "07:00", "07:30", "08:00",
    ]  # fmt: skip
    assert any("the order of the rows decided" in text for text in found["warnings"])
    once = written(tmp_path / "b.csv", HEADER + hour("00:45", "01:15", "02:15"))
    with pytest.raises(InputError, match="row 3, column at: .*which of the two passes"):
        importing(once)
    found = importing(once, fold="second")
    assert (found["new"], rows(there.engine)[5][1]) == (3, "2024-11-03T07:15:00")


def test_the_order_of_rows_tells_across_blocks(
    importing: Import, there: Manhole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole day of the change by the second, in blocks that cut the hour in many places."""
    monkeypatch.setattr("app.historian.blocks.BLOCK", 4096)
    start = datetime(2024, 11, 3, 5, tzinfo=UTC)
    instants = [start + timedelta(seconds=10 * n) for n in range(1800)]
    local = [at.astimezone(ZoneInfo("America/Chicago")) for at in instants]
    text = "".join(f"{at:%Y-%m-%d %H:%M:%S},MH-1,ph,7.1,s.u.,\n" for at in local)
    assert importing(written(tmp_path / "a.csv", HEADER + text))["new"] == 1800
    assert [at for _, at, _, _ in rows(there.engine)] == [
        f"{at:%Y-%m-%dT%H:%M:%S}" for at in instants
    ]


def test_an_hourly_file_of_tags_is_understood_and_its_tags_remembered(
    importing: Import, there: Manhole, tmp_path: Path, home: Path
) -> None:
    tags = written(
        tmp_path / "tags.yaml",
        "tags:\n  PLC1.PH: MH-1:ph s.u.\n  FT-101: MH-1:flow L/s\n  FT-101.Q: quality of FT-101\n"
        "  NO: ignore\nmarks:\n  C: maintenance\n",
    )
    first = written(
        tmp_path / "2024030423.CSV",
        "$DATE,$TIME,PLC1.PH,FT-101,FT-101.Q,NO\n"
        "03/04/2024,23:00:00,7.10,1,192,x\n"
        "03/04/2024,23:30:00,,2,64,x\n"
        "03/04/2024,23:45:00,7.3 C,Bad Input,0,x\n"
        "03/04/2024,24:00:00,<6.5,4,0,x\n",
    )
    found = importing(first, tags=tags)
    assert (found["code"], found["rows"], found["readings"]) == (0, 4, 7)
    gpm = 60 / 3.785411784
    assert rows(there.engine) == [
        (there.ph, "2024-03-05T05:00:00", 7.1, 0),
        (there.ph, "2024-03-05T05:45:00", 7.3, Quality.MAINTENANCE),
        (there.ph, "2024-03-05T06:00:00", 6.5, Quality.DECLARED_SUSPECT),
        (there.flow, "2024-03-05T05:00:00", gpm, 0),
        (there.flow, "2024-03-05T05:30:00", 2 * gpm, Quality.DECLARED_SUSPECT),
        (there.flow, "2024-03-05T05:45:00", None, Quality.DECLARED_BAD | Quality.MISSING_MARK),
        (there.flow, "2024-03-05T06:00:00", 4 * gpm, Quality.DECLARED_BAD),
    ]
    following = written(
        tmp_path / "2024030500.CSV", "$DATE,$TIME,PLC1.PH\n03/05/2024,00:15:00,7.4\n"
    )
    assert importing(following)["new"] == 1
    strange = written(
        tmp_path / "2024030501.CSV", "$DATE,$TIME,PLC1.PH,AT-7\n03/05/2024,01:15:00,7.4,1\n"
    )
    with pytest.raises(InputError, match="the tags AT-7 that nobody explained"):
        importing(strange)


def test_a_bad_cell_of_a_wide_row_leaves_its_neighbours(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    tags = written(tmp_path / "tags.yaml", "tags: {P: 'MH-1:ph s.u.', F: 'MH-1:flow gpm'}\n")
    path = written(
        tmp_path / "a.csv", "$DATE,$TIME,P,F\n2024-03-04,10:00,7.1,1 %\n2024-03-04,10:05,7.2\n"
    )
    found = importing(path, tags=tags, skip_bad_rows=True)
    assert [(row["row"], row["column"], row["found"]) for row in found["rejected_rows"]] == [
        (2, "F", "1 %"),
        (3, "all", "2024-03-04,10:05,7.2"),
    ]
    assert rows(there.engine) == [(there.ph, "2024-03-04T16:00:00", 7.1, 0)]


def test_slashed_dates_have_one_order_in_all_files_of_a_run(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    tags = written(tmp_path / "tags.yaml", "tags: {P: 'MH-1:ph s.u.'}\n")
    folder = tmp_path / "hours"
    folder.mkdir()
    written(folder / "2024040312.csv", "$DATE,$TIME,P\n03/04/2024,12:00,7.1\n")
    written(folder / "2024041312.csv", "$DATE,$TIME,P\n13/04/2024,12:00,7.1\n")
    assert importing(folder, tags=tags)["warnings"] == []
    assert [at for _, at, _, _ in rows(there.engine)] == [
        "2024-04-03T17:00:00",
        "2024-04-13T17:00:00",
    ]


def test_gzip_utf16_and_windows_text_are_read(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    text = HEADER.replace(",", ";") + every(5, 3, start=BASE).replace(",", ";")
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(text.encode("utf-16")))
    assert importing(packed)["new"] == 3
    windows = tmp_path / "b.csv"
    windows.write_bytes((HEADER + "2024-01-01 00:00,MH-1,flow,1,m³/h,\r\n").encode("cp1252"))
    assert importing(windows)["new"] == 1
    cut = tmp_path / "c.csv.gz"
    cut.write_bytes(gzip.compress(text.encode())[:-9])
    with pytest.raises(InputError, match="c.csv.gz cannot be read"):
        importing(cut)
