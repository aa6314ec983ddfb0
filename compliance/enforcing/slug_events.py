"""A possible slug before a person: each element of the definition asked, clocks of the user."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from compliance.enforcing.decisions import MAY_DECIDE, SHORTEST_REASON
from compliance.errors import InputError, Refused
from compliance.model.periods import day_of
from compliance.model.sites import Viewer
from compliance.rules.slugs import Definition, Duty

SATURDAY = 5


class Outcome(StrEnum):
    """What a person makes of a possible slug."""

    SLUG = "slug"
    EXPLAINED = "explained"


class Happened(StrEnum):
    """What a person answers to one element."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One element answered. saw: what was seen, by whom and when; needed for a yes."""

    key: str
    happened: Happened
    saw: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """What the user owes, to whom the page says, and whether it came.

    due: None is at once. received_at: None where nothing is on record.
    """

    key: str
    owed: str
    citation: str
    due: date | None
    received_at: datetime | None

    def is_late(self, today: date) -> bool:
        """Whether its last day has passed with nothing on record."""
        return self.received_at is None and self.due is not None and today > self.due


def answers(
    found: Definition | None, given: Mapping[str, tuple[str, str]], *, outcome: Outcome
) -> tuple[Answer, ...]:
    """The form's answers, element by element of the definition; of an explanation also none.

    given: element → (yes, no, unknown or blank; what was seen).
    Raises: InputError naming the element that has no answer, or a yes without what was seen.
    """
    if found is None:
        return ()
    made = []
    for element in found.elements:
        happened, saw = given.get(element.key, ("", ""))
        if happened not in list(Happened):
            if outcome is Outcome.SLUG:
                raise InputError(
                    f"{element.key}: not answered; expected yes, no or unknown: no slug is decided "
                    "with an element left out"
                )
            happened = Happened.UNKNOWN
        if happened == Happened.YES and len(saw.strip()) < SHORTEST_REASON:
            raise InputError(
                f"{element.key}: {saw.strip()!r} does not say what was seen; write at least "
                f"{SHORTEST_REASON} characters: who saw what, where and when"
            )
        made.append(Answer(key=element.key, happened=Happened(happened), saw=saw.strip()))
    return tuple(made)


def check(  # noqa: PLR0913 - what a decision depends on
    outcome: Outcome,
    *,
    found: Definition | None,
    answered: Sequence[Answer],
    viewer: Viewer,
    city_id: int,
    reason: str,
    withdrawn: str | None,
) -> None:
    """Refuse a decision that is not this viewer's, lacks a reason, or does not meet the definition.

    withdrawn: why the program no longer finds it. Raises: Refused with the sentence to show.
    """
    if viewer.role not in MAY_DECIDE or viewer.city_id not in (None, city_id):
        raise Refused(
            f"{viewer.name} may not decide this: that is the act of its coordinator or director"
        )
    if len(reason.strip()) < SHORTEST_REASON:
        raise Refused(
            f"the reason is {reason.strip()!r}; write at least {SHORTEST_REASON} characters: "
            "it is read at a hearing"
        )
    if outcome is Outcome.EXPLAINED:
        return
    if withdrawn is not None:
        raise Refused(f"this possible slug was withdrawn ({withdrawn}); it can be explained only")
    if found is None or found.missing:
        why = found.missing if found else "Enter the city's definition first."
        raise Refused(f"the city's definition of a slug is not in the text we hold: {why}")
    met = [one.key for one in answered if one.happened is Happened.YES]
    if len(met) < found.needed:
        asked = ", ".join(one.key for one in found.elements)
        raise Refused(
            f"{found.citation} asks for {found.needed} of {asked}, and {len(met)} is answered yes; "
            "with none it was no slug: explain it instead"
        )


def clocks(
    duties: Sequence[Duty],
    *,
    begins_at: datetime,
    zone: ZoneInfo,
    received: Mapping[str, datetime],
    closed: Collection[date] = (),
) -> tuple[Clock, ...]:
    """What the user owes after an event that began at an instant.

    received: duty → when it came in. closed: days on which the city's office is shut besides
    Saturdays and Sundays; a last day that falls on one moves to the next open day.
    """
    return tuple(
        Clock(
            key=duty.key,
            owed=duty.owed,
            citation=duty.citation,
            due=None if duty.days is None else _last(begins_at, zone, duty.days, closed),
            received_at=received.get(duty.key),
        )
        for duty in duties
    )


def _last(begins_at: datetime, zone: ZoneInfo, days: int, closed: Collection[date]) -> date:
    day = day_of(begins_at, zone) + timedelta(days=days)
    while day.weekday() >= SATURDAY or day in closed:
        day += timedelta(days=1)
    return day
