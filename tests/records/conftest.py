"""An installation into which history is imported as the command does it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from app.commands.import_history import Wanted, import_history
from tests.support.history import Import
from tests.support.manhole import Manhole, manhole


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
