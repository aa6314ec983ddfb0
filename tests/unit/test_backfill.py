"""Exports in blocks: dates, tags, passes of the repeated hour, steps, and lines that break."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.historian import history, tags
from app.historian.blocks import LONGEST_LINE, TextFile, cells
from app.historian.clocks import Order, instant, midnight, order_of
from app.historian.passes import Passes
from app.historian.targets import Targets, Unusable
from app.historian.times import second_pass
from compliance.errors import InputError
from compliance.model.history import Piece
from compliance.model.parameters import Parameter
from compliance.model.readings import Quality
from compliance.model.units import Unit
from compliance.records.sites import Place
from ingest.history.aside import Aside
from ingest.history.cadence import Span, changes
from ingest.history.rhythm import Rhythm
from ingest.history.store import sequence

CHICAGO = ZoneInfo("America/Chicago")
START = datetime(2024, 1, 1, tzinfo=UTC)


def place(channel: int, kind: Parameter, unit: Unit, *, entry: str = "") -> Place:
    return Place(
        channel_id=channel, point_id=1, point="MH-1", industrial_user_id=1, industrial_user="Acme",
        city_id=1, city="Prescott", zone="America/Chicago", rulebooks=(), parameter=kind, unit=unit,
        entry=entry or kind.value, resolution="0.01", instrument_id=None, unit_id=None,
    )  # fmt: skip


TARGETS = Targets([
    place(1, Parameter.PH, Unit.SU),
    place(2, Parameter.TEMPERATURE, Unit.DEG_F),
    place(3, Parameter.COUNT, Unit.COUNT, entry="bottle"),
    place(4, Parameter.COUNT, Unit.COUNT, entry="pulses"),
])  # fmt: skip


def read(
    path: Path, text: str, *, fold: str | None = None, known: tags.Tags | None = None
) -> list[Piece]:
    path.write_text(text, encoding="utf-8")
    reading = history.Reading(zone=CHICAGO, fold=fold, tags=known or tags.Tags())
    (export,), _ = history.opened([path], TARGETS, reading)
    assert sum(piece.rows for piece in export.survey()) > 0
    return list(export.pieces())


def piece(channel: list[int], at_us: list[int]) -> Piece:
    at = np.array(at_us, np.int64)
    return Piece(
        number=0, position=0, rows=len(at), row=np.arange(len(at)) + 2,
        channel_id=np.array(channel, np.int32), at_us=at, until_us=at,
        value=np.zeros(len(at)), quality=np.zeros(len(at), np.int64), rejected=(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("day", "clock", "order", "found"),
    [
        ("2026-03-01", "8:05", Order.MONTH, "2026-03-01T08:05:00"),
        ("20260301", "0805", Order.MONTH, "2026-03-01T08:05:00"),
        ("03/04/2026", "08:05:09.5", Order.MONTH, "2026-03-04T08:05:09.5"),
        ("03/04/26", "08:05:09", Order.DAY, "2026-04-03T08:05:09"),
        ("01-Mar-2026", "12:00 am", Order.MONTH, "2026-03-01T00:00:00"),
        ("01.03.2026", "12:30:00 PM", Order.MONTH, "2026-03-01T12:30:00"),
        ("2026-02-28", "24:00", Order.MONTH, "2026-03-01T00:00:00"),
        ("12/31/2026", "240000", Order.MONTH, "2027-01-01T00:00:00"),
        ("2026-03-01", "08:00:00 -06:00", Order.MONTH, "2026-03-01T08:00:00-06:00"),
    ],
)
def test_dates_and_times_of_historians_are_understood(
    day: str, clock: str, order: Order, found: str
) -> None:
    assert instant(day, clock, order) == found


@pytest.mark.parametrize(
    ("day", "clock"),
    [("2026-02-30", "08:00"), ("13/13/2026", "08:00"), ("today", "08:00"), ("2026-02-03", "8"),
     ("2026-02-03", "13:00 pm"), ("", "")],
)  # fmt: skip
def test_what_is_no_date_or_no_time_is_said(day: str, clock: str) -> None:
    with pytest.raises(InputError, match=": expected "):
        instant(day, clock, Order.MONTH)


def test_midnight_at_the_end_of_a_day_is_the_next_day() -> None:
    assert midnight("2024-02-29 24:00") == "2024-03-01T00:00"
    assert midnight("2024-12-31T24:00:00-06:00") == "2025-01-01T00:00-06:00"
    assert midnight("2024-12-31T24:01") == "2024-12-31T24:01"


def test_slashed_dates_take_the_order_that_all_of_them_allow() -> None:
    assert order_of(["03/04/2026", "03/14/2026"], []) == (Order.MONTH, True)
    assert order_of(["03/04/2026", "14/04/2026"], []) == (Order.DAY, True)
    assert order_of(["03/04/2026"], [("03/04/2026", "2026040312")]) == (Order.DAY, True)
    assert order_of(["03/04/2026"], [("03/04/2026", "2026030323")]) == (Order.MONTH, True)
    assert order_of(["03/04/2026"], [("03/04/2026", "export")]) == (Order.MONTH, False)
    assert order_of(["2026-03-04"], []) == (Order.MONTH, True)


def test_rows_keep_their_numbers_across_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.historian.blocks.BLOCK", 50)
    lines = [f"row {n}, å" if n % 7 else "" for n in range(1, 200)]
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress("\r\n".join(lines).encode("utf-16")))
    file = TextFile(path)
    blocks = list(file.blocks())
    assert len(blocks) > 20
    assert [b.first for b in blocks] == [1 + sum(len(x.lines) for x in blocks[:n])
                                         for n in range(len(blocks))]  # fmt: skip
    assert [line for b in blocks for line in b.lines] == lines
    assert (len(file.sha256), blocks[-1].position) == (64, file.size)


def test_a_file_without_lines_or_without_an_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"x" * (LONGEST_LINE + 1))
    with pytest.raises(InputError, match="row 1: a line of more than"):
        list(TextFile(path).blocks())
    path.write_bytes(b"")
    with pytest.raises(InputError, match=r"a\.csv is empty"):
        TextFile(path).header()
    with pytest.raises(InputError, match="cannot be read"):
        TextFile(tmp_path / "none.csv")


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a\n")
    file = TextFile(path)
    path.write_text("a\nb\n")
    with pytest.raises(InputError, match="changed while it was read"):
        list(file.blocks())


def test_a_stray_quote_spoils_its_own_row_only() -> None:
    lines = ['a,"b', "c,d", 'e"f,"g', '"h,i",j']
    assert cells(lines, ",") == [None, ["c", "d"], None, ["h,i", "j"]]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 200)), min_size=1, max_size=40),
    st.integers(1, 7),
)
def test_passes_told_block_by_block_are_those_told_at_once(
    steps: list[tuple[int, int]], size: int
) -> None:
    """Against ``second_pass``, which sees a whole series: any rows, cut anywhere."""
    key = np.array([series for series, _ in steps])
    base = 19_000 * 86_400_000_000
    local = base + np.array([minute for _, minute in steps], np.int64) * 60_000_000
    repeated = np.array([60 <= minute < 120 for _, minute in steps])
    row = np.arange(len(steps)) + 2
    second, undecided = np.zeros(len(steps), bool), repeated.copy()
    for series in range(3):
        own = np.flatnonzero(key == series)
        if repeated[own].any():
            for at, later in second_pass(local[own], repeated[own]):
                second[own[at]], undecided[own[at]] = later, False
    passes = Passes()
    for start in range(0, len(steps), size):
        cut = slice(start, start + size)
        passes.learn(key[cut], local[cut], repeated[cut], row=row[cut])
    found = passes.second(key, local, repeated, row=row)
    assert (found[0].tolist(), found[1].tolist()) == (second.tolist(), undecided.tolist())
    assert passes.is_undecided == undecided.any()


def test_a_falling_file_has_its_second_pass_first(tmp_path: Path) -> None:
    rows = [f"2024-11-03 {at},MH-1,ph,7.1,s.u.\n" for at in ("02:00", "01:30", "01:00", "01:30",
                                                             "01:00", "00:30")]  # fmt: skip
    (found,) = read(tmp_path / "a.csv", "at,point,parameter,value,unit\n" + "".join(rows))
    hours = (found.at_us - found.at_us[-1]) / 3.6e9
    assert hours.tolist() == [2.5, 2.0, 1.5, 1.0, 0.5, 0.0]


def test_units_are_converted_exactly_and_rounded_once(tmp_path: Path) -> None:
    rows = "".join(f"2024-01-01 00:{n:02},MH-1,temperature,{n}.1,degC\n" for n in range(60))
    (found,) = read(tmp_path / "a.csv", "at,point,parameter,value,unit\n" + rows)
    assert found.value.tolist() == [float(f"{(n * 18 + 321.8) / 10:.2f}") for n in range(60)]


def test_numbers_beyond_all_measure_are_bad_rows(tmp_path: Path) -> None:
    rows = "".join(
        f"2024-01-01 00:0{n},MH-1,ph,{value},s.u.\n"
        for n, value in enumerate(("1e308", "1e999", "0x10", "1_0", "7,1", "٣", "NaN"))
    )
    (found,) = read(tmp_path / "a.csv", "at,point,parameter,value,unit\n" + rows)
    assert [one.fault.row for one in found.rejected] == [2, 3, 4, 5, 6, 7]
    assert np.isnan(found.value).all()
    assert found.quality.tolist() == [Quality.NOT_FINITE]


def test_an_unknown_point_or_channel_names_what_there_is() -> None:
    with pytest.raises(Unusable, match="one of the monitoring points MH-1"):
        TARGETS.find("MH1", "ph", "s.u.")
    with pytest.raises(Unusable, match="one of MH-1:count:bottle, MH-1:count:pulses; name the"):
        TARGETS.find("MH-1", "count", "count")
    with pytest.raises(Unusable, match="one that converts to degF"):
        TARGETS.find("MH-1", "temp", "mg/L")
    assert TARGETS.find("MH-1", "count:pulses", "count").channel_id == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tags: {A: MH-1}", "the tag A is said to be 'MH-1', expected POINT:PARAMETER UNIT"),
        ("tags:\n  A: MH-1:ph s.u.\n  A: ignore\n", "line 3: A stands here twice"),
        ("tags: {}\nmarks: {X: poor}", "mark X: found 'poor', expected one of good"),
        ("tag: {}", "found tag, expected tags:"),
        ("- A", "found list, expected tags:"),
    ],
)
def test_a_document_of_tags_that_says_nothing_clear_is_refused(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "tags.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        tags.read(path)


def test_remembered_tags_give_way_to_new_ones(tmp_path: Path) -> None:
    assert tags.remembered(tmp_path).texts == {}
    tags.remember(tmp_path / "home", tags.Tags({"A": "ignore", "NO": "MH-1:ph s.u."}, {"C": "bad"}))
    known = tags.Tags({"A": "MH-1:ph s.u."}).over(tags.remembered(tmp_path / "home"))
    assert known == tags.Tags({"A": "MH-1:ph s.u.", "NO": "MH-1:ph s.u."}, {"C": "bad"})


def test_two_tags_for_one_channel_or_one_tag_twice_are_refused(tmp_path: Path) -> None:
    known = tags.Tags({"A": "MH-1:ph s.u.", "B": "MH-1:ph s.u."})
    for header, said in (("A,B", "both said to be MH-1:ph"), ("A,A", "the tag 'A' twice")):
        with pytest.raises(InputError, match=said):
            read(tmp_path / "a.csv", f"$DATE,$TIME,{header}\n", known=known)


def runs(pieces: Iterator[Piece]) -> Rhythm:
    rhythm = Rhythm()
    for one in pieces:
        rhythm.see(one)
    return rhythm


@given(st.permutations(range(40)), st.integers(1, 40))
def test_the_step_is_the_same_in_any_order_of_rows(order: list[int], size: int) -> None:
    at = [n * 300_000_000 for n in order]
    found = runs(piece([7] * len(at[i : i + size]), at[i : i + size]) for i in range(0, 40, size))
    assert (found[7].step_us, found[7].last_step_us) == (300_000_000, 300_000_000)
    assert (found[7].first_us, found[7].last_us) == (0, 39 * 300_000_000)
    assert found[7].is_steady


def test_a_series_by_change_is_not_steady() -> None:
    at = np.cumsum([1, 5, 60, 2, 300, 17, 1, 90, 4, 33])
    assert not runs(iter([piece([7] * 10, at.tolist())]))[7].is_steady


@pytest.mark.parametrize(
    ("known", "after", "added"),
    [
        ([], None, [(0, 300)]),
        ([(-9, 60)], 60, [(0, 300), (10, 60)]),
        ([(-9, 300)], 300, []),
        ([(-9, 60), (4, 2)], 2, [(0, 300)]),
        ([(-9, 60), (10, 2)], 2, [(0, 300)]),
        ([(3, 60)], 60, [(0, 300)]),
        ([(-9, 60), (0, 2), (30, 1)], 2, [(0, 300), (10, 2)]),
    ],
)
def test_the_cadence_of_a_span_leaves_what_follows(
    known: list[tuple[int, int]], after: int | None, added: list[tuple[int, int]]
) -> None:
    """Hours after the start and seconds; the span is from hour 0 up to hour 10."""

    def dated(pairs: list[tuple[int, int]]) -> list[tuple[datetime, int]]:
        return [(START + timedelta(hours=h), 1000 * s) for h, s in pairs]

    span = Span(first=START, last=START + timedelta(hours=9, minutes=55), interval_ms=300_000)
    found = changes(dated(known), span, after=None if after is None else 1000 * after)
    assert found == dated(added)


def test_the_key_of_a_part_is_of_its_file_its_place_and_its_content() -> None:
    one, other = piece([1], [0]), piece([2], [0])
    keys = {sequence(one, "a"), sequence(one, "b"), sequence(other, "a")}
    assert len(keys) == 3
    assert sequence(one, "a") == sequence(piece([1], [0]), "a")
    assert max(keys) < 1 << 42


def test_a_file_of_another_kind_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.rejects.csv"
    for _ in range(2):
        with Aside(path, ("a", "b"), option="--rejects") as aside:
            aside.add([(1, 2)])
    assert path.read_text() == "a,b\n1,2\n"
    path.write_text("mine\n")
    with (
        Aside(path, ("a", "b"), option="--rejects") as aside,
        pytest.raises(InputError, match="name another with --rejects"),
    ):
        aside.add([(1, 2)])
    assert path.read_text() == "mine\n"


def test_the_day_of_a_repeated_hour_is_told(tmp_path: Path) -> None:
    rows = [f"2024-11-03 01:{n:02},MH-1,ph,7.1,s.u.\n" for n in (0, 30, 0, 30)]
    path = tmp_path / "a.csv"
    path.write_text("at,point,parameter,value,unit\n" + "".join(rows))
    (export,), _ = history.opened([path], TARGETS, history.Reading(zone=CHICAGO))
    assert [len(one) for one in export.survey()] == [4]
    assert date(2024, 11, 3).isoformat() in next(export.warnings())
