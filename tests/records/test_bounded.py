"""Every statement on readings says of which time: those written out, and those that any test runs.

Fixtures of all tests watch the statements that our code makes (``tests.support.bounded``).
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from compliance.records.engine import make_engine
from tests.support.bounded import ALLOWED, ROOT, is_unbounded, watched

UNBOUNDED = "SELECT max(value) FROM reading WHERE channel_id = 1"


def test_statements_written_out_say_their_time() -> None:
    found = [
        f"{file.relative_to(ROOT)}, line {node.lineno}"
        for top in ("app", "compliance", "ingest")
        for file in (ROOT / top).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and is_unbounded(node.value)
    ]
    assert not found


@pytest.mark.parametrize(
    ("statement", "unbounded"),
    [
        (UNBOUNDED, True),
        (f"{UNBOUNDED} ORDER BY read_at", True),
        ("SELECT 1 FROM channel c JOIN reading r ON r.channel_id = c.id", True),
        (f"{UNBOUNDED} AND read_at >= now()", False),
        ("INSERT INTO reading SELECT * FROM staging", False),
        ("SELECT 1 FROM reading_before", False),
    ],
)
def test_a_statement_without_a_time_is_told(statement: str, unbounded: bool) -> None:
    assert is_unbounded(statement) is unbounded


def test_a_statement_of_our_own_code_without_a_time_fails_the_test_that_runs_it(
    engine: Engine,
) -> None:
    ours: dict[str, object] = {"text": text}
    code = f"def ask(db): return db.execute(text({UNBOUNDED!r})).all()"
    exec(compile(code, str(ROOT / "compliance/records/careless.py"), "exec"), ours)
    ask = ours["ask"]
    own = make_engine(engine.url)  # watched by itself: not by the fixture
    noticed = pytest.raises(AssertionError, match=r"careless\.py:ask: SELECT max")
    with noticed, watched(own), own.connect() as db:
        ask(db)  # type: ignore[operator]
    with watched(own), own.connect() as db:
        db.execute(text(UNBOUNDED))  # a test may ask what it likes
    own.dispose()


def test_what_is_allowed_exists() -> None:
    for place in ALLOWED:
        file, _, function = place.partition(":")
        assert f"def {function}(" in Path(ROOT / file).read_text()
