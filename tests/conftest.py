"""What tests share: a real database server, and migrated databases on it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine

from compliance.records import embedded, schema
from compliance.records.engine import make_engine
from tests.support.databases import Databases

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
def server() -> Iterator[embedded.Server]:
    """The embedded server, in a home that other accounts may enter."""
    home = Path(tempfile.gettempdir()) / f"pretreat-tests-{os.geteuid()}"
    with embedded.running(home) as running:
        yield running


@pytest.fixture(scope="session")
def databases(server: embedded.Server) -> Iterator[Databases]:
    """Migrated, empty databases, one after another."""
    name = f"template_{os.getpid()}"
    server.ensure_database(name, fresh=True)
    engine = make_engine(server.url(name))
    schema.upgrade(engine)
    engine.dispose()
    made = Databases(server, name)
    yield made
    made.close()


@pytest.fixture
def engine(databases: Databases) -> Iterator[Engine]:
    """A migrated, empty database of one's own."""
    name = databases.take()
    made = make_engine(databases.server.url(name))
    yield made
    made.dispose()
    databases.give_back(name)


@pytest.fixture(scope="session")
def _shared_engine(databases: Databases) -> Iterator[Engine]:
    name = databases.take()
    made = make_engine(databases.server.url(name))
    yield made
    made.dispose()
    databases.give_back(name)


@pytest.fixture
def db(_shared_engine: Engine) -> Iterator[Connection]:
    """A connection on a migrated schema; whatever a test writes is rolled back."""
    with _shared_engine.connect() as connection:
        transaction = connection.begin()
        yield connection
        transaction.rollback()
