"""`pretreat prune`: a schedule is loaded, what would go is told, and it goes."""

from __future__ import annotations

import json
import subprocess
import sys
from os import environ
from pathlib import Path

import pytest
from sqlalchemy import Engine

from compliance.records import destructions
from tests.support.history import Import, written
from tests.support.keeping import DAY, START, decided, old_manhole, pruned, rows, settle, window
from tests.support.keeping import adopt as adopted
from tests.support.manhole import Manhole

pytestmark = pytest.mark.database

SCHEDULE = """
records_schedule: prescott
adopted_on: 2026-11-03
adopted_by: Common Council, Resolution 26-41
lines:
  - {line: WW-1, records: readings, years: 3, citation: Wis. Stat. § 19.21}
"""


def run(engine: Engine, *words: object) -> subprocess.CompletedProcess[str]:
    url = engine.url.render_as_string(hide_password=False)
    return subprocess.run(
        [sys.executable, "-m", "app", "prune", *map(str, words)],
        env={**environ, "DATABASE_URL": url, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    return decided(old_manhole(engine, end="2020-02"))


def stored(mh: Manhole) -> int:
    span = window("2020-02")
    with mh.engine.connect() as db:
        return destructions.count(db, mh.ph, since=span.start, until=span.end)


def test_from_no_schedule_to_a_record_of_destruction(mh: Manhole, tmp_path: Path) -> None:
    file = written(tmp_path / "schedule.yaml", SCHEDULE)
    bare = run(mh.engine, "--yes")
    assert bare.returncode == 0, bare.stderr
    assert "City of Prescott has no records schedule: nothing of it is destroyed." in bare.stdout
    assert stored(mh) == 29 * DAY

    loaded = run(mh.engine, "--schedule", file, "--dry-run", "--json")
    assert loaded.returncode == 0, loaded.stderr
    said = json.loads(loaded.stdout)
    (city,) = said["cities"]
    assert (said["loaded"], said["dry_run"], said["readings"]) == ("prescott", True, 2 * 29 * DAY)
    assert city["schedule"]["lines"][0]["citation"] == "Wis. Stat. § 19.21"
    assert [(one["parameter"], one["month"], one["line"]) for one in city["goes"]] == [
        ("ph", "2020-02", "WW-1"),
        ("flow", "2020-02", "WW-1"),
    ]
    assert city["goes"][0]["sha256"] is None
    assert stored(mh) == 29 * DAY

    done = run(mh.engine, "--yes", "--json")
    went = json.loads(done.stdout)["cities"][0]["goes"]
    assert (done.returncode, done.stderr) == (0, "")
    assert {one["sha256"] for one in went} == {row["sha256"] for row in rows(mh, "destruction")}
    assert stored(mh) == 0
    again = run(mh.engine, "--yes").stdout
    assert "0 readings, 0 months of one channel each, are destroyed" in again


def test_what_stays_is_told_with_its_reason(mh: Manhole, tmp_path: Path) -> None:
    run(mh.engine, "--schedule", written(tmp_path / "schedule.yaml", SCHEDULE))
    early = run(mh.engine, "--dry-run", "--on", "2023-02-28", "--json")
    (city,) = json.loads(early.stdout)["cities"]
    assert city["goes"] == []
    stays = city["stays"][0]
    assert (stays["from"], stays["to"], stays["why"], stays["first_may_go_on"]) == (
        "2020-02", "2020-02", ["younger than 3 years"], "2023-03-01",
    )  # fmt: skip
    table = run(mh.engine, "--dry-run", "--on", "2023-02-28").stdout
    assert "younger than 3 years" in table and "WW-1: 3 years" in table


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "pretreat: say --dry-run to see what would go, --yes to destroy it"),
        (("--dry-run", "--yes"), "pretreat: --dry-run and --yes are given"),
        (("--yes", "--on", "2030-01-01"), "pretreat: --on goes with --dry-run alone"),
        (("--dry-run", "--on", "soon"), "pretreat: --on is 'soon'; expected a date"),
        (("--dry-run", "--city", "rome"), "pretreat: there is no city 'rome' here"),
        (("--schedule", "absent.yaml"), "pretreat: absent.yaml cannot be read"),
    ],
)
def test_wrong_usage_is_one_sentence(engine: Engine, words: tuple[str, ...], sentence: str) -> None:
    done = run(engine, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(sentence) and done.stderr.count("\n") == 1


def test_a_schedule_of_a_city_that_is_not_here_is_refused(engine: Engine, tmp_path: Path) -> None:
    done = run(engine, "--schedule", written(tmp_path / "schedule.yaml", SCHEDULE))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pretreat: schedule.yaml: records_schedule: there is no city")


def test_an_export_with_readings_of_a_closed_month_is_refused_whole(
    there: Manhole, importing: Import, tmp_path: Path
) -> None:
    text = "at,point,parameter,value,unit\n"
    at = [START.replace(day=day) for day in (1, 2, 3)]
    first = written(
        tmp_path / "first.csv",
        text + "".join(f"{one.isoformat()},MH-1,ph,7.1,s.u.\n" for one in at),
    )
    assert importing(first)["code"] == 0
    there.judge()
    _close(there)
    late = written(
        tmp_path / "late.csv",
        text + "2020-03-05T06:00:00Z,MH-1,ph,7.1,s.u.\n2020-02-05T06:00:00Z,MH-1,ph,7.1,s.u.\n",
    )
    with pytest.raises(Exception, match=r"late.csv, row 3: the reading of channel 1 at 2020-02-05"):
        importing(late)
    with there.engine.connect() as db:
        assert destructions.count(db, there.ph, since=START, until=window("2021-01").end) == 0


def _close(there: Manhole) -> None:
    settle(there)
    adopted(there.engine)
    assert pruned(there) == {"ph": ["2020-02"]}
