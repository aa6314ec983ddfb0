"""An amended ordinance judges the past: before and after by user, and nothing is written."""

from __future__ import annotations

import json
import sys
from datetime import date, timedelta
from importlib import resources
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine, func, select

from app.commands import main, rules_replay
from app.labfiles import sheet
from compliance.errors import InputError
from compliance.jobs import replay
from compliance.jobs.receive import receive
from compliance.records import tables as t
from compliance.records.engine import reading
from compliance.rules import book
from compliance.sampling.results import read
from tests.support.manhole import AT, Manhole, manhole

pytestmark = pytest.mark.database
NOW = AT + timedelta(days=20)
SINCE = date(2026, 7, 1)
THIRD = """
rulebook: elsewhere
title: A city of another state
zone: America/New_York
rules:
  - id: elsewhere.ph
    citation: its code
    says: pH from 5.5 to 11.0.
    anchor: null
    authority: ordinance
    parameter: ph
    unit: s.u.
    basis: instantaneous
    versions:
      - {effective: null, at_least: "5.5", at_most: "11.0"}
"""


def prescott(*changes: tuple[str, str]) -> book.RuleBook:
    text = resources.files("compliance.rules").joinpath("prescott.yaml").read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return book.parse(text, "amended.yaml")


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    """Ten days of minutes: an event at 5.8, and one at 5.2 across the weeks that are read."""
    made = manhole(engine)
    values: dict[int, float | None] = dict.fromkeys(range(10 * 1440), 7.2)
    values |= dict.fromkeys(range(100, 110), 5.8)
    values |= dict.fromkeys(range(7 * 1440 - 5, 7 * 1440 + 5), 5.2)
    made.put(values)
    made.judge(after=12 * 1440)
    return made


def run(mh: Manhole, after: book.RuleBook, **more: Any) -> dict[str, Any]:
    with reading(mh.engine) as db:
        done = replay.run(db, after, since=more.pop("since", SINCE), now=NOW, **more)
    return rules_replay.to_json(done)


def of(said: dict[str, Any], rule: str = "prescott.ph") -> dict[str, Any]:
    found = [one for user in said["users"] for one in user["rules"] if one["rule"] == rule]
    assert len(found) == 1
    return found[0]


def test_the_same_book_changes_nothing(mh: Manhole) -> None:
    said = run(mh, prescott())
    assert (said["mark"], said["rules_changed"], said["users"]) == ("what-if, no finding", [], [])


def test_a_looser_limit_finds_less_and_a_stricter_one_more(mh: Manhole) -> None:
    looser = of(run(mh, prescott(('at_least: "6.0"', 'at_least: "5.5"'))))
    assert (looser["before"], looser["after"]) == (
        {"events": 2, "seconds_beyond": 1200},
        {"events": 1, "seconds_beyond": 600},
    )
    assert (looser["gone"], looser["changed"], looser["new"]) == (1, 1, 0)
    stricter = of(run(mh, prescott(('at_least: "6.0"', 'at_least: "7.3"'))))
    assert stricter["after"]["events"] == 1  # all of it is one event
    assert stricter["after"]["seconds_beyond"] > 800_000


def test_before_is_what_is_on_record(mh: Manhole) -> None:
    said = of(run(mh, prescott(('at_least: "6.0"', 'at_least: "5.0"'))))
    with mh.engine.connect() as db:
        e = t.exceedance.c
        stored = db.execute(select(func.count(), func.sum(e.seconds_beyond)).where(
            e.rule_id == "prescott.ph")).one()  # fmt: skip
    assert said["before"] == {"events": stored[0], "seconds_beyond": stored[1]}
    assert said["after"]["events"] == 0


def test_only_what_begins_since_the_day_counts(mh: Manhole) -> None:
    said = of(run(mh, prescott(('at_least: "6.0"', 'at_least: "5.5"')), since=date(2026, 7, 8)))
    assert said["before"]["events"] == 1


def test_the_book_of_a_third_city_is_replayed_where_it_is_asked_for(mh: Manhole) -> None:
    third = book.parse(THIRD, "third.yaml")
    with pytest.raises(InputError, match="no city here is judged by a rulebook elsewhere"):
        run(mh, third)
    said = of(run(mh, third, city="prescott"), "elsewhere.ph")
    assert (said["before"]["events"], said["after"]["events"], said["new"]) == (0, 1, 1)


def test_a_day_that_is_yet_to_come_is_refused(mh: Manhole) -> None:
    with pytest.raises(InputError, match="--since is 2030-01-01, which is yet to come"):
        run(mh, prescott(), since=date(2030, 1, 1))


def test_the_command_prints_before_and_after_and_writes_nothing(
    mh: Manhole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stored() -> list[Any]:
        with mh.engine.connect() as db:
            return [
                db.execute(select(table)).all() for table in (t.exceedance, t.detection, t.outbox)
            ]

    file = tmp_path / "amended.yaml"
    text = resources.files("compliance.rules").joinpath("prescott.yaml").read_text("utf-8")
    file.write_text(text.replace('at_least: "6.0"', 'at_least: "5.5"'), "utf-8")
    url = mh.engine.url.render_as_string(hide_password=False)
    monkeypatch.setenv("DATABASE_URL", url)
    before = stored()
    for options in ([], ["--json"]):
        argv = ["pretreat", "rules", "replay", str(file), "--since", "2026-07-01", *options]
        monkeypatch.setattr(sys, "argv", argv)
        with pytest.raises(SystemExit) as end:
            main()
        out = capsys.readouterr().out
        assert not end.value.code
        assert "what-if, no finding" in out
        if options:
            assert json.loads(out)["rules_changed"] == ["prescott.ph"]
        else:
            assert "2 events, 1,200 s beyond" in out and "1 event, 600 s beyond" in out
    assert stored() == before


def test_results_and_possible_slugs_are_replayed_too(engine: Engine) -> None:
    mh = manhole(engine)
    flow: dict[int, float | None] = dict.fromkeys(range(9 * 1440), 10.0)
    flow |= dict.fromkeys(range(8 * 1440, 8 * 1440 + 30), 40.0)
    mh.put(flow, channel=mh.flow)
    oil = b"""Sample ID,Point,Collected,Sample Type,Parameter,Result,RL,Units
S-1,MH-1,2026-07-07 09:30,Grab,Petroleum oil,21,5,mg/L
S-2,MH-1,2026-07-08 09:30,Grab,Petroleum oil,31,5,mg/L
"""
    with mh.engine.connect() as db:
        user = db.scalar(select(t.industrial_user.c.id)) or 0
    receive(
        mh.engine,
        read(sheet(oil, filename="oil.csv"), zone=ZoneInfo("America/Chicago"), received_at=NOW),
        oil,
        filename="oil.csv",
        industrial_user_id=user,
        viewer=None,
        now=NOW,
        release="test",
    )
    said = run(mh, prescott(('at_most: "25"', 'at_most: "20"'), ('factor: "5"', 'factor: "3"')))
    assert said["results"] == 2
    oils = of(said, "prescott.petroleum_oil")
    assert (oils["before"]["events"], oils["after"]["events"]) == (1, 2)
    slugs = of(said, "prescott.slug")
    assert (slugs["before"]["events"], slugs["after"]["events"]) == (0, 1)
