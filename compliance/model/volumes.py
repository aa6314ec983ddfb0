"""Where a day's volume comes from: the totalizer first, the flow rate where the total cannot tell.

Time is cut at the instants of both; the sum over any partition of a window is the window's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import fsum

import numpy as np

from compliance.model.periods import Window, from_us, to_us
from compliance.model.readings import Series, Times, Values, judged
from compliance.model.totals import (
    Disagreement,
    FlowIntegral,
    Step,
    StepKind,
    Volume,
    VolumeSource,
)
from compliance.model.units import Unit, as_decimal, linear

Span = tuple[int, int]
"""From one instant to another in microseconds, half-open."""

LONGEST_HOLD_US = 300_000_000
HELD_INTERVALS = 3
"""A rate is held until the next reading, at most so many intervals and never over five minutes."""

STUCK_SHARE = Decimal("0.02")
"""A total that stands still while more than this share of the window's flow passes is stuck."""

_MINUTE_US = 60_000_000


def volume_between(steps: Sequence[Step], window: Window) -> Fraction:
    """The volume of a total in a window, exactly, in the unit of the count.

    steps: as ``counting.tally`` makes them; one that crosses the window's edge counts by the share
    of its time inside. What no step covers is left out.
    """
    start, end = to_us(window.start), to_us(window.end)
    near = (step for step in steps if step.at_us >= start and step.since_us < end)
    return sum((_inside(step, start, end) for step in near), Fraction(0))


def flow_integral(flows: Series, window: Window, *, unit: Unit) -> FlowIntegral:
    """Flow rate times time in a window, in gallons, with how much of the time it covers.

    flows: rates in ``unit``, from before the window too, so that its first minutes are held;
    readings that may not be judged are no readings; a rate below zero counts as zero.
    Raises: UnitMismatch.
    """
    held = _held(flows, window, unit)
    return FlowIntegral(
        gallons=_gallons(held.between(held.window)),
        window=window,
        completeness=_share(held.seconds_us(), held.window),
    )


def day_volume(
    totals: Sequence[Step],
    flows: Series | None,
    window: Window,
    *,
    total_unit: Unit = Unit.GAL,
    flow_unit: Unit = Unit.GPM,
    resolution: Decimal = Decimal(0),
) -> Volume:
    """The volume of a window: from the totalizer, from the flow rate only where that cannot tell.

    totals: steps in ``total_unit``, flows: rates in ``flow_unit``, both from a little before to a
    little after the window; resolution: of the total, in ``total_unit``: standing still within two
    of it is not being stuck.
    Raises: UnitMismatch.
    """
    held = _held(flows, window, flow_unit)
    factor = linear(total_unit, Unit.GAL)[0]
    inside = [step for step in totals if _overlap((step.since_us, step.at_us), held.window)]
    stuck = _stuck(inside, held, float(2 * resolution * as_decimal(factor)))
    told = _told(inside, stuck, held.window)
    untold = _minus(held.window, told)
    from_total = as_decimal(factor * _told_volume(totals, told, held.window))
    estimated = _gallons(fsum(held.between(span) for span in untold))
    source, odd = _source(told, held), _odd(totals, held)
    return Volume(
        window=window,
        gallons=None if source is None else from_total + estimated,
        source=source,
        completeness=_share(held.seconds_us(), held.window),
        covered=_share(_length(told) + sum(map(held.seconds_us, untold)), held.window),
        estimated_gallons=estimated,
        disagreement=_disagreement(inside, held, factor),
        needs_review=any(step.kind in (StepKind.RESET, StepKind.SUSPECT) for step in odd),
        working=(
            *_total_working(inside, from_total, total_unit),
            *(f"{step.kind.value} at {_at(step.at_us)}: {step.reason}" for step in odd),
            *_estimate_working(untold, stuck, held),
            f"rate data {percent(_share(held.seconds_us(), held.window))} complete",
        ),
    )


def percent(share: Decimal) -> str:
    """A share for print; one that is not whole is never printed as 100 % (nor as 0 %)."""
    value = share * 100
    for places in range(12):
        rounded = round(value, places)
        if value in (0, 100) or rounded not in (0, 100):
            return f"{rounded:f} %"
    return f"{value:f} %"


# -- the flow rate, held


@dataclass(frozen=True, slots=True)
class _Held:
    """Rates in gpm, each from one instant up to another, inside a window."""

    window: Span
    from_us: Times
    to_us: Times
    gpm: Values

    def between(self, span: Span) -> float:
        """Gallons of the rates held inside a span."""
        inside = np.minimum(self.to_us, span[1]) - np.maximum(self.from_us, span[0])
        return fsum((self.gpm * np.maximum(inside, 0) / _MINUTE_US).tolist())

    def seconds_us(self, span: Span | None = None) -> int:
        """The time held inside a span, else in all, in microseconds."""
        start, end = span or self.window
        inside = np.minimum(self.to_us, end) - np.maximum(self.from_us, start)
        return int(np.maximum(inside, 0).sum())

    def runs(self) -> list[Span]:
        """Spans without a hole."""
        return _merged(list(zip(self.from_us.tolist(), self.to_us.tolist(), strict=True)))


def _held(flows: Series | None, window: Window, unit: Unit) -> _Held:
    span = (to_us(window.start), to_us(window.end))
    if flows is None or not len(usable := judged(flows)):
        return _Held(span, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    factor, offset = linear(unit, Unit.GPM)
    longest = np.minimum(HELD_INTERVALS * usable.interval_us, LONGEST_HOLD_US)
    ends = usable.at_us + longest
    ends[:-1] = np.minimum(ends[:-1], usable.at_us[1:])
    starts, ends = np.maximum(usable.at_us, span[0]), np.minimum(ends, span[1])
    keep = ends > starts
    gpm = np.maximum(usable.value[keep] * float(factor) + float(offset), 0)
    return _Held(span, starts[keep], ends[keep], gpm)


# -- spans


def _overlap(one: Span, two: Span) -> bool:
    return max(one[0], two[0]) < min(one[1], two[1])


def _of(step: Step, window: Span) -> Span:
    return max(step.since_us, window[0]), min(step.at_us, window[1])


def _merged(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _minus(span: Span, others: Sequence[Span]) -> list[Span]:
    """What is left of a span without others, which are in order and do not touch."""
    left, start = [], span[0]
    for other in others:
        if _overlap(other, (start, span[1])):
            left.append((start, other[0]))
            start = other[1]
    return [part for part in (*left, (start, span[1])) if part[0] < part[1]]


def _length(spans: Sequence[Span]) -> int:
    return sum(end - start for start, end in spans)


def _inside(step: Step, start: int, end: int) -> Fraction:
    if not step.spans:
        return Fraction(step.volume) if start <= step.at_us < end else Fraction(0)
    inside = min(step.at_us, end) - max(step.since_us, start)
    if inside <= 0 or not step.volume:
        return Fraction(0)
    return Fraction(step.volume) * Fraction(inside, step.at_us - step.since_us)


# -- the total beside the rate


def _stuck(inside: Sequence[Step], held: _Held, least_gallons: float) -> list[Span]:
    """Spans of a total that stands still while water passes."""
    flat = _merged(
        [
            _of(step, held.window)
            for step in inside
            if step.is_known and step.kind is StepKind.PLAIN and not step.volume
        ]
    )
    least = max(float(STUCK_SHARE) * held.between(held.window), least_gallons)
    return [span for span in flat if held.between(span) > least]


def _told(inside: Sequence[Step], stuck: Sequence[Span], window: Span) -> list[Span]:
    """The spans of a window that the total can tell of."""
    known = [_of(step, window) for step in inside if step.is_known]
    return _merged([left for span in known for left in _minus(span, stuck)])


def _told_volume(totals: Sequence[Step], told: Sequence[Span], window: Span) -> Fraction:
    """What the total says of the spans it can tell, and of instants without length."""
    spans = sum((_inside(s, *span) for s in totals if s.spans for span in told), Fraction(0))
    return spans + sum((_inside(s, *window) for s in totals if not s.spans), Fraction(0))


def _source(told: Sequence[Span], held: _Held) -> VolumeSource | None:
    if told:
        return VolumeSource.TOTALIZER
    return VolumeSource.FLOW_INTEGRAL if len(held.gpm) else None


def _disagreement(inside: Sequence[Step], held: _Held, factor: Fraction) -> Disagreement | None:
    known = _merged([_of(step, held.window) for step in inside if step.is_known])
    common = [
        part
        for run in held.runs()
        for span in known
        if (part := (max(run[0], span[0]), min(run[1], span[1])))[0] < part[1]
    ]
    if not common:
        return None
    steps = [step for step in inside if step.is_known]
    total = as_decimal(
        factor * sum((_inside(step, *span) for step in steps for span in common), Fraction(0))
    )
    flow = _gallons(fsum(held.between(span) for span in common))
    seconds = Decimal(_length(common)) / 1_000_000
    share = (flow - total) / total if total else None
    apart = "the total stands still" if share is None else f"{share * 100:+.1f} %"
    return Disagreement(
        totalizer_gallons=total,
        flow_gallons=flow,
        seconds=seconds,
        share=share,
        working=(
            f"over the same {seconds.normalize():f} s: flow integral {_shown(flow)} gal, "
            f"totalizer {_shown(total)} gal: {apart}"
        ),
    )


# -- the working


def _total_working(inside: Sequence[Step], gallons: Decimal, unit: Unit) -> list[str]:
    known = [step for step in inside if step.is_known]
    if not known:
        return ["totalizer: no step in this window"]
    first, last = known[0], known[-1]
    return [
        f"totalizer {first.since_shows} {unit.value} at {_at(first.since_us)} to "
        f"{last.shows} {unit.value} at {_at(last.at_us)}: {_shown(gallons)} gal in the window"
    ]


def _odd(totals: Sequence[Step], held: _Held) -> list[Step]:
    start, end = held.window
    return [
        step
        for step in totals
        if step.kind is not StepKind.PLAIN
        and (_overlap((step.since_us, step.at_us), held.window) or start <= step.at_us < end)
    ]


def _estimate_working(untold: Sequence[Span], stuck: Sequence[Span], held: _Held) -> list[str]:
    return [
        f"{_at(span[0])} to {_at(span[1])}: the total "
        f"{'stands still' if any(_overlap(span, flat) for flat in stuck) else 'does not tell'}; "
        f"{_shown(_gallons(held.between(span)))} gal (E) from the flow rate, "
        f"{percent(_share(held.seconds_us(span), span))} complete there"
        for span in untold
    ]


def _gallons(value: float) -> Decimal:
    return Decimal(repr(round(value, 6)))


def _shown(gallons: Decimal) -> str:
    return f"{round(gallons, 1).normalize():f}"


def _share(part_us: int, whole: Span) -> Decimal:
    length = whole[1] - whole[0]
    return Decimal(part_us) / length if length > 0 else Decimal(0)


def _at(us: int) -> str:
    return from_us(us).strftime("%Y-%m-%dT%H:%M:%SZ")
