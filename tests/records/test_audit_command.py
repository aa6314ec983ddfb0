"""`pretreat audit`, and that what people do by other commands is in the log."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC
from os import environ
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from compliance.records import audit
from tests.support.manhole import manhole

pytestmark = pytest.mark.database


def run(engine: Engine, *words: str, **own: str) -> subprocess.CompletedProcess[str]:
    url = engine.url.render_as_string(hide_password=False)
    return subprocess.run(
        [sys.executable, "-m", "app", *words],
        env={**environ, "DATABASE_URL": url, **own},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_log_is_whole_until_a_row_is_changed_and_then_names_it(engine: Engine) -> None:
    with engine.begin() as db:
        for subject in ("MH-1", "MH-2"):
            audit.note(db, by="Ana Ruiz", act="look", subject=subject, detail={})
    whole = run(engine, "audit", "verify", "--json")
    assert whole.returncode == 0, whole.stderr
    assert json.loads(whole.stdout)["count"] == 2
    with engine.begin() as db:
        db.execute(text("ALTER TABLE audit DISABLE TRIGGER USER"))
        db.execute(text("UPDATE audit SET subject = 'MH-3' WHERE id = 2"))
    broken = run(engine, "audit", "verify")
    assert (broken.returncode, broken.stderr) == (1, "")
    assert broken.stdout.startswith("row 2 does not hold: its content is not what was hashed")


def test_what_people_do_by_commands_is_in_the_log(engine: Engine, tmp_path: Path) -> None:
    manhole(engine)
    before = run(engine, "audit", "list", "--json")
    start = len(json.loads(before.stdout)["entries"])
    export = tmp_path / "ph.csv"
    export.write_text(
        "at,point,parameter,value,unit\n"
        "2026-01-01T08:00:00Z,MH-1,ph,7.0,s.u.\n2026-01-01T08:01:00Z,MH-1,ph,7.1,s.u.\n"
    )
    for words in (
        ("user", "add", "li", "--name", "Li Kim", "--role", "operator", "--city", "prescott"),
        ("token", "add", "--worker", "far", "--points", "MH-1"),
        ("token", "revoke", "--worker", "far"),
        ("import", str(export)),
    ):
        done = run(engine, *words)
        assert done.returncode == 0, done.stderr
    listed = run(engine, "audit", "list", "--since", "2020-01-01", "--json")
    entries = json.loads(listed.stdout)["entries"][start:]
    assert [(one["act"], one["subject"]) for one in entries] == [
        ("add a person", "li"),
        ("make a token", "far"),
        ("revoke a token", "far"),
        ("import history", "ph.csv"),
    ]
    assert entries[-1]["detail"]["new"] == 2
    assert all(one["by"].startswith("account ") for one in entries)
    assert "password" not in listed.stdout
    assert "prt_" not in listed.stdout


def test_a_since_that_is_no_date_is_told_in_one_sentence(engine: Engine) -> None:
    done = run(engine, "audit", "list", "--since", "yesterday")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pretreat: --since is 'yesterday'; expected a date")


def test_the_list_cuts_no_instant_in_a_narrow_window(engine: Engine) -> None:
    with engine.begin() as db:
        audit.note(db, by="Ana Ruiz, Coordinator", act="x" * 40, subject="y" * 40, detail={"a": 1})
        (entry,) = audit.entries(db)
    said = run(engine, "audit", "list", COLUMNS="80").stdout
    assert entry.at.astimezone(UTC).isoformat(timespec="seconds") in said
