"""What share of a point's readings was left out, beside the limit and beyond it.

Whether a reading is left out may not depend on its value: a share that is higher beyond the limit
than inside it is for a person to explain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from compliance.judging import judge
from compliance.judging.refold import Under
from compliance.model.parameters import PHYSICAL_RANGE, Parameter
from compliance.model.readings import TOLD, Flags, Quality, Series
from compliance.model.rollups import Quarters

RULE = (
    "Whether a reading is left out may not depend on its value: where the share left out is higher "
    "beyond the limit than inside it, a person has to say why."
)


class Cause(StrEnum):
    """Who left a reading out; where several did, the first of these is counted."""

    DEVICE = "device"
    WINDOW = "window"
    DETERMINATION = "determination"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Readings on one side. excluded: those left out, by cause."""

    readings: int = 0
    excluded: Mapping[Cause, int] = field(default_factory=dict)

    @property
    def left_out(self) -> int:
        """How many were left out, whatever the cause."""
        return sum(self.excluded.values())

    def share(self, cause: Cause | None = None) -> float | None:
        """Which share was left out, for one cause or for any; None without a reading."""
        if not self.readings:
            return None
        count = self.left_out if cause is None else self.excluded.get(cause, 0)
        return count / self.readings

    def __add__(self, other: Part) -> Part:
        return Part(
            readings=self.readings + other.readings,
            excluded={
                cause: self.excluded.get(cause, 0) + other.excluded.get(cause, 0) for cause in Cause
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusions:
    """Readings with a value inside the limit and beyond it, and how many had no value at all."""

    inside: Part = Part()
    beyond: Part = Part()
    without_value: int = 0

    def __add__(self, other: Exclusions) -> Exclusions:
        return Exclusions(
            inside=self.inside + other.inside,
            beyond=self.beyond + other.beyond,
            without_value=self.without_value + other.without_value,
        )


def exclusions(series: Series, limits: Sequence[Under], parameter: Parameter) -> Exclusions:
    """Count readings by side and cause.

    series: in the channel's unit. A value that is beyond any of the limits in force at its instant
    is beyond. What was read while the channel did not count is not looked at.
    """
    counted = series.where((series.quality & int(Quality.NOT_COMMISSIONED)) == 0)
    valued = counted.where(~np.isnan(counted.value))
    outside = beyond(valued, limits)
    causes = _causes(valued, parameter)
    return Exclusions(
        inside=_part(causes, ~outside),
        beyond=_part(causes, outside),
        without_value=len(counted) - len(valued),
    )


def plain(of: Quarters, limits: Sequence[Under], parameter: Parameter) -> Flags:
    """The quarters in which every reading is judged and none is beyond: nothing to be looked at."""
    lowest, highest = PHYSICAL_RANGE.get(parameter, (-np.inf, np.inf))
    with np.errstate(invalid="ignore"):
        whole: Flags = (of.good == of.readings) & (of.lowest >= lowest) & (of.highest <= highest)
    for values in (of.lowest, of.highest):
        whole &= ~beyond(
            Series(
                at_us=of.start_us,
                value=values,
                quality=np.zeros(len(of), np.int64),
                interval_us=np.ones(len(of), np.int64),
            ),
            limits,
        )
    return whole


def beyond(series: Series, limits: Sequence[Under]) -> Flags:
    """Which readings lie beyond any of the limits in force at their instants; NaN does not."""
    found = np.zeros(len(series), np.bool_)
    if not len(series):
        return found
    first, last = int(series.at_us[0]), int(series.at_us[-1])
    for under in limits:
        for cut in judge.cuts(under.rule, under.zone, first, last):
            if cut.version is None:
                continue
            lo, hi = (int(at) for at in np.searchsorted(series.at_us, [cut.start_us, cut.end_us]))
            here = judge.part(series, lo, hi)
            near = judge.edges(cut.version)
            values = judge.convert(here, under.unit, under.rule.unit, near=near).value
            at_least, at_most = judge.bounds(cut.version)
            with np.errstate(invalid="ignore"):
                if at_least is not None:
                    found[lo:hi] |= values < at_least
                if at_most is not None:
                    found[lo:hi] |= values > at_most
    return found


def _causes(series: Series, parameter: Parameter) -> dict[Cause, Flags]:
    """Of each cause the readings that it is counted for."""
    lowest, highest = PHYSICAL_RANGE.get(parameter, (-np.inf, np.inf))
    impossible = (series.value < lowest) | (series.value > highest)
    device = ((series.quality & TOLD) != 0) | impossible
    window = ((series.quality & int(Quality.MAINTENANCE)) != 0) & ~device
    said = (series.quality & int(Quality.INVALID | Quality.ESTIMATED)) != 0
    return {
        Cause.DEVICE: device,
        Cause.WINDOW: window,
        Cause.DETERMINATION: said & ~device & ~window,
    }


def _part(causes: Mapping[Cause, Flags], here: Flags) -> Part:
    return Part(
        readings=int(here.sum()),
        excluded={cause: int((which & here).sum()) for cause, which in causes.items()},
    )
