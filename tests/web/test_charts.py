"""What a chart draws: gaps are gaps, a lonely value is there, extremes survive a table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from app import charts
from app.limits import Bound, position
from compliance.records.buckets import Bucket

MINUTE = 60_000_000
START = datetime(2026, 3, 1, 8, tzinfo=UTC)
START_US = int(START.timestamp()) * 1_000_000


def reading(
    minute: int, value: float | None, *, silences: tuple[tuple[int, int], ...] = ()
) -> Bucket:
    """One reading as a bucket of its own; None: it could not be relied on.

    silences: in minutes from the start.
    """
    return Bucket(
        at_us=START_US + minute * MINUTE,
        low=value,
        high=value,
        first=value,
        last=value,
        count=int(value is not None),
        flagged=int(value is None),
        silences=tuple((START_US + a * MINUTE, START_US + b * MINUTE) for a, b in silences),
    )


def columns(*buckets: Bucket, minutes: int) -> charts.Columns:
    until = START_US + minutes * MINUTE
    return charts.columns(buckets, since_us=START_US, until_us=until)


def test_an_outage_breaks_the_line_and_is_listed():
    """WEB-01"""
    after = reading(360, 7.4, silences=((2, 360),))
    found = columns(reading(0, 7.2), reading(1, 7.2), after, minutes=361)
    assert found.low == [7.2, 7.2, None, 7.4]
    start = START_US // 1000
    assert found.gaps == [(start + 2 * 60_000, start + 360 * 60_000)]


def test_a_lonely_value_stays_in_the_columns():
    """WEB-05"""
    alone = reading(6, 5.6, silences=((0, 6),))
    last = reading(12, None, silences=((7, 13),))
    found = columns(reading(0, None), alone, last, minutes=13)
    assert found.low == [None, 5.6]
    assert (found.judged, found.flagged) == (1, 2)
    assert len(found.gaps) == 2


def test_values_without_a_silence_between_them_are_joined_however_far_apart():
    found = columns(reading(0, 7.0), reading(90, 7.1), minutes=91)
    assert found.gaps == [] and found.low == [7.0, 7.1]


def test_a_silence_inside_a_piece_is_listed_and_breaks_nothing():
    found = columns(reading(0, 7.0, silences=((5, 30),)), reading(60, 7.1), minutes=61)
    assert len(found.gaps) == 1 and found.low == [7.0, 7.1]


def test_a_span_without_any_value_is_one_gap():
    found = columns(reading(3, None), minutes=30)
    start = START_US // 1000
    assert found.gaps == [(start, start + 30 * 60_000)]


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
