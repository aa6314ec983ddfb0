"""Stored quarter-hours and civil days of channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ARRAY, Connection, Integer, any_, cast, delete, func, insert, select
from sqlalchemy.dialects.postgresql import insert as upsert

from compliance.model.keeping import holds
from compliance.model.periods import from_us
from compliance.model.rollups import Figures, Quarters
from compliance.records import destructions, dirt
from compliance.records import tables as t
from compliance.records.batch import EPOCH_2000_US
from compliance.records.copying import copied, row_of

AFTER_SUMMING = (dirt.SLUG, dirt.SAMPLER, dirt.SCREEN, dirt.TOTAL, dirt.FAILED)
"""Marks of duties that change no sum; their readings wait under another mark to be summed too."""
_EXTREMES = ("lowest", "highest", "first", "last")
_QUARTERS = """
    SELECT channel_id, quarter, readings, good, held_us, area, coalesce(lowest, 'NaN'),
           coalesce(highest, 'NaN'), coalesce(first, 'NaN'), coalesce(last, 'NaN')
    FROM rollup_quarter
    WHERE channel_id = ANY(%s) AND quarter >= %s AND quarter < %s
    ORDER BY channel_id, quarter
"""
_ROW = row_of(
    ("channel_id", "i4"),
    ("quarter", "i8"),
    ("readings", "i4"),
    ("good", "i4"),
    ("held_us", "i8"),
    ("area", "f8"),
    *((name, "f8") for name in _EXTREMES),
)


def put_quarters(
    db: Connection, found: Mapping[int, Quarters], *, since: datetime, until: datetime
) -> None:
    """Replace the quarters of channels in ``[since, until)`` by others.

    What was summed of a month whose readings were destroyed since stays as it was.
    """
    q = t.rollup_quarter
    shut = destructions.closed(db, list(found), since=since, until=until)
    mine = q.c.channel_id == any_(cast(list(found), ARRAY(Integer)))
    old = delete(q).where(mine, q.c.quarter >= since, q.c.quarter < until)
    db.execute(old.where(destructions.outside(q.c.channel_id, q.c.quarter)) if shut else old)
    rows = [
        row
        for channel, quarters in found.items()
        for row in _rows(channel, quarters)
        if not holds(shut.get(channel, ()), row["quarter"])
    ]
    if rows:
        db.execute(insert(q), rows)


def _rows(channel: int, of: Quarters) -> list[dict[str, Any]]:
    columns = zip(
        of.start_us.tolist(),
        of.readings.tolist(),
        of.good.tolist(),
        of.lowest.tolist(),
        of.highest.tolist(),
        of.first.tolist(),
        of.last.tolist(),
        of.held_us.tolist(),
        of.area.tolist(),
        strict=True,
    )
    return [
        {
            "channel_id": channel,
            "quarter": from_us(start),
            "readings": readings,
            "good": good,
            "lowest": _or_none(lowest),
            "highest": _or_none(highest),
            "first": _or_none(first),
            "last": _or_none(last),
            "held_us": held,
            "area": area,
        }
        for start, readings, good, lowest, highest, first, last, held, area in columns
    ]


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else value


def quarters(
    db: Connection, channels: Sequence[int], *, since: datetime, until: datetime
) -> dict[int, Quarters]:
    """The quarters of channels in ``[since, until)``, in time order; a channel without has none."""
    found = copied(db, _QUARTERS, (list(channels), since, until), _ROW)
    ids = found["channel_id"].astype(np.int64)
    return {
        channel: _quarters(found[slice(*np.searchsorted(ids, [channel, channel + 1]))])
        for channel in channels
    }


def _quarters(rows: NDArray[np.void]) -> Quarters:
    lowest, highest, first, last = (rows[name].astype(np.float64) for name in _EXTREMES)
    return Quarters(
        start_us=rows["quarter"].astype(np.int64) + EPOCH_2000_US,
        readings=rows["readings"].astype(np.int64),
        good=rows["good"].astype(np.int64),
        lowest=lowest,
        highest=highest,
        first=first,
        last=last,
        held_us=rows["held_us"].astype(np.int64),
        area=rows["area"].astype(np.float64),
    )


def put_days(db: Connection, channel: int, days: Mapping[date, tuple[Figures, datetime]]) -> None:
    """Store the days of a channel, or bring those that stand up to date; each as of an instant."""
    if not days:
        return
    statement = upsert(t.rollup_day)
    names = ("readings", "good", "lowest", "highest", "area", "held_us", "length_us", "as_of")
    db.execute(
        statement.on_conflict_do_update(
            index_elements=["channel_id", "day"],
            set_={name: statement.excluded[name] for name in names},
        ),
        [
            {
                "channel_id": channel,
                "day": day,
                "as_of": as_of,
                **{name: getattr(of, name) for name in names if name != "as_of"},
            }
            for day, (of, as_of) in days.items()
        ],
    )


def days(
    db: Connection, channels: Sequence[int], *, since: date, until: date
) -> dict[int, dict[date, tuple[Figures, datetime]]]:
    """The stored days of channels in ``[since, until)``, with the instant each is as of."""
    d = t.rollup_day.c
    rows = db.execute(
        select(t.rollup_day)
        .where(
            d.channel_id == any_(cast(list(channels), ARRAY(Integer))),
            d.day >= since,
            d.day < until,
        )
        .order_by(d.channel_id, d.day)
    )
    found: dict[int, dict[date, tuple[Figures, datetime]]] = {c: {} for c in channels}
    for row in rows:
        figures = Figures(
            readings=row.readings,
            good=row.good,
            lowest=row.lowest,
            highest=row.highest,
            mean=row.area / (row.held_us / 1e6) if row.held_us else None,
            area=row.area,
            held_us=row.held_us,
            length_us=row.length_us,
        )
        found[row.channel_id][row.day] = (figures, row.as_of)
    return found


def summed(db: Connection, channel: int, *, since: date, until: date) -> int:
    """How many readings of a channel its days in ``[since, until)`` are sums of."""
    d = t.rollup_day.c
    found = select(func.coalesce(func.sum(d.readings), 0)).where(
        d.channel_id == channel, d.day >= since, d.day < until
    )
    return int(db.scalar(found) or 0)


def settled(db: Connection, channel: int, *, until: datetime) -> datetime:
    """Up to when a channel's quarters hold all that is stored: nothing before waits to be summed.

    until: given back where nothing waits before it.
    """
    d = t.dirty.c
    waiting = db.scalar(
        select(func.min(d.since)).where(
            any_(d.channels) == channel, d.since < until, d.why.not_in(AFTER_SUMMING)
        )
    )
    return min(waiting or until, until)
