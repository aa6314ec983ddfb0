"""A calibration sheet as somebody fills it in."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from compliance.errors import InputError
from compliance.model.calibrations import drift, due_on, is_current, nearest, standard

ZONE = ZoneInfo("America/Chicago")


def test_a_blank_line_is_none_and_nothing_adjusted_is_read_as_before() -> None:
    assert standard(1, of=" ", before="", after="") is None
    line = standard(1, of="7.00", before="7.02", after="")
    assert line is not None and line.after == "7.02"


def test_the_drift_keeps_the_digits_that_were_written() -> None:
    lines = [standard(1, of="4.01", before="4.03", after=""),
             standard(2, of="10.01", before="9.980", after="10.01")]  # fmt: skip
    assert drift([one for one in lines if one]) == "0.030"


@pytest.mark.parametrize("written", ["", "seven", "7,02", "NaN", "1e400000000000"])
def test_what_is_no_number_is_named_with_its_place(written: str) -> None:
    with pytest.raises(InputError, match=r"line 2, before: found .*expected a number such as 7.02"):
        standard(2, of="7.00", before=written, after="")


def test_the_last_day_counts_in_full_on_a_day_of_23_hours_too() -> None:
    done = datetime(2026, 2, 6, 18, tzinfo=UTC)
    assert due_on(done, 30, ZONE) == date(2026, 3, 8)  # clocks go forward on that day
    assert is_current(datetime(2026, 3, 9, 4, 59, tzinfo=UTC), done, days=30, zone=ZONE)
    assert not is_current(datetime(2026, 3, 9, 5, tzinfo=UTC), done, days=30, zone=ZONE)


def test_the_nearest_are_those_on_either_side() -> None:
    days = [datetime(2026, 1, day, tzinfo=UTC) for day in (9, 3, 6)]
    assert nearest(days, datetime(2026, 1, 6, tzinfo=UTC)) == (days[2], days[0])
    assert nearest([], days[0]) == (None, None)
