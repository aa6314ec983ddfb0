"""Why a finding is no longer what it was: the newest thing that somebody said of its readings."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection

from compliance.model.determinations import OnRecord
from compliance.model.windows import holding
from compliance.records import corrections, determinations, windows
from compliance.records.findings import Standing

LATE = "late or corrected readings"
AROUND = timedelta(minutes=5)
"""What lies so near to a finding can join it to another, or cut it."""


def because(db: Connection, channel_id: int, of: Standing) -> str:
    """The reason why a fact is withdrawn or has changed since it was judged, in one sentence.

    It names the window, determination or correction; what nobody said anything of is late.
    """
    since, until = of.starts_at - AROUND, of.ends_at + AROUND
    declared = windows.of(db, [channel_id], since=of.starts_at, until=until)
    held = holding(declared, of.starts_at)
    said = [(one.at, one.sentence) for one in _determined(db, channel_id, since, until)]
    said += [
        (one.at, f"readings corrected by {one.by}: {one.reason}")
        for one in corrections.of(db, [channel_id], since=since, until=until)
    ]
    said = [one for one in said if one[0] > of.judged_at]
    if held is not None:
        said.append((held.declared_at, f"its readings lie in declared window {held.number}"))
    return max(said)[1] if said else LATE


def _determined(
    db: Connection, channel_id: int, since: datetime, until: datetime
) -> tuple[OnRecord, ...]:
    return determinations.of(db, [channel_id], since=since, until=until)
