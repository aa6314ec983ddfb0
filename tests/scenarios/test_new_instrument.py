"""A new instrument as the documentation tells it: one file, one page, and only then it counts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, select

from app import auth
from app.main import create_app
from compliance.jobs import site
from compliance.jobs.evaluate import evaluate
from compliance.model.sites import Role
from compliance.records import audit, people
from compliance.records import tables as t
from compliance.settings import Settings
from tests.support.instrument import Held, answering, float_words

DOCS = Path(__file__).parents[2] / "docs" / "instruments.md"
SITE = {
    "cities": [
        {
            "slug": "prescott", "name": "Prescott", "zone": "America/Chicago",
            "rulebooks": ["prescott", "federal"], "control_authority": "DNR",
            "ordinance_authority": "City", "billing_authority": "City",
            "users": [
                {
                    "slug": "acme", "name": "Acme", "makes": "zinc", "is_significant": True,
                    "category": "C", "water_meter": "2 in",
                    "points": [{"code": "MH-7", "place": "control manhole"}],
                }
            ],
        }
    ]
}  # fmt: skip
PASSWORD = "correct horse"
APPROVAL = {
    "location": "flume throat",
    "frequency": "continuous",
    "approved_by": "Paul Lindqvist, Director",
    "approved_on": "2026-03-01",
    "document": "letter 7",
}


def documented_map() -> tuple[str, str]:
    """The name and the text of the map that the documentation has one write."""
    found = re.search(r"    ```yaml\n(    name: .*?)    ```\n", DOCS.read_text(), re.DOTALL)
    assert found, "docs/instruments.md shows no map to write"
    text = textwrap.dedent(found[1])
    return text.splitlines()[0].removeprefix("name: "), text


def until(holds: Callable[[], object], *, seconds: float = 30) -> object:
    """Wait for what takes other processes a moment."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := holds():
            return found
        time.sleep(0.1)
    raise AssertionError("it did not come about")


LOCAL = {"PRETREAT_FIELD_ALLOW": "127.0.0.0/8"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "maps").mkdir()
    return tmp_path


@contextmanager
def worker(engine: Engine, home: Path) -> Iterator[None]:
    url = engine.url.render_as_string(hide_password=False)
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "ingest", "--worker", "field"],
        env={**os.environ, "DATABASE_URL": url, "PRETREAT_HOME": str(home), **LOCAL},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=20)
        assert "Traceback" not in said, said


@pytest.fixture
def administrator(engine: Engine) -> Iterator[TestClient]:
    site.store(engine, site.SiteDocument.model_validate(SITE))
    with engine.begin() as db:
        people.add(
            db,
            login="adam",
            name="Adam Root",
            password=auth.hashed(PASSWORD),
            role=Role.ADMINISTRATOR,
            office="Administrator",
            city_id=None,
            industrial_user_id=None,
        )
    settings = Settings.model_validate({"PRETREAT_BASE_URL": "http://testserver", **LOCAL})
    with TestClient(create_app(settings, engine), follow_redirects=False) as client:
        client.post("/signin", data={"login": "adam", "password": PASSWORD})
        yield client


def sent(client: TestClient, path: str, **fields: object) -> str:
    """Send a form; where it leads."""
    answer = client.post(path, data={name: str(value) for name, value in fields.items()})
    assert answer.status_code == 303, re.findall(r'class="wrong".*?</p>', answer.text)
    return answer.headers["location"].partition("#")[0]


def read_once(client: TestClient, page: str) -> int:
    """Have the instrument read; the number of the question."""
    instrument = int(page.split("/")[2])
    number = client.post("/api/v1/field-questions", json={"instrument": instrument}).json()
    address = number["href"]
    until(lambda: client.get(address).json()["state"] != "waiting")
    assert client.get(address).json()["problem"] is None
    return int(number["question"])


def judged(engine: Engine) -> list[str]:
    """Judge what is new; the rules under which something was found."""
    evaluate(engine, now=datetime.now(UTC), release="test")
    with engine.connect() as db:
        return list(db.scalars(select(t.exceedance.c.rule_id).distinct()))


def stored(engine: Engine) -> list[float | None]:
    with engine.connect() as db:
        return list(db.scalars(select(t.reading.c.value).order_by(t.reading.c.read_at)))


def test_a_new_instrument_counts_only_after_its_display_was_compared(
    engine: Engine, home: Path, administrator: TestClient
) -> None:
    client = administrator
    acid = dict(zip((12, 13), float_words(5.2, "CDAB"), strict=True))
    held = Held({0: 0, **acid, 14: 213, 30: 0})
    with answering(held), worker(engine, home):
        name, text = documented_map()
        (home / "maps" / f"{name}.yaml").write_text(text)
        where = sent(client, "/instruments/new", name="mh-7", host="127.0.0.1", port=held.port)
        sent(client, f"{where}/scan", first=1, last=2)
        until(lambda: "Unit 1" in client.get(where).text)
        until(lambda: f'value="{name}"' in client.get(where).text)
        page = sent(client, where, unit=1, point="MH-7", map=name)
        channel = {"entry": "ph", "parameter": "ph", "channel_unit": "s.u.", "resolution": "0.01"}
        sent(client, f"{page}/channels", **channel, interval_s=1)
        until(lambda: stored(engine))
        assert set(stored(engine)) == {None}  # its order is open: no number
        ph = number_of_channel(engine)
        refused = client.post(f"{page}/confirm", data=APPROVAL)
        assert refused.status_code == 422
        assert "nothing was compared with the display yet" in refused.text

        wrong = sent(client, f"{page}/compare", question=read_once(client, page), **{ph: "7.31"})
        assert "the display shows 7.31, the registers" in client.get(wrong).text
        assert client.post(f"{page}/confirm", data=APPROVAL).status_code == 422

        sent(client, f"{page}/compare", question=read_once(client, page), **{ph: "5.20"})
        assert "CDAB agrees" in client.get(page).text
        until(lambda: 5.2 in stored(engine))
        assert judged(engine) == []  # read and stored, and not judged
        assert "Not commissioned" in client.get("/live").text

        number = ph.removeprefix("display_")
        papers = {f"method_{number}": "EPA 150.2", f"days_{number}": "30"}
        sent(client, f"{page}/confirm", **APPROVAL, **papers)
        assert "Counts" in client.get(page).text
        assert "prescott.ph" in str(until(lambda: judged(engine)))
        assert held.connections <= 3  # the scan's, the reading's, the polling's: one at a time
    with engine.connect() as db:
        since = db.scalar(select(t.counting.c.since))
        assert db.scalar(select(t.exceedance.c.starts_at).limit(1)) >= since
        acts = [entry.act for entry in audit.entries(db) if entry.by == "Adam Root"]
        assert "EPA 150.2" in str(db.execute(select(t.commissioning)).first())
    assert acts.count("ask the field") >= 2  # the scan, and each reading
    assert [act for act in acts if act != "ask the field"] == [
        "add a gateway", "add an instrument", "read a channel",
        "compare with the display", "compare with the display", "confirm an instrument",
    ]  # fmt: skip


def number_of_channel(engine: Engine) -> str:
    """The field of the one channel's display."""
    with engine.connect() as db:
        return f"display_{db.scalar(select(t.channel.c.id))}"
