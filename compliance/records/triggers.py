"""Shares of design as they stood on each day, and the state they were in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.postgresql import insert

from compliance.records import tables as t


def newest(db: Connection, industrial_user_id: int, rule_id: str) -> str | None:
    """The state in which a test last stood; None when it was never made."""
    found: str | None = db.scalar(
        select(t.trigger_fact.c.state)
        .where(
            t.trigger_fact.c.industrial_user_id == industrial_user_id,
            t.trigger_fact.c.rule_id == rule_id,
        )
        .order_by(t.trigger_fact.c.as_of.desc())
        .limit(1)
    )
    return found


def put(
    db: Connection,
    industrial_user_id: int,
    *,
    rule_id: str,
    as_of: date,
    state: str,
    share: str,
    working: Sequence[str],
) -> None:
    """Keep a test as it stands on a day; the same day again replaces it."""
    statement = insert(t.trigger_fact).values(
        industrial_user_id=industrial_user_id,
        rule_id=rule_id,
        as_of=as_of,
        state=state,
        share=share,
        working=list(working),
    )
    db.execute(
        statement.on_conflict_do_update(
            index_elements=["industrial_user_id", "rule_id", "as_of"],
            set_={
                "state": statement.excluded.state,
                "share": statement.excluded.share,
                "working": statement.excluded.working,
                "judged_at": func.now(),
            },
        )
    )
