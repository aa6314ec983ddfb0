"""Storage tests run on both editions; an installation into which history is imported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from app.commands.import_history import Wanted, import_history
from compliance.records.engine import make_engine
from tests.support.databases import Databases
from tests.support.history import Import
from tests.support.manhole import Manhole, manhole

ON_BOTH = (
    "test_backup",
    "test_editions",
    "test_evaluate",
    "test_fold",
    "test_overlay",
    "test_plans",
    "test_prune",
    "test_pruned_edges",
    "test_readings",
    "test_rollup",
    "test_schema",
    "test_screen",
    "test_trust",
    "test_upgrade",
)
"""Modules whose tests run on plain PostgreSQL and on TimescaleDB; all others on the best server."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each storage test twice."""
    module = metafunc.module.__name__.rpartition(".")[2]
    if module in ON_BOTH and "edition" in metafunc.fixturenames:
        metafunc.parametrize("edition", ["plain", "timescaledb"], indirect=True)


@pytest.fixture
def there(engine: Engine) -> Manhole:
    return manhole(engine)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def importing(
    there: Manhole, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Import:
    """Runs an import as the command does; its report with the exit code."""
    url = there.engine.url.render_as_string(hide_password=False)
    monkeypatch.setenv("DATABASE_URL", url)
    monkeypatch.setenv("PRETREAT_HOME", str(home))

    def run(*files: Path, **wanted: Any) -> dict[str, Any]:
        code = import_history(files, Wanted(as_json=True, **wanted))
        return {"code": code, **json.loads(capsys.readouterr().out)}

    return run


@pytest.fixture
def empty(databases: Databases) -> Iterator[Engine]:
    """A database with nothing in it, not even a schema."""
    name = f"drill_{databases.template}"
    databases.server.ensure_database(name, fresh=True)
    made = make_engine(databases.server.url(name))
    yield made
    made.dispose()
    databases.server.drop_database(name)
