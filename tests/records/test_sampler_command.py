"""`pretreat sampler` over real Modbus TCP: what it writes, what it refuses, what the log keeps."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, insert

from compliance.jobs import site
from compliance.model.register_map import Table
from compliance.model.sites import Role
from compliance.records import audit, people
from compliance.records import tables as t
from ingest import enabling, library, scenario
from ingest.errors import BadReply, NoAnswer, NotConnected, Refused
from ingest.simulator import serve
from tests.support.manhole import SITE, manhole

pytestmark = pytest.mark.database

START = datetime(2026, 4, 15, 15, 30, tzinfo=UTC)
SAMPLER = """
name: own-sampler
vendor: Example
model: S1
role: automatic sampler
document: Example S1, page 12
entries:
  - {name: run, table: coil, address: 0, printed: "00001", type: bits, kind: command, enables: 1, disables: 0, evidence: manual}
  - {name: mode, table: holding, address: 4, printed: "40005", type: uint16, kind: config, evidence: manual}
"""  # noqa: E501


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def background(main: Callable[[threading.Event], Any]) -> Iterator[None]:
    """Run a coroutine in a thread from when it says that it is ready until it is cancelled."""
    ready = threading.Event()
    tasks: list[asyncio.Task[None]] = []

    async def whole() -> None:
        tasks.append(asyncio.ensure_future(main(ready)))
        with suppress(asyncio.CancelledError):
            await tasks[0]
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await asyncio.sleep(0.05)  # what was closed is closed by the loop's next turn

    thread = threading.Thread(target=lambda: asyncio.run(whole()))
    thread.start()
    assert ready.wait(10)
    try:
        yield
    finally:
        tasks[0].get_loop().call_soon_threadsafe(tasks[0].cancel)
        thread.join(10)


def simulated(port: int) -> Callable[[threading.Event], Any]:
    """The sampler of MH-2 in the demo's scenario, unit 3: a Campbell PVS5120."""
    demo = scenario.load(scenario.find("demo"))
    one = next(m for m in demo.manholes if m.point == "MH-2")
    alone = type(demo)(name="one", zone=demo.zone, manholes=(one,)).moved(port)

    def main(ready: threading.Event) -> Any:
        return serve(alone, started_at=START, clock=lambda: START, ready=ready.set)

    return main


def install(
    engine: Engine, port: int, *, map_name: str = "campbell-pvs5120", unit: int = 3
) -> None:
    manhole(engine)
    content = copy.deepcopy(SITE)
    point: dict[str, Any] = content["cities"][0]["users"][0]["points"][0]
    point["gateway"]["port"] = port
    point["instruments"].append({"unit": 3, "map": "campbell-pvs5120", "channels": []})
    site.store(engine, site.SiteDocument.model_validate(content))


def run(engine: Engine, home: Path, *words: str, allowed: bool = True) -> Any:
    own = {"PRETREAT_ALLOW_SAMPLER_ENABLE": "yes"} if allowed else {}
    url = engine.url.render_as_string(hide_password=False)
    return subprocess.run(
        [sys.executable, "-m", "app", *words],
        env={**os.environ, "DATABASE_URL": url, "PRETREAT_HOME": str(home), **own},
        capture_output=True,
        text=True,
        check=False,
    )


def acts(engine: Engine) -> list[tuple[str, str]]:
    with engine.connect() as db:
        return [(one.act, str(one.detail.get("answer", ""))) for one in audit.entries(db)]


def permit(engine: Engine, home: Path) -> None:
    done = run(engine, home, "user", "permit", "ana", "enable_sampler")
    assert done.returncode == 0, done.stderr


def test_a_sampler_is_enabled_by_one_write_noted_before_and_after(
    engine: Engine, tmp_path: Path
) -> None:
    port = free_port()
    install(engine, port)
    permit(engine, tmp_path)
    with background(simulated(port)):
        done = run(engine, tmp_path, "sampler", "enable", "MH-1", "--as", "ana", "--json")
        again = run(engine, tmp_path, "sampler", "disable", "MH-1", "--as", "ana")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "point": "MH-1",
        "written": "coil 0 (start) = 1",
        "answer": "05 00 00 ff 00",
    }
    assert acts(engine)[-2:] == [
        ("enable a sampler: about to write", ""),
        ("enable a sampler: written", "05 00 00 ff 00"),
    ]
    with engine.connect() as db:
        last = list(audit.entries(db))[-1]
    assert last.by.startswith("Ana Ruiz (ana, by account ")
    assert again.returncode == 2
    assert "says no value that disables" in again.stderr


def test_it_is_off_by_default_and_for_those_without_the_permit(
    engine: Engine, tmp_path: Path
) -> None:
    install(engine, free_port())
    words = ("sampler", "enable", "MH-1", "--as")
    off = run(engine, tmp_path, *words, "ana", allowed=False)
    assert (off.returncode, "PRETREAT_ALLOW_SAMPLER_ENABLE=yes" in off.stderr) == (2, True)
    lacks = run(engine, tmp_path, *words, "ana")
    assert (lacks.returncode, "does not hold the permit enable_sampler" in lacks.stderr) == (
        2,
        True,
    )
    nobody = run(engine, tmp_path, *words, "bo")
    assert (nobody.returncode, "nobody signs in here as 'bo'" in nobody.stderr) == (2, True)
    permit(engine, tmp_path)
    assert run(engine, tmp_path, "user", "revoke", "ana", "enable_sampler").returncode == 0
    assert run(engine, tmp_path, *words, "ana").returncode == 2
    assert not [act for act, _ in acts(engine) if "sampler" in act]


@pytest.mark.parametrize("role", [Role.COORDINATOR, Role.ADMINISTRATOR])
def test_people_of_another_city_are_refused(engine: Engine, tmp_path: Path, role: Role) -> None:
    install(engine, free_port())
    said = {"control_authority": "a", "ordinance_authority": "b", "billing_authority": "c"}
    with engine.begin() as db:
        made = insert(t.city).values(slug="m", name="M", zone="UTC", rulebooks=[], **said)
        city = db.execute(made).inserted_primary_key[0]
        who = {"login": "mo", "name": "Mo Hart", "password": "-", "office": "Coordinator"}
        people.add(db, **who, role=role, city_id=city)
    assert run(engine, tmp_path, "user", "permit", "mo", "enable_sampler").returncode == 0
    done = run(engine, tmp_path, "sampler", "enable", "MH-1", "--as", "mo")
    assert (done.returncode, "does not belong to the city of MH-1" in done.stderr) == (2, True)
    assert not [act for act, _ in acts(engine) if "sampler:" in act]


def test_where_nothing_answers_the_failure_is_noted_too(engine: Engine, tmp_path: Path) -> None:
    install(engine, free_port())
    permit(engine, tmp_path)
    done = run(engine, tmp_path, "sampler", "enable", "MH-1", "--as", "ana")
    assert done.returncode == 2
    assert "nothing was written" in done.stderr
    assert acts(engine)[-1][0] == "enable a sampler: failed"
    assert "nothing was written" in acts(engine)[-1][1]


def test_a_point_without_a_sampler_that_can_be_enabled_is_refused(
    engine: Engine, tmp_path: Path
) -> None:
    manhole(engine)
    permit(engine, tmp_path)
    for point, said in (
        ("MH-1", "has 0 instruments whose register map marks what enables them"),
        ("MH-9", "there is no monitoring point 'MH-9'"),
    ):
        done = run(engine, tmp_path, "sampler", "enable", point, "--as", "ana")
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_ones_own_map_says_what_disables(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "maps").mkdir()
    (tmp_path / "maps" / "own-sampler.yaml").write_text(SAMPLER)
    found = library.load("own-sampler", tmp_path)
    assert str(enabling.order(found, enable=True)) == "coil 0 (run) = 1"
    assert str(enabling.order(found, enable=False)) == "coil 0 (run) = 0"


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (None, NoAnswer),
        (b"", NotConnected),
        ("exception", Refused),
        ("another value", BadReply),
        ("another unit", BadReply),
        ("late", BadReply),
    ],
)
def test_only_its_own_words_are_taken_as_done(reply: object, error: type[Exception]) -> None:
    def said(frame: bytes) -> bytes:
        if reply == "exception":
            return frame[:4] + b"\x00\x03" + frame[6:7] + bytes((frame[7] | 0x80, 2))
        change = {"another value": 10, "another unit": 6, "late": 1}[str(reply)]
        return bytes(byte ^ (n == change) for n, byte in enumerate(frame))

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            frame = await reader.readexactly(12)
            if reply is None:
                await asyncio.sleep(1)
            elif reply != b"":
                writer.write(said(frame))
                await writer.drain()
        finally:
            writer.close()

    port = free_port()

    async def main(ready: threading.Event) -> None:
        server = await asyncio.start_server(talk, "127.0.0.1", port)
        ready.set()
        async with server:
            await server.serve_forever()

    order = enabling.Order(entry="run", table=Table.HOLDING, address=4, value=1)
    with background(main), pytest.raises(error):
        enabling.write("127.0.0.1", port, 3, order, timeout=0.3)


def test_a_wrong_permit_is_refused(engine: Engine, tmp_path: Path) -> None:
    manhole(engine)
    done = run(engine, tmp_path, "user", "permit", "ana", "everything")
    assert (done.returncode, "expected enable_sampler" in done.stderr) == (2, True)
