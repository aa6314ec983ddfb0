"""What a request may bring: ids, instants and text within what the records can hold."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

NUL = "nul"
"""The kind of the one fault that is answered 400: no text of anybody holds this character."""
INSTANT = "instant"
SHORT = "short"
OURS = (NUL, INSTANT, SHORT)
"""Kinds of fault whose message is a sentence of ours already."""
LARGEST_ID = 2**31 - 1
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)


def _without_nul(text: str) -> str:
    if "\x00" in text:
        raise PydanticCustomError(NUL, "a NUL character stands in the text; send it without")
    return text


def _within_reach(at: datetime) -> datetime:
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    if not EARLIEST.year < aware.year < LATEST.year:
        raise PydanticCustomError(
            INSTANT,
            "{at} is no instant of these records; expected one from {first} to {last}",
            {"at": at.isoformat(), "first": EARLIEST.year + 1, "last": LATEST.year - 1},
        )
    return at


def _day_within_reach(on: date) -> date:
    if not EARLIEST.year < on.year < LATEST.year:
        raise PydanticCustomError(
            INSTANT,
            "{on} is no day of these records; expected one from {first} to {last}",
            {"on": on.isoformat(), "first": EARLIEST.year + 1, "last": LATEST.year - 1},
        )
    return on


Id = Annotated[int, Field(ge=1, le=LARGEST_ID)]
"""The number of a row."""
Storable = Annotated[str, AfterValidator(_without_nul)]
"""Text that the database can hold."""
Instant = Annotated[datetime, AfterValidator(_within_reach)]
"""An instant that can be reckoned with; it may be without an offset."""
Day = Annotated[date, AfterValidator(_day_within_reach)]
"""A civil day that can be reckoned with."""
