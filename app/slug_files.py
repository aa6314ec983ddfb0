"""A possible slug as pages and machines are told it: the event, its clocks, what was decided."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from compliance.enforcing.slug_events import Clock, clocks
from compliance.model.periods import day_of
from compliance.records import samplers, slugs
from compliance.records.samplers import Stored
from compliance.records.scope import Scope
from compliance.records.slugs import Decided, Event, Noted
from compliance.rules.slugs import Definition, definition, slug_book

BOTTLES_AROUND = timedelta(hours=24)
"""A composite so near may hold water of the event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """Everything of one event. definition: None where the city's is not written down at all."""

    event: Event
    definition: Definition | None
    clocks: tuple[Clock, ...]
    notes: tuple[Noted, ...]
    decisions: tuple[Decided, ...]
    bottles: tuple[Stored, ...]

    @property
    def decided(self) -> Decided | None:
        """The decision that stands."""
        return self.decisions[0] if self.decisions else None

    @property
    def owed_words(self) -> str:
        """Whose duty it is, and whether it is one yet."""
        name = self.event.industrial_user
        if self.decided is None:
            return f"Would be owed by {name} if this was a slug"
        return f"Owed by {name}" if self.decided.outcome == "slug" else "Not owed: it was explained"


def file_of(db: Connection, scope: Scope, exceedance_id: str) -> File:
    """The file of one possible slug. Raises: NotFound."""
    event = slugs.event(db, scope, exceedance_id)
    notes = slugs.notes(db, exceedance_id)
    zone = ZoneInfo(event.zone)
    received = {one.kind: one.happened_at for one in reversed(notes)}  # the first of each kind
    bottles = samplers.of_days(
        db,
        scope,
        event.point,
        first=day_of(event.starts_at - BOTTLES_AROUND, zone),
        last=day_of(event.ends_at + BOTTLES_AROUND, zone),
    )
    return File(
        event=event,
        definition=definition(event.rule_id),
        clocks=clocks(slug_book().clocks, begins_at=event.starts_at, zone=zone, received=received),
        notes=notes,
        decisions=slugs.decisions(db, exceedance_id),
        bottles=tuple(one for one in bottles if _is_near(one, event)),
    )


def _is_near(one: Stored, event: Event) -> bool:
    return (
        one.taken.starts_at < event.ends_at + BOTTLES_AROUND
        and one.taken.ends_at > event.starts_at - BOTTLES_AROUND
    )


def to_json(found: File, *, at: datetime) -> dict[str, Any]:
    """A file for machines."""
    today = day_of(at, ZoneInfo(found.event.zone))
    return {
        **summary(found.event),
        "working": found.event.working,
        "definition": None
        if found.definition is None
        else {
            "citation": found.definition.citation,
            "elements": [one.key for one in found.definition.elements],
            "missing": found.definition.missing,
        },
        "clocks": [
            {
                "duty": one.key,
                "owed_by": found.event.industrial_user,
                "is_owed": found.decided is not None and found.decided.outcome == "slug",
                "due": one.due,
                "received_at": one.received_at,
                "late": one.is_late(today),
                "citation": one.citation,
            }
            for one in found.clocks
        ],
        "notes": [
            {
                "kind": one.kind,
                "at": one.happened_at,
                "words": one.words,
                "by": one.noted_by,
                "noted_at": one.noted_at,
            }
            for one in found.notes
        ],
        "bottles": [
            {"from": one.taken.starts_at, "to": one.taken.ends_at, "bottles": one.taken.bottles}
            for one in found.bottles
        ],
        "decisions": [
            {
                "outcome": one.outcome,
                "reason": one.reason,
                "elements": one.elements,
                "by": one.by,
                "capacity": one.capacity,
                "decided_at": one.decided_at,
            }
            for one in found.decisions
        ],
    }


def summary(event: Event) -> dict[str, Any]:
    """An event in the list for machines."""
    return {
        "id": event.exceedance_id,
        "rule": event.rule_id,
        "kind": event.kind,
        "authority": event.authority,
        "industrial_user": event.industrial_user,
        "point": event.point,
        "parameter": event.parameter,
        "starts_at": event.starts_at,
        "ends_at": event.ends_at,
        "seconds": event.seconds,
        "worst": event.worst,
        "limit": event.limit,
        "unit": event.unit,
        "withdrawn": event.superseded_why,
        "outcome": event.outcome,
    }
