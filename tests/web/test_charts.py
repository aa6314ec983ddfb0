"""What a chart draws: gaps are gaps, a lonely value is there, extremes survive a table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from app import charts
from app.limits import Bound, position
from compliance.records.readings import Bucket

MINUTE = 60_000_000
START = datetime(2026, 3, 1, 8, tzinfo=UTC)
START_US = int(START.timestamp()) * 1_000_000


def reading(minute: int, value: float | None) -> Bucket:
    """One reading as a bucket of its own; None: it could not be relied on."""
    return Bucket(
        at_us=START_US + minute * MINUTE,
        low=value,
        high=value,
        first=value,
        last=value,
        count=int(value is not None),
        flagged=int(value is None),
    )


def columns(*buckets: Bucket, minutes: int) -> charts.Columns:
    until = START_US + minutes * MINUTE
    return charts.columns(buckets, step_us=MINUTE, since_us=START_US, until_us=until)


def test_an_outage_breaks_the_line_and_is_listed():
    """WEB-01"""
    found = columns(reading(0, 7.2), reading(1, 7.2), reading(360, 7.4), minutes=361)
    assert found.low == [7.2, 7.2, None, 7.4]
    start = START_US // 1000
    assert found.gaps == [(start + 2 * 60_000, start + 360 * 60_000)]


def test_a_lonely_value_stays_in_the_columns():
    """WEB-05"""
    found = columns(reading(0, None), reading(6, 5.6), reading(12, None), minutes=13)
    assert [value for value in found.low if value is not None] == [5.6]
    assert (found.judged, found.flagged) == (1, 2)


def test_three_missed_intervals_are_no_gap_yet():
    found = columns(reading(0, 7.0), reading(3, 7.1), minutes=4)
    assert found.gaps == [] and found.low == [7.0, 7.1]


def test_silence_up_to_the_end_is_a_gap_too():
    found = columns(reading(0, 7.0), minutes=30)
    assert len(found.gaps) == 1


def test_the_table_keeps_a_short_excursion_that_a_mean_would_hide():
    day = [reading(n, 5.0 if n == 700 else 7.0) for n in range(1440)]
    rows = charts.rows(day, since=START, until=START + timedelta(days=1))
    assert len(rows) <= charts.ROWS + 1
    assert min(row.low for row in rows if row.low is not None) == 5.0
    assert sum(row.count for row in rows) == 1440


def test_touching_a_bound_complies_and_nothing_read_is_not_beyond():
    low = Bound(
        rule_id="prescott.ph", side="below", value=6.0, written="6.0", citation="c", says="s",
        authority="ordinance", effective=None,
    )  # fmt: skip
    assert [position(value, (low,)) is low for value in (5.99, 6.0, None)] == [True, False, False]
