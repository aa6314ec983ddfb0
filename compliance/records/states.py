"""States of the fold: after the last folded reading, and at full hours where something is open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import ARRAY, Connection, Integer, any_, cast, delete, insert, select
from sqlalchemy.dialects.postgresql import insert as upsert

from compliance.model.folds import FoldState, Kept
from compliance.model.periods import from_us, to_us
from compliance.records import tables as t


def last(db: Connection, channels: Sequence[int]) -> dict[tuple[str, int], Kept]:
    """The last states by rule and channel, without those at full hours; none was kept elsewhere."""
    mine = t.fold_state.c.channel_id == any_(cast(list(channels), ARRAY(Integer)))
    rows = db.execute(select(t.fold_state).where(mine))
    return {
        (row.rule_id, row.channel_id): Kept(
            folded_us=to_us(row.folded_to), state=FoldState.from_dict(row.state)
        )
        for row in rows
    }


def open_channels(db: Connection) -> set[int]:
    """Channels on which something is open: time alone may end it."""
    rows = db.execute(select(t.fold_state.c.channel_id).where(t.fold_state.c.state != {}))
    return {row.channel_id for row in rows}


def hours(db: Connection, rule_id: str, channel: int, *, since: datetime) -> dict[int, FoldState]:
    """The states kept at the start of hours from ``since`` on, by microseconds since 1970."""
    f = t.fold_hour
    rows = db.execute(
        select(f.c.hour, f.c.state).where(
            f.c.rule_id == rule_id, f.c.channel_id == channel, f.c.hour >= since
        )
    )
    return {to_us(row.hour): FoldState.from_dict(row.state) for row in rows}


def keep_last(db: Connection, rule_id: str, channel: int, kept: Kept) -> None:
    """Store the state after the last folded reading."""
    assert kept.folded_us is not None
    values = {"folded_to": from_us(kept.folded_us), "state": kept.state.to_dict()}
    db.execute(
        upsert(t.fold_state)
        .values(rule_id=rule_id, channel_id=channel, **values)
        .on_conflict_do_update(index_elements=["rule_id", "channel_id"], set_=values)
    )


def keep_hours(
    db: Connection,
    rule_id: str,
    channel: int,
    *,
    spans: Sequence[tuple[int, int]],
    states: Mapping[int, FoldState],
) -> None:
    """Replace the states at the full hours inside spans, the end of each included."""
    f = t.fold_hour
    for since, until in spans:
        db.execute(
            delete(f).where(
                f.c.rule_id == rule_id,
                f.c.channel_id == channel,
                f.c.hour > from_us(since),
                f.c.hour <= from_us(until),
            )
        )
    if states:
        db.execute(
            insert(f),
            [
                {
                    "rule_id": rule_id,
                    "channel_id": channel,
                    "hour": from_us(hour),
                    "state": state.to_dict(),
                }
                for hour, state in states.items()
            ],
        )
