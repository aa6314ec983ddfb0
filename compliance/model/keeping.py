"""How long readings are kept: whether those of a civil month may go, by which line, or why not.

A month is closed when its readings are destroyed: nothing in it is stored or judged any more. At
the edges towards readings that stay, ``MARGIN`` of them is left until those go too, so that what
stays is judged as before: every test and fold that looks beyond its own readings finds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from compliance.model.parameters import Parameter
from compliance.model.periods import Period, Window, add_months, day_of

MARGIN = timedelta(days=3)
"""Longer than anything looks back or ahead: slug screening needs two days, flat lines hours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a records schedule. parameters: whose readings; empty: those of all others."""

    name: str
    years: int
    citation: str
    parameters: frozenset[Parameter] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A city's records schedule as it was adopted."""

    adopted_on: date
    adopted_by: str
    lines: tuple[Line, ...]

    def line_for(self, parameter: Parameter) -> Line | None:
        """The line that names a parameter, else the one for all others; None without either."""
        named = (line for line in self.lines if parameter in line.parameters)
        return next(named, next((line for line in self.lines if not line.parameters), None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """What stops the destruction of readings in ``[since, until)``; None is without a bound.

    over: what it covers, in words.
    """

    id: int
    over: str
    since: datetime | None
    until: datetime | None
    reason: str
    placed_by: str
    placed_at: datetime
    lifted_by: str | None = None
    lifted_at: datetime | None = None
    lifted_why: str | None = None

    def touches(self, span: Window) -> bool:
        """Whether it is in force and covers an instant of a span."""
        begins = self.since is None or self.since < span.end
        goes_on = self.until is None or self.until > span.start
        return self.lifted_at is None and begins and goes_on


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What rests on readings in ``[since, until)``. what: a finding, a bill, a correction.

    settled_at: since when nothing more can become of it, and its years run; None while it is open.
    settled: what happened to it then: closed, made.
    """

    what: str
    since: datetime
    until: datetime
    settled_at: datetime | None
    settled: str = "closed"

    def against(self, span: Window, *, years: int, today: date, zone: ZoneInfo) -> str | None:
        """Why readings of a span stay for its sake; None where they need not."""
        if self.since >= span.end or self.until <= span.start:
            return None
        if self.settled_at is None:
            return f"{self.what} rests on it and is not {self.settled}"
        on = day_of(self.settled_at, zone)
        if add_months(on, 12 * years) <= today:
            return None
        return (
            f"{self.what} rests on it and was {self.settled} on {on}, less than {years} years ago"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What becomes of a month. why: the reasons for which it stays; empty where it may go.

    line: under which it goes or will; None without one. free_on: when it is old enough.
    """

    line: Line | None
    free_on: date | None
    why: tuple[str, ...]

    @property
    def goes(self) -> bool:
        return not self.why


def fate(  # noqa: PLR0913 - all that a month's fate hangs on
    span: Window,
    month: Period,
    *,
    line: Line | None,
    holds: Sequence[Hold],
    claims: Sequence[Claim],
    today: date,
    zone: ZoneInfo,
) -> Fate:
    """Whether the readings of a month may go on a day, by which line of the schedule, or why not.

    span: the month with the readings left of its neighbours that would go with it.
    """
    if line is None:
        return Fate(line=None, free_on=None, why=("no line of the schedule covers it",))
    free_on = add_months(month.end, 12 * line.years)
    why = [f"hold {one.id}: {one.reason}" for one in holds if one.touches(span)]
    if today < free_on:
        why.insert(0, f"younger than {line.years} years")
    else:
        found = (one.against(span, years=line.years, today=today, zone=zone) for one in claims)
        why += [said for said in found if said]
    return Fate(line=line, free_on=free_on, why=tuple(why))


def month_of(day: date) -> Period:
    """The civil month that holds a day."""
    first = day.replace(day=1)
    return Period(start=first, end=add_months(first, 1))


def months(first: date, last: date) -> Iterator[Period]:
    """The civil months from the one of a day to the one of another."""
    month = month_of(first)
    while month.start <= last:
        yield month
        month = month_of(month.end)


def removable(
    month: Window, closed: Sequence[Window], *, first: datetime, last: datetime
) -> Window:
    """What is removed when a month is closed: all of it but the margins towards what stays.

    closed: the months of the channel that are closed already; what was left of them goes with it,
    where nothing beyond them stays. first, last: the channel's first and last reading.
    """
    start, end = _run(month, closed)
    since = start if first >= start else start + MARGIN
    until = end if last < end else end - MARGIN
    return Window(start=max(since, month.start - MARGIN), end=min(until, month.end + MARGIN))


def _run(month: Window, closed: Sequence[Window]) -> tuple[datetime, datetime]:
    """The unbroken run of closed months that a month joins."""
    start, end = month.start, month.end
    before = {one.end: one.start for one in closed}
    after = {one.start: one.end for one in closed}
    while start in before:
        start = before[start]
    while end in after:
        end = after[end]
    return start, end


def holds(closed: Sequence[Window], at: datetime) -> bool:
    """Whether an instant lies in a closed month."""
    return any(one.holds(at) for one in closed)


def open_parts(span: Window, closed: Sequence[Window]) -> Iterator[Window]:
    """What of a span lies in no closed month, in time order."""
    at = span.start
    for one in sorted(closed, key=lambda each: each.start):
        if one.start > at:
            yield Window(start=at, end=min(one.start, span.end))
        at = max(at, one.end)
        if at >= span.end:
            return
    yield Window(start=at, end=span.end)
