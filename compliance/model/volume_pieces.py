"""A day's or a month's volume in pieces, for a plot: total and flow integral side by side."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from compliance.model.periods import Window, to_us
from compliance.model.readings import Series
from compliance.model.totals import Step, StepKind
from compliance.model.units import Unit, as_decimal, linear
from compliance.model.volumes import flow_integral, volume_between

HOUR = timedelta(hours=1)
AFTER = 8
"""So many steps after a window are looked at for one that reaches into it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a window. None: the total, or the rate, tells nothing of it."""

    window: Window
    total_gallons: Decimal | None
    flow_gallons: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Odd:
    """Readings of a total, one or a run alike, that are no plain step.

    since_us, until_us: the first and the last of them; times: how many; volume: what they add.
    """

    kind: StepKind
    since_us: int
    until_us: int
    times: int
    since_shows: Decimal
    shows: Decimal
    volume: Decimal
    reason: str


def hours(window: Window) -> tuple[Window, ...]:
    """The hours of a civil day: 23, 24 or 25, by the clock of the world and not of the wall."""
    found, start = [], window.start
    while start < window.end:
        end = min(start + HOUR, window.end)
        found.append(Window(start=start, end=end))
        start = end
    return tuple(found)


def pieces(
    windows: Iterable[Window],
    totals: Sequence[Step],
    flows: Series | None,
    *,
    total_unit: Unit,
    flow_unit: Unit,
) -> tuple[Piece, ...]:
    """Each window with what the total says of it, and what the flow rate does."""
    factor = linear(total_unit, Unit.GAL)[0]
    found = []
    for window in windows:
        inside = [step for step in near(totals, window) if _meets(step, window)]
        flow = None if flows is None else flow_integral(flows, window, unit=flow_unit)
        found.append(
            Piece(
                window=window,
                total_gallons=as_decimal(factor * volume_between(inside, window))
                if any(step.is_known and step.spans for step in inside)
                else None,
                flow_gallons=flow.gallons if flow and flow.completeness else None,
            )
        )
    return tuple(found)


def near(steps: Sequence[Step], window: Window) -> Sequence[Step]:
    """The steps that reach into a window, of many in time order, with those that stand in it."""
    start, end = to_us(window.start), to_us(window.end)
    low = bisect_left(steps, start, key=_at)
    high = bisect_left(steps, end, lo=low, key=_at)
    crossing = [step for step in steps[high : high + AFTER] if step.since_us < end]
    return [*steps[low:high], *crossing]


def _at(step: Step) -> int:
    return step.at_us


def odd_readings(steps: Sequence[Step], window: Window) -> tuple[Odd, ...]:
    """What is no plain step in a window; neighbours of one kind and reason are told once."""
    found: list[Odd] = []
    for step in steps:
        if step.kind is StepKind.PLAIN or not _meets(step, window):
            continue
        last = found[-1] if found else None
        if last and (last.kind, last.reason) == (step.kind, step.reason):
            found[-1] = _joined(last, step)
            continue
        found.append(
            Odd(
                kind=step.kind,
                since_us=step.at_us,
                until_us=step.at_us,
                times=1,
                since_shows=step.since_shows,
                shows=step.shows,
                volume=step.volume,
                reason=step.reason,
            )
        )
    return tuple(found)


def _joined(run: Odd, step: Step) -> Odd:
    return Odd(
        kind=run.kind,
        since_us=run.since_us,
        until_us=step.at_us,
        times=run.times + 1,
        since_shows=run.since_shows,
        shows=step.shows,
        volume=run.volume + step.volume,
        reason=run.reason,
    )


def _meets(step: Step, window: Window) -> bool:
    start, end = to_us(window.start), to_us(window.end)
    return step.since_us < end and step.at_us > start or start <= step.at_us < end
