"""Sampling times as laboratories write them: one order for a column, no guess, no invented time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from enum import StrEnum
from zoneinfo import ZoneInfo

from compliance.errors import InputError
from compliance.model.periods import FIRST_YEAR, LAST_YEAR
from compliance.sampling.amounts import plain


class Order(StrEnum):
    """How a column of dates with slashes reads."""

    MONTH_FIRST = "month first"
    DAY_FIRST = "day first"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When water was taken: an aware instant, or a date where no time was given.

    stated_on: the day as written where the time was 24:00; note: what a person should know.
    """

    at: datetime | date
    stated_on: date | None = None
    note: str | None = None


_SLASHED = re.compile(r"(\d{1,2})[/.\-](\d{1,2})[/.\-](\d{4}|\d{2})\b[ ,T]*(.*)", re.ASCII)
_ISO = re.compile(r"(\d{4})[\-/](\d{1,2})[\-/](\d{1,2})[ T]*(.*)", re.ASCII)
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})(\d{4})?", re.ASCII)
_NAMED = re.compile(
    r"(\d{1,2})[ \-]([A-Za-z]{3})[a-z]*\.?[ \-,]+(\d{4}|\d{2})\b[ ,]*(.*)", re.ASCII
)
_CLOCK = re.compile(r"(\d{1,2}):?(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*([AaPp])?\.?[Mm]?\.?", re.ASCII)
_OFFSET = re.compile(r"(.*?)\s*(Z|UTC|GMT|[A-Z][DS]T|[+\-]\d{2}:?\d{2})", re.IGNORECASE | re.ASCII)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_ABBREVIATED = {
    "z": 0,
    "utc": 0,
    "gmt": 0,
    "est": -5,
    "edt": -4,
    "cst": -6,
    "cdt": -5,
    "mst": -7,
    "mdt": -6,
    "pst": -8,
    "pdt": -7,
}
REPAIR = "write it as 2024-04-12 08:00"


def order(cells: Iterable[str]) -> Order:
    """The one order in which a column's slash dates read: month first where every row allows it.

    A cell that is a date in neither order has no say.
    """
    pairs = [(int(m[1]), int(m[2])) for cell in cells if (m := _SLASHED.fullmatch(plain(cell)))]
    votes = [(a <= 12 and b <= 31, b <= 12 and a <= 31) for a, b in pairs]
    votes = [vote for vote in votes if any(vote)]
    if all(month for month, _ in votes):
        return Order.MONTH_FIRST
    return Order.DAY_FIRST if all(day for _, day in votes) else Order.NEITHER


def moment(text: str, clock: str, *, zone: tzinfo, reads: Order) -> Moment:
    """When a sample was taken, from a date cell that may hold the time and a time cell.

    Raises: InputError saying what was expected instead.
    """
    clock = plain(clock)
    day, rest = _date(plain(text), reads)
    if rest and clock:
        raise InputError("one time: either beside the date or in the column of times")
    rest = rest or clock
    if not rest:
        return Moment(at=day)
    rest, named = _split_zone(rest)
    clock_time = _clock(rest)
    at_zone = named or zone
    if clock_time is None:
        following = datetime.combine(day + timedelta(days=1), time.min, at_zone)
        note = f"24:00 is the end of {day.isoformat()}, to which the sample is counted"
        return Moment(at=following, stated_on=day, note=note)
    return _at(datetime.combine(day, clock_time), at_zone)


def zone_named(text: str) -> tzinfo:
    """The zone a cell names: ``CST``, ``-06:00``, ``America/Chicago``.

    Raises: InputError.
    """
    name = plain(text)
    hours = _ABBREVIATED.get(name.casefold())
    if hours is not None:
        return timezone(timedelta(hours=hours))
    if found := re.fullmatch(r"([+\-])(\d{2}):?(\d{2})", name):
        span = timedelta(hours=int(found[2]), minutes=int(found[3]))
        if span < timedelta(hours=24):
            return timezone(-span if found[1] == "-" else span)
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise InputError("a zone such as CST, -06:00 or America/Chicago") from None


def _at(local: datetime, zone: tzinfo) -> Moment:
    """A wall-clock time at the plant: refused where skipped, the first where it comes twice."""
    first = local.replace(tzinfo=zone, fold=0)
    if first.utcoffset() == local.replace(tzinfo=zone, fold=1).utcoffset():
        return Moment(at=first)
    utc = UTC
    back = first.astimezone(utc).astimezone(zone)
    if back.replace(tzinfo=None) != local:
        raise InputError("a time that exists: the clocks were put forward over this one")
    note = f"{local:%Y-%m-%d %H:%M} comes twice that night: the first was taken"
    return Moment(at=first, note=note)


def _date(text: str, reads: Order) -> tuple[date, str]:
    if found := _ISO.fullmatch(text) or _COMPACT.fullmatch(text):
        return _civil(int(found[1]), int(found[2]), int(found[3])), found[4] or ""
    if (found := _NAMED.fullmatch(text)) and found[2].casefold() in _MONTHS:
        month = _MONTHS.index(found[2].casefold()) + 1
        return _civil(_year(found[3]), month, int(found[1])), found[4]
    if found := _SLASHED.fullmatch(text):
        if reads == Order.NEITHER:
            raise InputError("one order of day and month in the whole column")
        pair = (int(found[1]), int(found[2]))
        month, day = pair if reads == Order.MONTH_FIRST else pair[::-1]
        return _civil(_year(found[3]), month, day), found[4]
    raise InputError("a date such as 2024-04-12 or 4/12/2024")


def _year(text: str) -> int:
    return int(text) + (2000 if len(text) == 2 else 0)


def _civil(year: int, month: int, day: int) -> date:
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise InputError(f"a year from {FIRST_YEAR} to {LAST_YEAR}")
    try:
        return date(year, month, day)
    except ValueError:
        raise InputError("a day that the calendar has") from None


def _split_zone(text: str) -> tuple[str, tzinfo | None]:
    found = _OFFSET.fullmatch(text)
    return (found[1], zone_named(found[2])) if found and found[1] else (text, None)


def _clock(text: str) -> time | None:
    """A time of day; None for 24:00."""
    found = _CLOCK.fullmatch(text.strip())
    if found is None:
        raise InputError("a time such as 08:00 or 8:00 PM")
    hour, minute, second = int(found[1]), int(found[2]), int(found[3] or 0)
    if found[4]:
        if not 1 <= hour <= 12:
            raise InputError("an hour from 1 to 12 before AM or PM")
        hour = hour % 12 + (12 if found[4] in "Pp" else 0)
    if (hour, minute, second) == (24, 0, 0):
        return None
    try:
        return time(hour, minute, second)
    except ValueError:
        raise InputError("a time from 00:00 to 24:00") from None
