"""What screening says of readings: QARTOD's flags, the reasons for them, and spans that have both.

A flag is ours and is made anew whenever its rules change; what the instrument said of a reading is
its ``Quality``, written once; what a person decided is a determination. The three never mix.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum, IntFlag

import numpy as np
from numpy.typing import NDArray

FlagArray = NDArray[np.int8]
ReasonArray = NDArray[np.int16]


class Flag(IntEnum):
    """QARTOD's five flags."""

    PASS = 1
    NOT_EVALUATED = 2
    SUSPECT = 3
    FAIL = 4
    MISSING = 9


class Reason(IntFlag):
    """Which test gave a flag that is no pass."""

    NONE = 0
    DEVICE = 1
    GROSS_RANGE = 2
    SPIKE = 4
    RATE_OF_CHANGE = 8
    FLAT_LINE = 16
    ATTENUATED = 32
    GAP = 64
    CLIMATOLOGY = 128
    CROSS_CHECK = 256


WORDS_FOR = {
    Reason.DEVICE: "the instrument or its gateway said so",
    Reason.GROSS_RANGE: "outside the range that this place can have",
    Reason.SPIKE: "a spike against both neighbours",
    Reason.RATE_OF_CHANGE: "faster than the instrument can follow",
    Reason.FLAT_LINE: "stands still for too long",
    Reason.ATTENUATED: "moves less than a live signal does",
    Reason.GAP: "comes after a gap",
    Reason.CLIMATOLOGY: "unusual for the season",
    Reason.CROSS_CHECK: "does not agree with the point's other channels",
}

_RANK = np.zeros(10, np.int8)
for _rank, _flag in enumerate(
    (Flag.PASS, Flag.NOT_EVALUATED, Flag.MISSING, Flag.SUSPECT, Flag.FAIL)
):
    _RANK[_flag] = _rank
_BY_RANK = np.array([Flag.PASS, Flag.NOT_EVALUATED, Flag.MISSING, Flag.SUSPECT, Flag.FAIL], np.int8)


def worst(*flags: FlagArray) -> FlagArray:
    """The flag that stands for several of one reading: fail, suspect, missing, not evaluated, pass.

    A hole, or a test that could not be made, is never reported as a pass.
    """
    rank = _RANK[flags[0]]
    for each in flags[1:]:
        rank = np.maximum(rank, _RANK[each])
    return _BY_RANK[rank]


def reasons(reason: int) -> str:
    """Reasons in words, empty for none."""
    return "; ".join(words for bit, words in WORDS_FOR.items() if reason & bit)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlaggedSpan:
    """Neighbouring readings of a channel that have one flag for one reason.

    since_us, until_us: the first and the last of them, in microseconds since 1970.
    """

    since_us: int
    until_us: int
    flag: Flag
    reason: Reason
    readings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A flagged span as people read it: with the rules that flagged it."""

    span: FlaggedSpan
    ruleset: str

    @property
    def says(self) -> str:
        """Why, in words."""
        return reasons(self.span.reason)


def gathered(found: Iterable[Listed], *, within_us: int) -> tuple[Listed, ...]:
    """Neighbouring spans of one flag and reason as one: they are stored by quarter-hours.

    found: of one channel, in time order; within_us: so near to each other are neighbours.
    """
    joined: list[Listed] = []
    for one in found:
        last = joined[-1] if joined else None
        if last is not None and _continues(last, one, within_us):
            span = replace(
                last.span,
                until_us=one.span.until_us,
                readings=last.span.readings + one.span.readings,
            )
            joined[-1] = replace(last, span=span)
        else:
            joined.append(one)
    return tuple(joined)


def _continues(one: Listed, other: Listed, within_us: int) -> bool:
    same = (one.span.flag, one.span.reason, one.ruleset) == (
        other.span.flag,
        other.span.reason,
        other.ruleset,
    )
    return same and other.span.since_us - one.span.until_us <= within_us


def spans(
    at_us: NDArray[np.int64], flag: FlagArray, reason: ReasonArray
) -> tuple[FlaggedSpan, ...]:
    """The runs of readings that did not pass, in time order; what passed has no span."""
    if not len(at_us):
        return ()
    turns = np.flatnonzero((np.diff(flag) != 0) | (np.diff(reason) != 0)) + 1
    starts = np.concatenate(([0], turns))
    ends = np.concatenate((turns, [len(at_us)]))
    kept = np.flatnonzero(flag[starts] != Flag.PASS)
    return tuple(
        FlaggedSpan(
            since_us=int(at_us[starts[i]]),
            until_us=int(at_us[ends[i] - 1]),
            flag=Flag(int(flag[starts[i]])),
            reason=Reason(int(reason[starts[i]])),
            readings=int(ends[i] - starts[i]),
        )
        for i in kept
    )
