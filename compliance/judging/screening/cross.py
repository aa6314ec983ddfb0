"""Tests of a channel against the others of its point: a rinse, and a flow that its total denies.

They doubt, and never exclude: what they flag is judged, and for review.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from compliance.model.readings import Flags, Series, Times, Values, judged
from compliance.model.totals import Disagreement

_US = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rinse:
    """How far pH and temperature must jump together, each in its channel's unit.

    seconds: within which both jump; longest_seconds: after which they must have jumped back.
    """

    ph_step: float
    temperature_step: float
    seconds: float
    longest_seconds: float

    @property
    def looks_back_us(self) -> int:
        """How much history a reading's flag rests on."""
        return round((self.seconds + self.longest_seconds) * _US)


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """How far a day's flow integral may lie from its total, as a share, where both are known.

    seconds: for how long both must be known for the day to be compared at all.
    """

    share: Decimal
    seconds: int


def rinsed(ph: Series, temperature: Series, of: Rinse) -> Flags:
    """Which readings of pH lie in a rinse: it and the temperature jump together, and back again.

    Both series cover the same time, a little before included. A jump is a change within
    ``of.seconds``; what lies between one and the next in the other direction is in the rinse, if
    that comes within ``of.longest_seconds``; alone, only the jump is flagged. What may not be
    judged is no neighbour.
    """
    found = np.zeros(len(ph), np.bool_)
    own, other = judged(ph), judged(temperature)
    if not len(own) or not len(other):
        return found
    back = own.at_us - round(of.seconds * _US)
    step = own.value - _held(own, back)
    heat = _held(other, own.at_us) - _held(other, back)
    with np.errstate(invalid="ignore"):
        jumps = (np.abs(step) >= of.ph_step) & (np.abs(heat) >= of.temperature_step)
    inside = _filled(own.at_us, jumps, np.sign(step), longest_us=round(of.longest_seconds * _US))
    found[np.searchsorted(ph.at_us, own.at_us[inside])] = True
    return found


def denied(said: Disagreement | None, of: Apart, *, resolution: Decimal = Decimal(0)) -> bool:
    """Whether a day's flow integral lies too far from its total.

    resolution: of the total, in gallons: what lies within two of it is not apart. A total that
    stands still while water flows denies it too; too short a time says nothing.
    """
    if said is None or said.seconds < of.seconds:
        return False
    apart = abs(said.flow_gallons - said.totalizer_gallons)
    return apart > max(of.share * abs(said.totalizer_gallons), 2 * resolution)


def _held(series: Series, at_us: Times) -> Values:
    """The value last read at or before each instant; NaN before the first, and in a silence."""
    places = np.searchsorted(series.at_us, at_us, side="right") - 1
    known = np.maximum(places, 0)
    values = np.where(places < 0, np.nan, series.value[known])
    silent = at_us - series.at_us[known] > 3 * series.interval_us[known]
    values[silent] = np.nan
    return values


def _filled(
    at_us: Times, jumps: Flags, direction: NDArray[np.float64], *, longest_us: int
) -> Flags:
    """Jumps, and what lies between two neighbouring ones of opposite direction."""
    found = jumps.copy()
    places = np.flatnonzero(jumps)
    for here, following in zip(places[:-1], places[1:], strict=True):
        turns = direction[here] != direction[following]
        if turns and at_us[following] - at_us[here] <= longest_us:
            found[here:following] = True
    return found
