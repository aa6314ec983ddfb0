"""What a reading of a total can be against the last one that is settled."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from enum import Enum, auto

from compliance.errors import InsufficientData
from compliance.model.totals import Count, Counter, TotalState

MARGIN = Decimal("1.2")
"""A step may be as much larger than the pipe's capacity: clocks and capacities are not exact."""

NEAR = Decimal("0.9")
"""A count has to be above this share of its modulus to roll over; below, of what it was, to be
low."""

WORD = 65536
"""One of the high register is worth as many of the low one."""

CLOSE = 10
"""A count that leaps back after a reset lands nearer to where it was by this factor than to the
reset."""


class Verdict(Enum):
    """What the arithmetic makes of a reading; what becomes of it, the next readings decide."""

    PLAIN = auto()
    LEAP = auto()  # rises by more than the pipe passes
    RETURN = auto()  # rises in one step from a reset to where it was before it
    ROLLOVER = auto()
    RESET = auto()
    FALL = auto()  # falls, and nothing explains it
    IMPOSSIBLE = auto()  # not a count of this modulus


WHY = {
    Verdict.LEAP: "rose by more than the pipe can pass",
    Verdict.RETURN: "came back from the reset to where it was before it",
    Verdict.ROLLOVER: "passed the modulus",
    Verdict.RESET: "began again near zero; what passed before that is not known",
    Verdict.FALL: "fell, neither to zero nor over the modulus: a meter replaced, or a wrong one",
    Verdict.IMPOSSIBLE: "is no count below the modulus",
}


def settled_count(state: TotalState) -> Count:
    """The last settled reading.

    Raises: InsufficientData when there is none yet.
    """
    if state.base is None:
        raise InsufficientData("this total has no reading yet")
    return state.base


def verdict_on(state: TotalState, count: Count, counter: Counter) -> Verdict:
    """What a reading is against the last settled one."""
    base = settled_count(state)
    if not 0 <= count.value < counter.modulus:
        return Verdict.IMPOSSIBLE
    if count.value >= base.value:
        if _comes_back(state, count, counter):
            return Verdict.RETURN
        since = base.at_us if state.noted_since_us is None else state.noted_since_us
        most = allowed(replace(base, at_us=since), count, counter)
        within = count.value - base.value <= most
        return Verdict.PLAIN if within else Verdict.LEAP
    if state.stray is not None and count.value >= state.stray.value:
        return Verdict.FALL
    if _rolls_over(base, count, counter):
        return Verdict.ROLLOVER
    is_low = count.value < NEAR * base.value
    if is_low and count.value <= allowed(state.stray or base, count, counter):
        return Verdict.RESET
    return Verdict.FALL


def _comes_back(state: TotalState, count: Count, counter: Counter) -> bool:
    """Whether one step leads from a reset to a little above the count before it: no reset then."""
    if state.before_reset is None or counter.begins_anew:
        return False
    before, leap = state.before_reset.value, count.value - settled_count(state).value
    is_whole = CLOSE * leap >= (CLOSE - 1) * before
    return is_whole and 0 <= CLOSE * (count.value - before) <= leap


def _rolls_over(base: Count, count: Count, counter: Counter) -> bool:
    wrapped = count.value + counter.modulus - base.value
    was_near = base.value > NEAR * counter.modulus
    if counter.max_per_second is None:
        return was_near and 2 * wrapped < counter.modulus
    most = allowed(base, count, counter)
    return wrapped <= most and (was_near or 2 * most <= counter.modulus)


def allowed(base: Count, count: Count, counter: Counter) -> Decimal:
    """The most that can have passed between two readings, in the unit of the count."""
    if counter.max_per_second is None:
        return Decimal("Infinity")
    passes = MARGIN * counter.max_per_second * (count.at_us - base.at_us)
    return passes.scaleb(-6) + counter.resolution


def lifted(count: Count, reference: Count, counter: Counter) -> Count:
    """A reading that steps back by one resolution at most, as if it had stood still."""
    back = reference.value - count.value
    if back < 0:
        back += counter.modulus  # around zero
    if 0 <= count.value < counter.modulus and 0 < back <= counter.resolution:
        return replace(count, value=reference.value)
    return count


def is_torn(high: Count, low: Count, after: Count, counter: Counter) -> bool:
    """Whether ``high`` is a reading between the others with a high word that was not its own."""
    word = WORD * counter.resolution
    if not word or (after.value - low.value) * 16 >= word:
        return False
    words = (high.value - low.value) // word
    return words >= 1 and high.value - words * word <= after.value
