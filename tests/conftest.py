"""What tests share: a real database, migrated once and copied for whoever needs its own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine

from compliance.records import embedded, schema
from compliance.records.engine import make_engine

SHARED = Path(__file__).parents[1].parent / "shared"
_serial = count()


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
def template(server: embedded.Server) -> str:
    """The name of a migrated, empty database."""
    name = f"template_{os.getpid()}"
    server.ensure_database(name, fresh=True)
    engine = make_engine(server.url(name))
    schema.upgrade(engine)
    engine.dispose()
    return name


@pytest.fixture
def engine(server: embedded.Server, template: str) -> Iterator[Engine]:
    """A migrated database of one's own."""
    with _own_database(server, template) as made:
        yield made


@pytest.fixture
def engine_too(server: embedded.Server, template: str) -> Iterator[Engine]:
    """A second such database, to compare with."""
    with _own_database(server, template) as made:
        yield made


@contextmanager
def _own_database(server: embedded.Server, template: str) -> Iterator[Engine]:
    name = f"test_{os.getpid()}_{next(_serial)}"
    server.copy_database(name, template=template)
    made = make_engine(server.url(name))
    yield made
    made.dispose()
    server.drop_database(name)


@pytest.fixture(scope="session")
def _shared_engine(server: embedded.Server, template: str) -> Iterator[Engine]:
    name = f"rolled_{os.getpid()}"
    server.copy_database(name, template=template)
    made = make_engine(server.url(name))
    yield made
    made.dispose()
    server.drop_database(name)


@pytest.fixture
def db(_shared_engine: Engine) -> Iterator[Connection]:
    """A connection on a migrated schema; whatever a test writes is rolled back."""
    with _shared_engine.connect() as connection:
        transaction = connection.begin()
        yield connection
        transaction.rollback()
