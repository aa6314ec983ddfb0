"""The cadence of imported history: for its own span, whatever the order of files and rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from compliance.records import readings, sites
from tests.support.history import BASE, HEADER, Import, cadences, every, rows, written
from tests.support.manhole import Manhole


def test_the_cadence_of_history_holds_for_its_span_only(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    importing(written(tmp_path / "a.csv", HEADER + every(5, 288, start=start)))
    assert cadences(there.engine, there.ph) == [
        (BASE, 60_000),
        (start, 300_000),
        (start + timedelta(days=1), 60_000),
    ]
    with there.engine.connect() as db:
        series = readings.usable(db, [there.ph], since=start, until=start + timedelta(days=1))[
            there.ph
        ]
    assert set(series.interval_us) == {300_000_000}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)])
def test_overlapping_files_give_one_cadence_in_any_order(
    importing: Import, there: Manhole, tmp_path: Path, order: tuple[int, ...]
) -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    files = [
        written(tmp_path / f"{n}.csv", HEADER + every(5, 400, start=start + timedelta(days=n)))
        for n in range(3)
    ]
    for n in order:
        importing(files[n])
    end = start + timedelta(days=2, minutes=2000)
    with there.engine.connect() as db:
        series = readings.usable(db, [there.ph], since=start, until=end)[there.ph]
    assert len(series) == 2 * 288 + 400
    assert set(series.interval_us) == {300_000_000}
    assert cadences(there.engine, there.ph)[-1] == (end, 60_000)


def test_a_later_cadence_stays_and_a_shorter_one_with_readings_too(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    later = start + timedelta(hours=12)
    with there.engine.begin() as db:
        sites.set_cadence(db, there.ph, since=later, interval_ms=2000)
    importing(written(tmp_path / "a.csv", HEADER + every(5, 288, start=start)))
    assert cadences(there.engine, there.ph) == [(BASE, 60_000), (start, 300_000), (later, 2000)]
    there.put({n: 7.0 for n in range(30)}, start=later + timedelta(days=2))
    hour = written(
        tmp_path / "b.csv", HEADER + every(10, 4, start=later + timedelta(days=2, minutes=1))
    )
    found = importing(hour)
    assert found["channels"][0]["cadence"] == "left as it is"
    assert cadences(there.engine, there.ph)[-1] == (later, 2000)
    importing(hour, interval=600)
    assert (later + timedelta(days=2, minutes=1), 600_000) in cadences(there.engine, there.ph)


def test_rows_in_any_order_give_the_same_readings_and_cadence(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    lines = every(5, 2000, start=start).splitlines(keepends=True)
    shuffled = [lines[n * 787 % 2000] for n in range(2000)]
    found = importing(written(tmp_path / "a.csv", HEADER + "".join(shuffled)))
    assert (found["new"], found["channels"][0]["interval_seconds"]) == (2000, "300")
    assert len({at for _, at, _, _ in rows(there.engine)}) == 2000
    assert importing(written(tmp_path / "b.csv", HEADER + "".join(lines)))["present"] == 2000


def test_an_excursion_in_history_is_judged_by_the_cadence_of_history(
    importing: Import, there: Manhole, tmp_path: Path
) -> None:
    """Two readings below pH 6, five minutes apart: one excursion, and no silence inside."""
    start = datetime(2026, 7, 1, tzinfo=UTC)
    values = ["7.2", "7.2", "5.5", "5.4", "7.2", "7.2"]
    text = "".join(
        f"{start + timedelta(minutes=5 * n):%Y-%m-%dT%H:%M:%SZ},MH-1,ph,{value},s.u.,\n"
        for n, value in enumerate(values)
    )
    importing(written(tmp_path / "a.csv", HEADER + text))
    there.judge()
    assert {end - begin for begin, end, _, _ in there.facts()} == {10}
