"""A date and time as somebody types it into a form: an instant at the plant, never guessed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from app.inputs import EARLIEST, LATEST
from compliance.errors import InputError

LONGEST = 40
AHEAD = timedelta(minutes=1)
"""Clocks of two machines differ a little: so far ahead an instant still is now."""


class ComesTwice(InputError):
    """A local time of the hour that comes twice when clocks go back: which one must be said."""


def at_plant(written: str, zone: str, *, fold: str = "") -> datetime:
    """An instant from ``2026-11-30 08:15``, at the plant unless an offset is written.

    fold: ``first`` or ``second``, for an hour that comes twice.
    Raises: ComesTwice, InputError in a sentence for people.
    """
    text = written.strip()
    try:
        found = datetime.fromisoformat(text) if len(text) <= LONGEST else None
    except ValueError:
        found = None
    if found is None or len(text) <= len("2026-11-30"):
        raise InputError(
            f"Found {text[:LONGEST]!r}, expected a date and a time such as 2026-11-30 08:15."
        )
    if not EARLIEST.year < found.year < LATEST.year:
        raise InputError(f"Found the year {found.year}, expected one of these records.")
    if found.tzinfo is not None:
        return found.astimezone(UTC)
    return _settled(found, ZoneInfo(zone), fold)


def _settled(local: datetime, zone: ZoneInfo, fold: str) -> datetime:
    first = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    second = local.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if first == second:
        return first
    if first.astimezone(zone).replace(tzinfo=None) != local:
        raise InputError(
            f"{local:%Y-%m-%d %H:%M} does not exist at the plant: clocks go forward then; "
            "write a time before or after."
        )
    if fold not in ("first", "second"):
        raise ComesTwice(
            f"{local:%Y-%m-%d %H:%M} comes twice at the plant: clocks go back then; "
            "say whether the first or the second is meant."
        )
    return second if fold == "second" else first


def past(at: datetime, *, now: datetime) -> datetime:
    """The same instant. Raises: InputError where it has not come yet."""
    if at > now + AHEAD:
        raise InputError("That has not come yet; write when it was.")
    return at


def typed(at: datetime, zone: str) -> str:
    """An instant as a form shows it, to the minute."""
    return at.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%dT%H:%M")
