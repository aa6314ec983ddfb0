"""How much there is of everything: for a summary of a run, and for the page about health."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, or_, select

from compliance.records import tables as t


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a database holds. ``violations``: detections to decide, and violations opened."""

    readings: int
    violations: int
    violations_live: int
    webhooks_delivered: int
    bills: int
    errors: int


def counts(db: Connection, *, live_since: datetime) -> Counts:
    """Count everything; ``violations_live``: of events that began at or after an instant."""
    return Counts(
        readings=_number(db, t.batch, "readings"),
        violations=_violations(db),
        violations_live=_violations(db, since=live_since),
        webhooks_delivered=_count(db, t.delivery.c.state == "delivered"),
        bills=_count(db, t.bill.c.state == "issued"),
        errors=_count(db, t.delivery.c.state == "dead")
        + _count(db, t.fault.c.id.is_not(None))
        + _count(db, t.quarantine.c.id.is_not(None)),
    )


def first_reading_after(db: Connection, at: datetime) -> datetime | None:
    """The slot of the first reading at or after an instant that has a value."""
    found: datetime | None = db.scalar(
        select(func.min(t.reading.c.read_at)).where(
            t.reading.c.read_at >= at, t.reading.c.value.is_not(None)
        )
    )
    return found


def first_detection_after(db: Connection, at: datetime) -> datetime | None:
    """When the first detection of an event that began at or after an instant was raised."""
    found: datetime | None = db.scalar(
        select(func.min(t.detection.c.detected_at))
        .join(t.exceedance)
        .where(t.exceedance.c.starts_at >= at)
    )
    return found


def _violations(db: Connection, *, since: datetime | None = None) -> int:
    asked = (
        select(func.count(t.detection.c.id))
        .join(t.exceedance)
        .outerjoin(t.violation, t.violation.c.detection_id == t.detection.c.id)
        .where(
            or_(
                t.violation.c.id.is_not(None),
                t.detection.c.state.in_(("detected", "waiting"))
                & t.exceedance.c.superseded_at.is_(None),
            )
        )
    )
    if since is not None:
        asked = asked.where(t.exceedance.c.starts_at >= since)
    return int(db.scalar(asked) or 0)


def _count(db: Connection, condition: object) -> int:
    return int(db.scalar(select(func.count()).where(condition)) or 0)  # type: ignore[arg-type]


def _number(db: Connection, table: object, column: str) -> int:
    return int(db.scalar(select(func.coalesce(func.sum(table.c[column]), 0))) or 0)  # type: ignore[attr-defined]
