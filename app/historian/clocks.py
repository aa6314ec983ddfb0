"""Dates and times as historians write them, to the form that ``times.read_times`` reads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, timedelta
from enum import StrEnum

from compliance.errors import InputError


class Order(StrEnum):
    """What comes first in a date with slashes."""

    MONTH = "month"
    DAY = "day"


_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})")
_PLAIN = re.compile(r"(\d{4})(\d\d)(\d\d)")
_SLASHES = re.compile(r"(\d{1,2})([/-])(\d{1,2})\2(\d{4}|\d\d)")
_DOTS = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4}|\d\d)")
_NAMED = re.compile(r"(\d{1,2})[- ]([a-z]{3})[a-z]*[- ](\d{4}|\d\d)", re.IGNORECASE)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_OFFSET = r"\s*(Z|[+-]\d\d:?\d\d)?"
_CLOCK = re.compile(
    r"(\d{1,2}):(\d\d)(?::(\d\d(?:\.\d{1,9})?))?\s*([ap]m)?" + _OFFSET, re.IGNORECASE
)
_DIGITS = re.compile(r"(\d{1,2})(\d\d)(\d\d)?" + _OFFSET, re.IGNORECASE)
_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d)[T ]24:00(?::00(?:\.0+)?)?(.*)")
_STEM = re.compile(r"(\d{4})(\d\d)(\d\d)(?:[01]\d|2[0-4])")


def instant(day: str, clock: str, order: Order) -> str:
    """A date and a time of day as one text of ISO 8601; 24:00 is 00:00 of the next day.

    Raises: InputError naming what was expected; whether the time exists is asked elsewhere.
    """
    found = civil_day(day, order)
    hour, minute, second, half, offset = _clock(clock)
    if half:
        if not 1 <= hour <= 12:
            raise InputError(f"time {clock!r}: expected 1 to 12 before am or pm")
        hour = hour % 12 + (12 if half.casefold() == "pm" else 0)
    if hour == 24 and minute == 0 and not float(second):
        found, hour = found + timedelta(days=1), 0
    return f"{found.isoformat()}T{hour:02}:{minute:02}:{second}{offset}"


def midnight(text: str) -> str:
    """An instant whose time is 24:00 as 00:00 of the next day; any other as it is."""
    match = _MIDNIGHT.fullmatch(text.strip()) if "24:00" in text else None
    if not match:
        return text
    try:
        day = date.fromisoformat(match[1]) + timedelta(days=1)
    except (ValueError, OverflowError):
        return text
    return f"{day.isoformat()}T00:00{match[2]}"


def civil_day(text: str, order: Order) -> date:
    """The date that a text means. Raises: InputError."""
    try:
        year, month, day = _parts(text, order)
        return date(year, month, day)
    except ValueError:
        raise InputError(f"date {text!r}: expected a day of the calendar") from None


def _parts(text: str, order: Order) -> tuple[int, int, int]:
    if match := _YEAR_FIRST.fullmatch(text):
        return int(match[1]), int(match[3]), int(match[4])
    if match := _PLAIN.fullmatch(text):
        return int(match[1]), int(match[2]), int(match[3])
    if match := _SLASHES.fullmatch(text):
        first, second = int(match[1]), int(match[3])
        month, day = (first, second) if order is Order.MONTH else (second, first)
        return _year(match[4]), month, day
    if match := _DOTS.fullmatch(text):
        return _year(match[3]), int(match[2]), int(match[1])
    if (match := _NAMED.fullmatch(text)) and match[2].casefold() in _MONTHS:
        return _year(match[3]), _MONTHS.index(match[2].casefold()) + 1, int(match[1])
    raise InputError(f"date {text!r}: expected a date such as 2026-03-01 or 03/01/2026")


def _year(text: str) -> int:
    return int(text) + (2000 if len(text) == 2 else 0)


def _clock(text: str) -> tuple[int, int, str, str, str]:
    """Hour, minute, second, am or pm, offset from UTC."""
    if match := _CLOCK.fullmatch(text):
        hour, minute, second, half, offset = match.groups()
    elif match := _DIGITS.fullmatch(text):
        hour, minute, second, offset = match.groups()
        half = None
    else:
        raise InputError(f"time {text!r}: expected a time such as 08:05:00")
    return int(hour), int(minute), second or "00", half or "", (offset or "").upper()


def order_of(days: Iterable[str], stems: Iterable[tuple[str, str]]) -> tuple[Order, bool]:
    """The order of slashed dates that a run's files share, and whether something tells it.

    Month first where every date allows it, else day first. days: distinct dates of all files;
    stems: dates with the name of their file, whose ``yyyymmddhh`` may tell where the dates do not.
    """
    slashed = [(int(m[1]), int(m[3])) for m in map(_SLASHES.fullmatch, days) if m]
    if any(second > 12 for _, second in slashed) or not slashed:
        return Order.MONTH, True
    if any(first > 12 for first, _ in slashed):
        return Order.DAY, True
    named = [(text, _named_day(stem)) for text, stem in stems if _SLASHES.fullmatch(text)]
    for order in Order:
        if named and all(_is(text, day, order) for text, day in named):
            return order, True
    return Order.MONTH, all(first == second for first, second in slashed)


def _named_day(stem: str) -> date | None:
    match = _STEM.fullmatch(stem)
    try:
        return date(int(match[1]), int(match[2]), int(match[3])) if match else None
    except ValueError:
        return None


def _is(text: str, named: date | None, order: Order) -> bool:
    """Whether a date is the day of its file's name, or the next: the hour may end at midnight."""
    if named is None:
        return False
    try:
        return civil_day(text, order) - named in (timedelta(0), timedelta(days=1))
    except InputError:
        return False
