"""Readings that come for closed months: found before they are stored, and refused in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from sqlalchemy import Connection

from compliance.model.keeping import holds
from compliance.model.periods import from_us
from compliance.records import destructions, tuples
from compliance.records.destructions import Closed


def first(
    db: Connection, content: bytes, *, channels: Sequence[int], since: datetime, until: datetime
) -> str:
    """Why the first such reading of a batch is refused; empty where there is none.

    content: COPY tuples of readings of the channels in ``[since, until)``. Until the transaction
    ends no month is closed that they could lie in.
    """
    shut = destructions.closed_to(db, channels, since=since, until=until)
    if not shut:
        return ""
    found = next(_late(tuples.split(content)[0], shut), None)
    return "" if found is None else destructions.said(db, found[1], from_us(found[2]))


def parted(
    db: Connection,
    rows: Sequence[bytes],
    *,
    channels: Sequence[int],
    since: datetime,
    until: datetime,
) -> tuple[list[bytes], list[tuple[bytes, str]]]:
    """Rows that may be stored, and the others: those of one channel and month with the sentence."""
    shut = destructions.closed_to(db, channels, since=since, until=until)
    late: dict[tuple[int, datetime], list[tuple[int, int]]] = {}
    for index, channel, at_us in _late(rows, shut):
        at = from_us(at_us)
        month = next(one.start for one in shut[channel] if one.holds(at))
        late.setdefault((channel, month), []).append((at_us, index))
    taken = {index for own in late.values() for _, index in own}
    pieces = [
        (
            b"".join(rows[index] for _, index in own),
            destructions.said(db, channel, from_us(min(own)[0]), count=len(own)),
        )
        for (channel, _), own in late.items()
    ]
    return [row for index, row in enumerate(rows) if index not in taken], pieces


def _late(rows: Sequence[bytes], shut: Closed) -> Iterator[tuple[int, int, int]]:
    """Place, channel and instant of the rows in closed months."""
    if not shut:
        return
    for index, row in enumerate(rows):
        key = tuples.key(row)
        if key and holds(shut.get(key.channel_id, ()), from_us(key.at_us)):
            yield index, key.channel_id, key.at_us
