"""TimescaleDB's community edition for tests: a WebAssembly build, run by node; no server of it."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Step:
    """A statement, and the bytes that it reads where it is ``COPY … FROM '/dev/blob'``."""

    sql: str
    blob: bytes = b""


def ran(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """What each statement gave in a database of its own: rows and how many it changed.

    Fails the test at the first statement that is refused.
    """
    node = shutil.which("node", path=os.pathsep.join([str(_here()), os.environ["PATH"]]))
    if node is None or not (ROOT / "node_modules" / "@unni-craftsman").exists():
        if os.environ.get("CI"):
            pytest.fail("the community edition is absent under CI; make setup brings it")
        pytest.skip("the community edition is absent; make setup brings it")
    asked = [{"sql": s.sql, "blob": base64.b64encode(s.blob).decode()} for s in steps]
    done = subprocess.run(
        [node, Path(__file__).with_suffix(".mjs")],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    for step, answer in zip(steps, answers, strict=True):
        assert "error" not in answer, f"{answer['error']}: {step.sql[:200]}"
    return answers


def _here() -> Path:
    return Path(sys.executable).parent
