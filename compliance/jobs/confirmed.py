"""What a site document says of a comparison with the display, and what then counts since when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from compliance.records import counting, setting_up
from compliance.records.setting_up import Reads

CHANGED = "a site document changed how it is read, under the comparison of before"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A confirmation as a document states it; counts_from: the first instant that counts."""

    by: str
    at: datetime
    how: str
    counts_from: datetime


def settle(
    db: Connection, instrument_id: int, before: Reads | None, stated: Stated | None, *, by: str
) -> None:
    """Bring what counts in line with a document that was just written.

    before: how the instrument was read and confirmed; None for a new one. A channel that is read
    otherwise counts no more from now on, until a new comparison is stated or made. A document that
    states none leaves the one on record as it is.
    """
    now = setting_up.reads(db, instrument_id)
    assert now is not None
    other = () if before is None else now.read_otherwise(before)
    if other:
        counting.end(db, other, by=by, why=CHANGED)
    is_new = stated is not None and (before is None or (stated.by, stated.at) != before.confirmed)
    if other and not is_new:
        setting_up.unconfirm(db, instrument_id)
        return
    if stated is None:
        return
    setting_up.confirm(db, instrument_id, by=stated.by, at=stated.at, how=stated.how)
    for channel in now.channels:
        counting.begin(db, channel, since=stated.counts_from, by=stated.by, how=stated.how)
