"""What people noted of a meter: that it was exchanged, and what the old and the new one showed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from sqlalchemy import Connection, select, update

from compliance.errors import NotFound
from compliance.model.periods import to_us
from compliance.model.totals import Replacement
from compliance.records import tables as t

REPLACED = "replaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterEvent:
    """A meter exchanged. final, initial: what the old one showed last, the new one first."""

    id: int
    channel_id: int
    at: datetime
    final: Decimal
    initial: Decimal
    reason: str
    by: str
    noted_at: datetime
    withdrawn_at: datetime | None

    @property
    def replacement(self) -> Replacement:
        """As the arithmetic takes it."""
        return Replacement(at_us=to_us(self.at), final=self.final, initial=self.initial)


def events(
    db: Connection, channels: Sequence[int], *, since: datetime, until: datetime
) -> tuple[MeterEvent, ...]:
    """What was noted of channels in ``[since, until)``, withdrawn or not, in time order."""
    e = t.meter_event.c
    rows = db.execute(
        select(
            e.id, e.channel_id, e.at, e.final, e.initial, e.reason,
            t.person.c.name.label("by"), e.noted_at, e.withdrawn_at,
        )
        .join(t.person, t.person.c.id == e.person_id)
        .where(e.channel_id.in_(channels), e.at >= since, e.at < until)
        .order_by(e.at, e.id)
    ).mappings()  # fmt: skip
    return tuple(MeterEvent(**row) for row in rows)


def note(  # noqa: PLR0913 - what such a note says
    db: Connection,
    channel_id: int,
    *,
    at: datetime,
    final: Decimal,
    initial: Decimal,
    reason: str,
    person_id: int,
) -> int:
    """Keep a note of a meter exchanged; its number."""
    made: int = db.execute(
        t.meter_event.insert()
        .values(
            channel_id=channel_id,
            at=at,
            kind=REPLACED,
            final=final,
            initial=initial,
            reason=reason,
            person_id=person_id,
        )
        .returning(t.meter_event.c.id)
    ).scalar_one()
    return made


def withdraw(
    db: Connection, event_id: int, *, channels: Sequence[int], person_id: int, now: datetime
) -> datetime:
    """Take a note back: it stays to be read, and counts no more. The instant it was of.

    Raises: NotFound where none of these channels has it in force.
    """
    e = t.meter_event.c
    at: datetime | None = db.scalar(
        update(t.meter_event)
        .where(e.id == event_id, e.channel_id.in_(channels), e.withdrawn_at.is_(None))
        .values(withdrawn_at=now, withdrawn_by=person_id)
        .returning(e.at)
    )
    if at is None:
        raise NotFound(f"There is no note {event_id} of a meter here that is in force.")
    return at
