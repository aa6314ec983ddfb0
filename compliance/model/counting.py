"""The arithmetic of a total: readings to steps, one by one or all at once, with the same sum.

A reading is settled by the ones that follow it. One that falls and comes back, or rises and comes
back, is left out; a count that falls and stays low began again; near its modulus it rolled over; a
leap beyond what the pipe passes is left out and counting goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Clamped, Context, Decimal, Inexact, InvalidOperation, localcontext

from compliance.errors import InputError
from compliance.model.periods import from_us
from compliance.model.readings import Series, judged
from compliance.model.totals import Count, Counter, Replacement, Step, StepKind, TotalState
from compliance.model.verdicts import (
    WHY,
    Verdict,
    allowed,
    is_torn,
    lifted,
    settled_count,
    verdict_on,
)

EXACT = Context(prec=1000, traps=[InvalidOperation, Inexact, Clamped])
"""Sums and differences without rounding; a result that needed it would be an error, not a sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Steps in time order, those that only the end of the readings decided included."""

    steps: tuple[Step, ...]
    state: TotalState  # to go on from: the last readings are still open in it

    @property
    def total(self) -> Decimal:
        """The volume of all steps, in the unit of the count."""
        with localcontext(EXACT):
            return sum((step.volume for step in self.steps), Decimal(0))

    @property
    def events(self) -> tuple[Step, ...]:
        """The readings that are no plain step."""
        return tuple(step for step in self.steps if step.kind is not StepKind.PLAIN)


def counts(series: Series, *, resolution: str) -> list[Count]:
    """The judged readings of a total, exact to its channel's resolution."""
    usable, step = judged(series), Decimal(resolution)
    return [
        Count(at_us=at, value=Decimal(repr(value)).quantize(step))
        for at, value in zip(usable.at_us.tolist(), usable.value.tolist(), strict=True)
    ]


def tally(
    counts: Iterable[Count], counter: Counter, replacements: Sequence[Replacement] = ()
) -> Tally:
    """All steps of a total.

    counts: good readings in time order; missing ones are simply not there. A replacement comes
    before a reading of the same instant.
    Raises: InputError for readings out of order, or a replacement that contradicts the count.
    """
    state = TotalState()
    steps: list[Step] = []
    notes = sorted(replacements, key=lambda note: note.at_us)
    for count in counts:
        while notes and notes[0].at_us <= count.at_us:
            state, made = exchange(state, notes.pop(0), counter)
            steps += made
        state, made = advance(state, count, counter)
        steps += made
    for note in notes:
        state, made = exchange(state, note, counter)
        steps += made
    return Tally(steps=(*steps, *closing(state, counter)), state=state)


def advance(state: TotalState, count: Count, counter: Counter) -> tuple[TotalState, list[Step]]:
    """The state after one more reading, and the steps that this reading settles.

    Raises: InputError when the reading is older than the last one.
    """
    if state.base is None:
        if not 0 <= count.value < counter.modulus:
            return state, [_left_out(count, count, "is no count below the modulus")]
        return replace(state, base=count), []
    last = state.open[-1] if state.open else state.base
    if count.at_us < last.at_us:
        raise InputError(
            f"a total read at {from_us(count.at_us).isoformat()} comes after the reading of "
            f"{from_us(last.at_us).isoformat()}; expected time order: sort the readings"
        )
    with localcontext(EXACT):
        for reference in (state.base, *state.open):
            count = lifted(count, reference, counter)
        return _decided(state, count, counter)


def closing(state: TotalState, counter: Counter) -> list[Step]:
    """The steps of the readings still open, if none followed.

    A rollover is believed at once; a reset, a fall or a leap is not, and leaves the sum alone.
    """
    if state.base is None or not state.open:
        return []
    with localcontext(EXACT):
        first, *more = state.open
        verdict = verdict_on(state, first, counter)
        if verdict in (Verdict.PLAIN, Verdict.ROLLOVER):
            _, steps = _settled(state, first, verdict, counter)
        else:
            why = f"{WHY[verdict]}; the next readings decide"
            steps = [_left_out(settled_count(state), first, why)]
        return steps + [_left_out(first, dip, "fell; the next readings decide") for dip in more]


def exchange(
    state: TotalState, note: Replacement, counter: Counter
) -> tuple[TotalState, list[Step]]:
    """The state after a meter was replaced: the old one's last read settled, the new one's begun.

    Raises: InputError when the last read does not continue the count.
    """
    begun = Count(at_us=note.at_us, value=note.initial)
    if state.base is None:
        return replace(state, base=begun), []
    with localcontext(EXACT):
        steps = closing(state, counter)
        taken = [step for step in steps if step.kind is not StepKind.SUSPECT]
        base = Count(at_us=taken[-1].at_us, value=taken[-1].shows) if taken else state.base
        passed = sum((step.volume for step in taken), Decimal(0))
        at_rest = TotalState(total=state.total + passed, base=base)
        final = lifted(Count(at_us=note.at_us, value=note.final), base, counter)
        verdict = verdict_on(at_rest, final, counter)
        if note.at_us < base.at_us or verdict not in (Verdict.PLAIN, Verdict.ROLLOVER):
            raise _contradicted(note, base)
        volume = _volume(at_rest, final, verdict, counter)
        step = _exchanged(base, note, volume)
        after = TotalState(
            total=at_rest.total + volume,
            base=begun,
            noted_since_us=base.at_us,
            has_walked=state.has_walked,
        )
        return after, [*steps, step]


def _contradicted(note: Replacement, base: Count) -> InputError:
    return InputError(
        f"the last read {note.final} noted for {from_us(note.at_us).isoformat()} does not "
        f"continue the count {base.value} of {from_us(base.at_us).isoformat()}; expected "
        "the old meter's last read, before any reading of the new one: correct the note"
    )


def _exchanged(base: Count, note: Replacement, volume: Decimal) -> Step:
    return Step(
        since_us=base.at_us,
        at_us=note.at_us,
        since_shows=base.value,
        shows=note.final,
        volume=volume,
        kind=StepKind.REPLACED,
        reason=f"meter replaced: old final {note.final}, new initial {note.initial}",
    )


def _decided(state: TotalState, count: Count, counter: Counter) -> tuple[TotalState, list[Step]]:
    if not state.open:
        return replace(state, open=(count,)), []
    if len(state.open) == 2:
        return _after_dip(state, count, counter)
    verdict = verdict_on(state, state.open[0], counter)
    if verdict is Verdict.PLAIN:
        return _after_rise(state, count, counter)
    if verdict in (Verdict.LEAP, Verdict.RETURN):
        return _after_leap(state, count, verdict, counter)
    if verdict is Verdict.IMPOSSIBLE:
        return _dropped(state, count, WHY[verdict])
    return _after_fall(state, count, verdict, counter)


def _after_rise(state: TotalState, count: Count, counter: Counter) -> tuple[TotalState, list[Step]]:
    first = state.open[0]
    if settled_count(state).value <= count.value < first.value and (
        state.has_walked or is_torn(first, settled_count(state), count, counter)
    ):
        return replace(state, open=(first, count)), []  # either was wrong: the next one tells which
    state, steps = _settled(state, first, Verdict.PLAIN, counter)
    return replace(state, open=(count,)), steps


def _after_dip(state: TotalState, count: Count, counter: Counter) -> tuple[TotalState, list[Step]]:
    first, second = state.open
    if count.value >= first.value:
        state, steps = _settled(state, first, Verdict.PLAIN, counter)
        dip = _left_out(first, second, "fell for one reading and came back")
        return replace(state, open=(count,)), [*steps, dip]
    torn = is_torn(first, settled_count(state), second, counter)
    why = "read in halves: one high word too many" if torn else "rose for one reading and came back"
    spike = _left_out(settled_count(state), first, why)
    state, steps = _decided(replace(state, open=(second,)), count, counter)
    return state, [spike, *steps]


def _after_leap(
    state: TotalState, count: Count, verdict: Verdict, counter: Counter
) -> tuple[TotalState, list[Step]]:
    base, first = settled_count(state), state.open[0]
    goes_on = first.value <= count.value <= first.value + allowed(first, count, counter)
    if verdict_on(state, count, counter) is Verdict.PLAIN or not goes_on:
        return _dropped(state, count, WHY[verdict])
    volume = _volume(state, first, verdict, counter)
    leap = Step(
        since_us=base.at_us,
        at_us=first.at_us,
        since_shows=base.value,
        shows=first.value,
        volume=volume,
        kind=StepKind.SUSPECT,
        reason=f"{WHY[verdict]}; counted on from here",
        is_known=verdict is Verdict.RETURN,
    )
    after = TotalState(
        total=state.total + volume, base=first, open=(count,), has_walked=state.has_walked
    )
    return after, [leap]


def _after_fall(
    state: TotalState, count: Count, verdict: Verdict, counter: Counter
) -> tuple[TotalState, list[Step]]:
    base, first = settled_count(state), state.open[0]
    if count.value >= base.value:
        return _dropped(replace(state, stray=None), count, "fell for one reading and came back")
    if verdict is Verdict.FALL:
        return _dropped(replace(state, stray=first), count, WHY[verdict])
    if count.value < first.value:
        return _dropped(replace(state, stray=first), count, "fell, and the next one fell further")
    state, steps = _settled(state, first, verdict, counter)
    return replace(state, open=(count,)), steps


def _dropped(state: TotalState, count: Count, why: str) -> tuple[TotalState, list[Step]]:
    step = _left_out(settled_count(state), state.open[0], why)
    return replace(state, open=(count,)), [step]


def _left_out(base: Count, count: Count, reason: str) -> Step:
    return Step(
        since_us=count.at_us,
        at_us=count.at_us,
        since_shows=base.value,
        shows=count.value,
        volume=Decimal(0),
        kind=StepKind.SUSPECT,
        reason=reason,
    )


_KINDS = {
    Verdict.PLAIN: StepKind.PLAIN,
    Verdict.ROLLOVER: StepKind.ROLLOVER,
    Verdict.RESET: StepKind.RESET,
}


def _settled(
    state: TotalState, count: Count, verdict: Verdict, counter: Counter
) -> tuple[TotalState, list[Step]]:
    base = settled_count(state)
    step = Step(
        since_us=base.at_us,
        at_us=count.at_us,
        since_shows=base.value,
        shows=count.value,
        volume=_volume(state, count, verdict, counter),
        kind=_KINDS[verdict],
        reason=WHY.get(verdict, ""),
    )
    before = base if verdict is Verdict.RESET else state.before_reset
    if verdict is Verdict.ROLLOVER or (before and count.value >= before.value):
        before = None
    after = TotalState(
        total=state.total + step.volume, base=count, before_reset=before, has_walked=True
    )
    return after, [step]


def _volume(state: TotalState, count: Count, verdict: Verdict, counter: Counter) -> Decimal:
    risen = count.value - settled_count(state).value
    if verdict is Verdict.RESET:
        return count.value
    if verdict is Verdict.LEAP:
        return Decimal(0)
    if verdict is Verdict.RETURN and state.before_reset:
        return max(Decimal(0), risen - state.before_reset.value)
    return risen + counter.modulus if verdict is Verdict.ROLLOVER else risen
