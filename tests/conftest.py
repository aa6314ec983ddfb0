"""What tests share: a real database server, and migrated databases on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine

from compliance.records import embedded, timescale
from compliance.records.engine import make_engine
from tests.support.bounded import watched
from tests.support.databases import Databases, Servers

SHARED = Path(__file__).parents[1].parent / "shared"


def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are cores: many tests wait on sockets and clocks."""
    return (os.cpu_count() or 2) + 2


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first, and of several workers one has them all: they start many processes."""
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.xdist_group("long"))
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with ordinances and cases; only a lone checkout may do without it."""
    if not SHARED.exists():
        if os.environ.get("CI"):
            pytest.fail(f"{SHARED} is absent under CI")
        pytest.skip("the shared folder with ordinances and cases is absent")
    return SHARED


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """The database servers, started when first asked for."""
    with ExitStack() as leaving:
        yield Servers(leaving)


@pytest.fixture
def edition(request: pytest.FixtureRequest, servers: Servers) -> str:
    """On which server a test runs: the best one found, or for storage tests each in turn."""
    wanted: str = getattr(request, "param", "best")
    if wanted == "timescaledb":
        _require_timescaledb(servers)
    return "plain" if wanted == "plain" else "best"


def _require_timescaledb(servers: Servers) -> None:
    with servers.shared("best").connect() as db:
        if timescale.edition(db) != "plain":
            return
    if os.environ.get("CI") and os.geteuid() == 0:  # who may have installed it
        pytest.fail("TimescaleDB is absent under CI; scripts/need-timescaledb brings it")
    pytest.skip("TimescaleDB is absent; scripts/need-timescaledb brings it, as root")


@pytest.fixture
def databases(servers: Servers, edition: str) -> Databases:
    """Migrated, empty databases, one after another."""
    return servers.databases(edition)


@pytest.fixture
def server(databases: Databases) -> embedded.Server:
    """The server that they are on."""
    return databases.server


@pytest.fixture
def engine(databases: Databases) -> Iterator[Engine]:
    """A migrated, empty database of one's own."""
    with _own_database(databases) as made:
        yield made


@pytest.fixture
def engine_too(databases: Databases) -> Iterator[Engine]:
    """A second such database, to compare with."""
    with _own_database(databases) as made:
        yield made


@contextmanager
def _own_database(databases: Databases) -> Iterator[Engine]:
    name = databases.take()
    made = make_engine(databases.server.url(name))
    try:
        with watched(made):
            yield made
    finally:
        made.dispose()
        databases.give_back(name)


@pytest.fixture
def db(servers: Servers, edition: str) -> Iterator[Connection]:
    """A connection on a migrated schema; whatever a test writes is rolled back."""
    engine = servers.shared(edition)
    with watched(engine), engine.connect() as connection:
        transaction = connection.begin()
        yield connection
        transaction.rollback()
