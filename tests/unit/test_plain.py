"""What is read at once is what is read one by one; and in pieces what is read in one."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.historian import contents, plain, times
from app.historian.exports import Manner, ReadingFile, parse
from compliance.errors import InputError

CHICAGO = Manner(zone=ZoneInfo("America/Chicago"))

INSTANTS = st.datetimes(
    datetime.fromisoformat("1971-01-01"),
    datetime.fromisoformat("2099-12-31"),
    timezones=st.one_of(
        st.none(),
        st.integers(-1439, 1439).map(lambda m: timezone(timedelta(minutes=m))),
    ),
)
SPELLED = st.builds(
    lambda at, sep, spec: at.isoformat(sep, spec),
    INSTANTS,
    st.sampled_from("T "),
    st.sampled_from(["minutes", "seconds", "milliseconds", "microseconds"]),
)
ODD = st.sampled_from(
    ["2026-02-30T08:00", "2026-03-01T24:00", "2026-03-01T08:00:60", "2026-03-01t08:00", "", "x",
     "2026-03-01T08:00+25:00", "2026-03-01T08:00-06:60", "2026-03-01T08:00:00.1234567",
     "2026-03-01T08:00Z", "2026-03-01 08:00 z", "2026-00-01T08:00", "1850-01-01T08:00",
     "２026-03-01T08:00", "2026-03-01T08:00:00+0530", "2026/03/01T08:00:00"]
)  # fmt: skip


@given(st.lists(st.one_of(SPELLED, ODD), min_size=1, max_size=20))
def test_times_at_once_are_times_one_by_one(texts: list[str]) -> None:
    distinct = np.array(texts, object)
    us, naive, read = plain.times(distinct)
    slow = times._of_any_form(distinct)
    never = slow.us == np.iinfo(np.int64).min
    assert not (read & never).any(), "what is no time was read as one"
    assert us[read].tolist() == slow.us[read].tolist()
    assert naive[read].tolist() == slow.naive[read].tolist()


def test_the_usual_forms_are_read_at_once() -> None:
    usual = ["2026-03-01T08:00:00-06:00", "2026-03-01 08:00", "2026-03-01T08:00:00.250Z"]
    assert plain.times(np.array(usual, object))[2].all()


NUMBERS = st.one_of(
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-1000, max_value=1000),
    st.integers(-(10**14), 10**14),
).map(str)


@given(st.lists(NUMBERS, min_size=1, max_size=20))
def test_numbers_at_once_are_the_nearest_floats(texts: list[str]) -> None:
    found = plain.numbers(texts)
    assert found is not None
    assert found.tolist() == [float(Decimal(text)) for text in texts]


@pytest.mark.parametrize(
    "text", ["", "nan", "1e5", "1_0", "7\n8", "+7", "٧", "0x1", "7 8", "1" * 16]
)
def test_any_other_number_is_left_to_whoever_reads_any(text: str) -> None:
    assert plain.numbers(["7.0", text]) is None


def outcome(raw: bytes) -> ReadingFile | str:
    try:
        return parse(raw, "export.csv", CHICAGO)
    except InputError as error:
        return str(error)


def export(dice: random.Random, *, spoilt: bool) -> bytes:
    rows = []
    for point in ("MH-1", "MH-2"):
        for minute in range(30):
            value = dice.choice(["7.25", "5.9", "", "nan", "1e1", "07.10"])
            kind = dice.choice(["ph", "pH"])
            rows.append([f"2026-11-01 01:{minute:02}", point, kind, value, "s.u."])
            rows.append([f"2026-11-01T03:{minute:02}Z", f"{point}b", "flow", "50", "gpm"])
    rows += [list(row) for row in rows if row[0].endswith(":05")]
    for _ in range(3 if spoilt else 0):
        row = dice.choice(rows)
        row[dice.randrange(5)] = dice.choice(["?", "", "# remark", "furlong"])
    lines = ["at,point,parameter,value,unit", *(",".join(row) for row in rows)]
    if spoilt and dice.random() < 0.3:
        lines.insert(40, "too,many,cells,in,this,row")
    return "\n".join(lines).encode()


@pytest.mark.parametrize("seed", range(12))
def test_a_file_read_in_pieces_says_what_it_says_in_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = export(random.Random(seed), spoilt=seed % 2 == 1)
    whole = outcome(raw)
    monkeypatch.setattr(contents, "ROWS_AT_ONCE", 7)
    pieces = outcome(raw)
    if isinstance(whole, str) or isinstance(pieces, str):
        assert pieces == whole
        return
    assert pieces.warnings == whole.warnings
    assert len(pieces.series) == len(whole.series) == 4
    for one, other in zip(pieces.series, whole.series, strict=True):
        assert (one.point, one.parameter, one.unit) == (other.point, other.parameter, other.unit)
        pd.testing.assert_frame_equal(frame(one), frame(other))


def frame(of: object) -> pd.DataFrame:
    series = of.series  # type: ignore[attr-defined]
    columns = {"at": series.at_us, "value": series.value, "quality": series.quality}
    written = [of.written(at)[0] for at in range(len(series))]  # type: ignore[attr-defined]
    return pd.DataFrame({**columns, "written": written})
