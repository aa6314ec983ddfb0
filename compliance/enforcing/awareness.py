"""Clocks that begin when a user becomes aware of its own exceedance: the call, the repeat.

They bind the user, for sampling that the user did; whose awareness it is, and when, a person
records.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from compliance.errors import InputError

CALL_HOURS = 24
REPEAT_DAYS = 30
CITATION = "40 CFR 403.12(g)(2)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """What the user owes the control authority: a call by an instant, a repeat's results by a day.

    Elapsed time for the call, civil days of the place where it became aware for the repeat.
    """

    call_by: datetime
    repeat_by: date
    citation: str = CITATION


def owed(became_aware: datetime) -> Owed:
    """The clocks of an awareness, whatever the hour the sample was taken.

    became_aware: aware, in the zone of the plant, whose civil day counts.
    Raises: InputError for an instant without a zone.
    """
    if became_aware.tzinfo is None:
        raise InputError(
            f"became aware at {became_aware.isoformat()}: there is no zone; expected an offset "
            "such as -06:00"
        )
    call = (became_aware.astimezone(UTC) + timedelta(hours=CALL_HOURS)).astimezone(
        became_aware.tzinfo
    )
    return Owed(call_by=call, repeat_by=became_aware.date() + timedelta(days=REPEAT_DAYS))
