"""A week of a channel as a strip, and its instrument's clock as a line: what a page draws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.templating import local
from compliance.model.clocks import HOUR_US, Offset, split, zone_name
from compliance.model.completeness import KIND_SAYS, Piece
from compliance.model.gaps import Gap
from compliance.model.periods import from_us, to_us
from compliance.model.windows import Declared

WIDTH = 700
HEIGHT = 100
LEAST = 0.15
"""Percent of the strip: what is shorter is still seen."""
LEAST_SPAN_MS = 2_000
"""Of the plot's axis: the instrument's resolution is no drift."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A piece of a strip: from where and how wide, in percent; its kind, and what it says."""

    x: float
    width: float
    kind: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """The instrument's time less ours as lines of points, and the ends of the axis in seconds.

    zone: which the clock keeps now; the axis is beside it.
    """

    lines: tuple[str, ...]
    low: str
    high: str
    zone: str


def strip(  # noqa: PLR0913 - what a strip is made of
    pieces: Iterable[Piece],
    gaps: Iterable[Gap],
    windows: Iterable[Declared],
    *,
    since_us: int,
    until_us: int,
    zone: str,
) -> tuple[Mark, ...]:
    """Marks in the order in which they are drawn: hours, over them gaps, over all windows."""

    def mark(start: int, end: int, kind: str, says: str) -> Mark | None:
        left, right = max(start, since_us), min(end, until_us)
        if right <= left:
            return None
        share = 100 / (until_us - since_us)
        span = f"{local(from_us(left), zone)} to {local(from_us(right), zone)}"
        return Mark(
            x=round((left - since_us) * share, 3),
            width=round(max(LEAST, (right - left) * share), 3),
            kind=kind,
            says=f"{span}: {says}",
        )

    found = [mark(p.since_us, p.until_us, p.kind.value, KIND_SAYS[p.kind]) for p in pieces]
    found += [mark(gap.since_us, gap.until_us, "gap", gap.cause) for gap in gaps]
    for one in windows:
        end = until_us if one.until is None else to_us(one.until)
        says = f"{one.during}, declared by {one.declared_by}"
        found.append(mark(to_us(one.since), end, "window", says))
    return tuple(one for one in found if one is not None)


def plot(offsets: Sequence[Offset], *, since_us: int, until_us: int) -> Plot | None:
    """Offsets by the hour as lines; hours without one break them. None with fewer than two."""
    if len(offsets) < 2:
        return None
    values = [one.offset_ms for one in offsets]
    low, high = min(values), max(values)
    room = max(0, LEAST_SPAN_MS - (high - low)) / 2
    bottom, top = low - room, high + room

    def point(one: Offset) -> str:
        x = (one.at_us - since_us) / (until_us - since_us) * WIDTH
        y = (top - one.offset_ms) / (top - bottom) * HEIGHT
        return f"{x:.1f},{y:.1f}"

    runs: list[list[str]] = [[point(offsets[0])]]
    for before, one in pairwise(offsets):
        if one.at_us - before.at_us > 2 * HOUR_US:
            runs.append([])
        runs[-1].append(point(one))
    lines = tuple(" ".join(run) for run in runs if len(run) > 1)
    zone = split(values[-1])[0]
    return Plot(
        lines=lines, low=_seconds(bottom - zone), high=_seconds(top - zone), zone=zone_name(zone)
    )


def _seconds(ms: float) -> str:
    return f"{ms / 1000:+,.1f} s".replace("-", "−")
