"""Composites: what an automatic sampler put together, beside the water that passed meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from compliance.model.periods import Window


class CompositeKind(StrEnum):
    """What one composite of a sampler is: where it begins and ends."""

    BOTTLE = "bottle"  # as long as one bottle was filled
    PROGRAM = "program"  # from one start of the aliquot count to the next
    DAY = "day"  # the civil day at the plant


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerProgram:
    """How a sampler is set, and what we hold it to.

    gallons_per_aliquot: one aliquot is due for so much water; aliquots_per_bottle: None for one
    large bottle; tolerance: how far aliquots may lie from those due, as a share (one aliquot is
    always allowed: where the first falls is chance); moves_when_full: whether the sampler turns to
    the next bottle after the last aliquot, or else before the next one; warmest_deg_c: the law's
    bound on the cabinet, None where nobody gave one.
    """

    gallons_per_aliquot: Decimal
    aliquots_per_bottle: int | None = None
    moves_when_full: bool = True
    tolerance: Decimal = Decimal("0.1")
    warmest_deg_c: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedPull:
    """Water that passed without an aliquot although some were due.

    between: the reading that shows the last aliquot before, and the one before the next is shown;
    aliquots: how many were due in it, at least.
    """

    between: Window
    aliquots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BottleChange:
    """A reading that shows another bottle than the one before."""

    at_us: int
    bottle: int
    before: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Composite:
    """Water taken in aliquots over a span, and how well it stands for what passed.

    due: aliquots by the volume, unrounded. representativeness: aliquots taken per aliquot due, 1 at
    best, None where the volume is not known or nothing was due. warmest_deg_c: of the cabinet, None
    where it is not measured. faults: why it may not be relied on, each in one sentence; empty: it
    is sound.
    """

    window: Window
    bottles: tuple[int, ...]
    aliquots: int
    gallons: Decimal | None
    due: Decimal | None
    representativeness: Decimal | None
    missed: tuple[MissedPull, ...]
    warmest_deg_c: Decimal | None
    faults: tuple[str, ...]
    working: tuple[str, ...]

    @property
    def is_sound(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.faults
