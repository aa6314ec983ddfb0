"""What each city's readings were judged by: a row each time that a rule's content changed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select
from sqlalchemy.dialects.postgresql import distinct_on

from compliance.records import tables as t

_DUTY = 470420


def lock(db: Connection) -> None:
    """Let no other process look for changed rules until the transaction ends."""
    db.execute(select(func.pg_advisory_xact_lock(_DUTY)))


def known(db: Connection, city_id: int) -> dict[str, Mapping[str, Any] | None]:
    """The newest content of each rule of a city; None for one that its books have no more."""
    r = t.ruling.c
    rows = db.execute(
        select(r.rule_id, r.content)
        .ext(distinct_on(r.rule_id))
        .where(r.city_id == city_id)
        .order_by(r.rule_id, r.id.desc())
    )
    return {row.rule_id: row.content for row in rows}


def note(  # noqa: PLR0913 - a row of its columns
    db: Connection,
    city_id: int,
    rule_id: str,
    content: Mapping[str, Any] | None,
    *,
    marked: int,
    release: str,
    now: datetime,
) -> None:
    """Write down what a city's readings are judged by from now on.

    content: None for a rule that its books have no more. marked: how many channels are to be judged
    anew because of it.
    """
    row = {
        "city_id": city_id,
        "rule_id": rule_id,
        "content": None if content is None else dict(content),
        "marked": marked,
        "release": release,
        "noted_at": now,
    }
    db.execute(insert(t.ruling).values(**row))
