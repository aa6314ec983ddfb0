"""The tables in code and the history agree, and the history runs up from nothing."""

from __future__ import annotations

from sqlalchemy import Engine, text

from compliance.records import schema


def test_the_history_ends_at_the_tables_of_the_code(engine: Engine) -> None:
    with engine.connect() as db:
        schema.differences(db)
        assert schema.current(db) == schema.head()


def test_migrating_again_changes_nothing(engine: Engine) -> None:
    schema.upgrade(engine)
    with engine.connect() as db:
        assert schema.current(db) == schema.head()


def test_the_history_prints_as_sql_with_the_guard_for_the_extension() -> None:
    printed = schema.as_sql()
    assert "CREATE TABLE reading" in printed
    assert "shared_preload_libraries" in printed


def test_two_bills_of_a_user_cannot_cover_one_day(engine: Engine) -> None:
    with engine.connect() as db:
        found = db.scalar(
            text("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = :name"),
            {"name": "one_bill_for_a_day"},
        )
    assert "period WITH &&" in (found or "")
