"""Windows that people declare over an instrument: what is read in one does not count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import numpy as np

from compliance.model.periods import spoken, to_us
from compliance.model.readings import Flags, Times


class WindowKind(StrEnum):
    """What was done to the instrument meanwhile."""

    MAINTENANCE = "maintenance"
    CALIBRATION = "calibration"
    OUT_OF_SERVICE = "out_of_service"


DURING = {
    WindowKind.MAINTENANCE: "in maintenance",
    WindowKind.CALIBRATION: "in calibration",
    WindowKind.OUT_OF_SERVICE: "out of service",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A window over some channels, ``[since, until)``, as a person declared it.

    number: of the declaration; until: None while it is open. ended: who said afterwards when an
    open one ended. A withdrawn one is kept and has no effect.
    """

    number: int
    channels: tuple[int, ...]
    since: datetime
    until: datetime | None
    kind: WindowKind
    reason: str
    declared_by: str
    declared_at: datetime
    ended_by: str | None = None
    ended_at: datetime | None = None
    withdrawn_by: str | None = None
    withdrawn_at: datetime | None = None
    withdrawn_why: str | None = None

    @property
    def is_in_force(self) -> bool:
        """Whether it has not been withdrawn."""
        return self.withdrawn_at is None

    @property
    def was_before(self) -> bool:
        """Whether it was declared before it began."""
        return self.declared_at <= self.since

    @property
    def when_declared(self) -> str:
        """Before the fact or after it, in words."""
        if self.was_before:
            return "declared before it began"
        after = (self.declared_at - self.since).total_seconds()
        return f"declared afterwards, {spoken(after)} after it began"

    @property
    def during(self) -> str:
        """What the instrument is meanwhile: in maintenance, in calibration, out of service."""
        return DURING[self.kind]

    def holds(self, at: datetime) -> bool:
        """Whether it is in force and an instant lies in it."""
        return self.is_in_force and self.since <= at and (self.until is None or at < self.until)

    def touches(self, since: datetime, until: datetime) -> bool:
        """Whether it is in force and shares an instant with ``[since, until)``."""
        begins_before = self.is_in_force and self.since < until
        return begins_before and (self.until is None or self.until > since)


def inside(at_us: Times, windows: Iterable[Declared]) -> Flags:
    """Which of the instants, in microseconds since 1970 and in order, lie in a window."""
    found = np.zeros(len(at_us), bool)
    for one in windows:
        if one.is_in_force:
            first = np.searchsorted(at_us, to_us(one.since))
            last = len(at_us) if one.until is None else np.searchsorted(at_us, to_us(one.until))
            found[first:last] = True
    return found


def overlaps(windows: Sequence[Declared]) -> dict[int, tuple[int, ...]]:
    """The other windows that each lies on, by number: both in force, over the same channel."""
    return {
        one.number: tuple(
            sorted(other.number for other in windows if other is not one and _lies_on(one, other))
        )
        for one in windows
    }


def _lies_on(one: Declared, other: Declared) -> bool:
    if set(one.channels).isdisjoint(other.channels):
        return False
    later = max(one.since, other.since)
    return one.holds(later) and other.holds(later)


def holding(windows: Sequence[Declared], at: datetime) -> Declared | None:
    """The window that holds an instant; of several the one declared first."""
    return next((one for one in sorted(windows, key=_order) if one.holds(at)), None)


def _order(one: Declared) -> tuple[datetime, int]:
    return one.declared_at, one.number


def covered(windows: Iterable[Declared], *, since: datetime, until: datetime) -> timedelta:
    """How much of ``[since, until)`` lies in windows, what several cover counted once."""
    total, reached = timedelta(0), since
    for one in sorted(windows, key=lambda each: each.since):
        if one.touches(reached, until):
            ends = until if one.until is None else min(one.until, until)
            total += ends - max(one.since, reached)
            reached = ends
    return total
