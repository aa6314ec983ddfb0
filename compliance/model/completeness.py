"""How much of what was due has come: slots, runs of missing ones, and a week cut into pieces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

NEARLY_ALL = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class Hour:
    """The readings of an hour from ``at_us`` on: how many there are, how many may be judged."""

    at_us: int
    stored: int
    judged: int


class Kind(StrEnum):
    """What a piece of time is like."""

    GOOD = "good"
    PART = "part"
    FLAGGED = "flagged"
    ABSENT = "absent"


KIND_SAYS = {
    Kind.GOOD: "good readings",
    Kind.PART: "some readings missing or not reliable",
    Kind.FLAGGED: "readings that cannot be relied on",
    Kind.ABSENT: "no reading",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A piece of time ``[since_us, until_us)`` of one kind."""

    since_us: int
    until_us: int
    kind: Kind


def due(cadence: Sequence[tuple[int, int]], *, since_us: int, until_us: int) -> int:
    """How many slots lie in ``[since, until)`` under intervals in force from instants on.

    cadence: (since, interval), both in microseconds, in time order; the slots of an interval begin
    where it does, and before the first there was nothing to read.
    """
    total = 0
    ends = [*(start for start, _ in cadence[1:]), until_us]
    for (start, interval), end in zip(cadence, ends, strict=False):
        first, last = max(start, since_us), min(end, until_us)
        if first < last:
            total += _slots(last - start, interval) - _slots(first - start, interval)
    return total


def _slots(length_us: int, interval_us: int) -> int:
    """How many slots lie in a half-open length that begins with one."""
    return -(-length_us // interval_us)


def share(judged: int, due: int) -> float | None:
    """Which share of the due slots may be judged, at most 1; None where none was due."""
    return min(1.0, judged / due) if due else None


def runs(slots: Sequence[int], interval_us: int) -> tuple[tuple[int, int, int], ...]:
    """Neighbouring slots as spans: from, to one interval after the last, and how many."""
    found: list[list[int]] = []
    for before, at in pairwise([None, *slots]):
        assert at is not None
        if before is None or at - before > interval_us:
            found.append([at, at, 0])
        found[-1][1] = at + interval_us
        found[-1][2] += 1
    return tuple((since, until, count) for since, until, count in found)


def pieces(
    hours: Iterable[Hour],
    cadence: Sequence[tuple[int, int]],
    *,
    since_us: int,
    until_us: int,
    length_us: int,
) -> tuple[Piece, ...]:
    """A span cut into hours by what came in each, neighbours of one kind joined.

    Before the channel was first read there is no piece.
    """
    known = {one.at_us: one for one in hours}
    found: list[Piece] = []
    for at in range(since_us // length_us * length_us, until_us, length_us):
        start, end = max(at, since_us), min(at + length_us, until_us)
        slots = due(cadence, since_us=start, until_us=end)
        one = known.get(at)
        if not slots and one is None:
            continue
        kind = _kind(one, slots)
        if found and found[-1].kind is kind and found[-1].until_us == start:
            found[-1] = replace(found[-1], until_us=end)
        else:
            found.append(Piece(since_us=start, until_us=end, kind=kind))
    return tuple(found)


def _kind(one: Hour | None, slots: int) -> Kind:
    if one is None or not one.stored:
        return Kind.ABSENT
    if not one.judged:
        return Kind.FLAGGED
    whole = one.judged >= NEARLY_ALL * slots - 1 and one.judged >= NEARLY_ALL * one.stored
    return Kind.GOOD if whole else Kind.PART
