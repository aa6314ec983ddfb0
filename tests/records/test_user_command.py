"""`pretreat user add`: a person and a password that is shown once."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from os import environ

from sqlalchemy import Engine

from app import auth
from tests.support.manhole import manhole


def run(engine: Engine, *words: str) -> subprocess.CompletedProcess[str]:
    url = engine.url.render_as_string(hide_password=False)
    return subprocess.run(
        [sys.executable, "-m", "app", "user", "add", *words],
        env={**environ, "DATABASE_URL": url},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_person_gets_a_password_that_works(engine: Engine) -> None:
    manhole(engine)
    words = ("li", "--name", "Li Kim", "--role", "operator", "--city", "prescott")
    done = run(engine, *words)
    assert done.returncode == 0, done.stderr
    found = re.search(r"password (\S+)", done.stdout)
    assert found is not None
    where = {"address": "127.0.0.1", "now": datetime.now(UTC), "old": ""}
    assert auth.sign_in(engine, login="li", password=found[1], **where) is not None
    assert auth.sign_in(engine, login="li", password="another", **where) is None
    again = run(engine, *words)
    assert (again.returncode, "signs in here already" in again.stderr) == (2, True)


def test_people_of_an_industrial_user_are_named_with_it(engine: Engine) -> None:
    manhole(engine)
    lost = run(engine, "jo", "--name", "Jo", "--role", "industrial_user")
    assert (lost.returncode, "--user" in lost.stderr) == (2, True)
    wrong = run(engine, "jo", "--name", "Jo", "--role", "industrial_user", "--user", "Nobody")
    assert (wrong.returncode, "Acme Plating" in wrong.stderr) == (2, True)
