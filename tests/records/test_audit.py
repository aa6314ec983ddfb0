"""The audit log: whole when nobody touched it, and naming the row when somebody did."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from compliance.records import audit

pytestmark = pytest.mark.database


def write(db: Connection, act: str, **detail: object) -> int:
    return audit.note(db, by="Ana Ruiz", act=act, subject="MH-1", detail=detail)


def tamper(engine: Engine, statement: str) -> None:
    """What somebody with the keys of the database could do."""
    with engine.begin() as db:
        db.execute(text("ALTER TABLE audit DISABLE TRIGGER USER"))
        db.execute(text(statement))
        db.execute(text("ALTER TABLE audit ENABLE TRIGGER USER"))


@pytest.fixture
def three(engine: Engine) -> Engine:
    with engine.begin() as db:
        for number in range(3):
            write(db, f"act {number}", number=number)
    return engine


def test_an_empty_log_is_whole(db: Connection) -> None:
    assert audit.verify(db) == audit.Proof(count=0, head=audit.START, first_bad=None, why="")


def test_entries_hang_on_each_other_and_the_chain_is_whole(three: Engine) -> None:
    with three.connect() as db:
        first, second, third = audit.entries(db)
        proof = audit.verify(db)
    assert [second.previous, third.previous] == [first.sha256, second.sha256]
    assert (proof.count, proof.head, proof.first_bad) == (3, third.sha256, None)


def test_any_plain_detail_comes_back_as_it_was_hashed(db: Connection) -> None:
    number = write(
        db,
        "try everything",
        share=Decimal("10.00"),
        on=date(2026, 3, 1),
        at=datetime(2026, 3, 1, 8, tzinfo=UTC),
        small=1e-9,
        large=1e30,
        count=10**20,
        yes=True,
        none=None,
        codes=("MH-2", "MH-1"),
        odd="a\x00b \ud800 ü",
        deep={"list": [{"x": Decimal("-0")}]},
    )
    assert audit.verify(db).first_bad is None
    (entry,) = audit.entries(db)
    assert (entry.id, entry.detail["share"], entry.detail["codes"]) == (
        number,
        "10.00",
        ["MH-2", "MH-1"],
    )


@pytest.mark.parametrize(
    ("statement", "row", "why"),
    [
        ("UPDATE audit SET by = 'Bo' WHERE id = 2", 2, "its content is not what was hashed"),
        ("UPDATE audit SET detail = '{}' WHERE id = 2", 2, "its content is not what was hashed"),
        ("UPDATE audit SET at = at + interval '1 us' WHERE id = 3", 3, "its content"),
        ("DELETE FROM audit WHERE id = 2", 3, "row 2 should stand here"),
        ("UPDATE audit SET previous = repeat('1', 64) WHERE id = 1", 1, "it does not hang"),
    ],
)
def test_a_row_that_was_touched_is_named(three: Engine, statement: str, row: int, why: str) -> None:
    tamper(three, statement)
    with three.connect() as db:
        proof = audit.verify(db)
    assert proof.first_bad == row
    assert proof.why.startswith(why)


@pytest.mark.parametrize(
    "statement", ["UPDATE audit SET by = 'Bo'", "DELETE FROM audit", "TRUNCATE audit"]
)
def test_the_database_itself_refuses_to_change_the_log(three: Engine, statement: str) -> None:
    with three.connect() as db, pytest.raises(DBAPIError, match="the audit log only grows"):
        db.execute(text(statement))


def test_two_writers_at_once_do_not_fork_the_chain(engine: Engine) -> None:
    def several(who: int) -> None:
        for number in range(20):
            with engine.begin() as db:
                write(db, "count", who=who, number=number)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(several, range(4)))
    with engine.connect() as db:
        proof = audit.verify(db)
    assert (proof.count, proof.first_bad) == (80, None)


def test_what_was_rolled_back_leaves_no_hole(engine: Engine) -> None:
    with engine.connect() as db:
        write(db, "think better of it")
        db.rollback()
    with engine.begin() as db:
        assert write(db, "do it") == 1
        assert audit.verify(db).first_bad is None
