"""Instants and civil days: days belong to the plant and are 23, 24 or 25 hours long."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_YEAR, LAST_YEAR = 1900, 2199
"""Years that a record of this trade can hold; others are slips, and overflow in some zone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From one instant to another, half-open: ``[start, end)``. Both aware UTC."""

    start: datetime
    end: datetime

    @property
    def length(self) -> timedelta:
        return self.end - self.start

    def holds(self, at: datetime) -> bool:
        """Whether an instant lies inside."""
        return self.start <= at < self.end


def midnight(day: date, zone: ZoneInfo) -> datetime:
    """The first instant of a civil day at the plant, in UTC."""
    return datetime.combine(day, time.min, zone).astimezone(UTC)


def local_day(day: date, zone: ZoneInfo) -> Window:
    """The civil day at the plant, midnight to midnight: 23, 24 or 25 hours long."""
    return Window(start=midnight(day, zone), end=midnight(day + timedelta(days=1), zone))


def day_of(at: datetime, zone: ZoneInfo) -> date:
    """The civil day at the plant that holds an instant."""
    return at.astimezone(zone).date()


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Civil days from one date up to another, half-open: what a bill or an average covers."""

    start: date
    end: date

    def holds(self, day: date) -> bool:
        """Whether a day lies inside."""
        return self.start <= day < self.end

    @property
    def days(self) -> int:
        return (self.end - self.start).days

    def window(self, zone: ZoneInfo) -> Window:
        """The instants of the period at the plant."""
        return Window(start=midnight(self.start, zone), end=midnight(self.end, zone))

    def __str__(self) -> str:
        return f"{self.start.isoformat()} to {(self.end - timedelta(days=1)).isoformat()}"


def quarter(day: date) -> Period:
    """The calendar quarter that holds ``day``."""
    first = date(day.year, 3 * ((day.month - 1) // 3) + 1, 1)
    return Period(start=first, end=add_months(first, 3))


def add_months(day: date, months: int) -> date:
    """The same day ``months`` later, or a shorter month's last day; count from the first date."""
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    return date(year, month + 1, min(day.day, (following - timedelta(days=1)).day))


def to_us(at: datetime) -> int:
    """Microseconds since 1970 of an aware instant."""
    return (at - EPOCH) // timedelta(microseconds=1)


def from_us(us: int) -> datetime:
    """The aware UTC instant of microseconds since 1970."""
    return EPOCH + timedelta(microseconds=int(us))


def spoken(seconds: float) -> str:
    """A length of time in words: 42 s, 6 min, 5 h 10 min, 3 d 4 h."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 and whole < 600 else "")
    if whole < 172_800:
        return f"{whole // 3600} h" + (f" {minutes} min" if (minutes := whole % 3600 // 60) else "")
    return f"{whole // 86_400} d" + (f" {hours} h" if (hours := whole % 86_400 // 3600) else "")
