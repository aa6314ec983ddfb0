"""`pretreat import PERMITS.yaml`, as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.commands.import_site import import_site
from compliance.errors import InputError
from tests.support.manhole import manhole

PERMITS = """
permits:
  - number: P-12
    user: acme
    class: SIU
    effective: 2026-01-01
    ended: {ended}
    issued_by: Dan Moe
    office: Director
    limits:
      - {{parameter: ph, unit: SU, at_least: "6.5", at_most: "8.5", part: part 2}}
"""


def test_a_file_of_permits_is_imported_once_and_refused_by_name(
    engine: Engine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    manhole(engine)
    monkeypatch.setenv("DATABASE_URL", engine.url.render_as_string(hide_password=False))
    monkeypatch.setenv("PRETREAT_HOME", str(tmp_path / "home"))
    file = tmp_path / "permits.yaml"
    file.write_text(PERMITS.format(ended="2031-01-01"))
    for became in ("new", "as before"):
        import_site(file, as_json=True)
        told = json.loads(capsys.readouterr().out)
        assert [(one["what"], one["became"]) for one in told["entered"]] == [
            ("permit P-12", became)
        ]
    import_site(file)
    assert "permit P-12 of acme: as before, version 1" in capsys.readouterr().out
    file.write_text(PERMITS.format(ended="2031-01-02"))
    with pytest.raises(InputError, match=r"permits\.yaml: permit P-12 ends on 2031-01-02"):
        import_site(file)
