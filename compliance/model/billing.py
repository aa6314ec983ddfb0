"""Bills: what was used, what is charged for it, and how each amount was reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum

from compliance.model.parameters import Parameter
from compliance.model.periods import Period


class Category(StrEnum):
    """The sewer service class of a user."""

    A = "A"
    B = "B"
    C = "C"
    D = "D"


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """Water that is charged for, with how it was found. estimated: not read from a meter."""

    gallons: Decimal
    estimated: bool
    working: tuple[str, ...]

    @property
    def kgal(self) -> Decimal:
        """Thousand US gallons."""
        return self.gallons.scaleb(-3)

    @property
    def million_gallons(self) -> Decimal:
        return self.gallons.scaleb(-6)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleUsed:
    """One sample behind a mean, exact: with these the mean can be made again.

    mg_l: of a non-detect the limit it lies below, and it counts as zero; flow_gal: discharged on
    its day, None where there is no record of it.
    """

    day: date
    label: str
    point: str
    mg_l: Decimal
    is_non_detect: bool
    flow_gal: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Strength:
    """What a user's water held over a period, unrounded; sources: the samples it rests on."""

    mg_l: Decimal
    working: tuple[str, ...]
    sources: tuple[str, ...] = ()
    samples: tuple[SampleUsed, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalStrength:
    """The strength above which one pays, with the provision that sets it."""

    mg_l: Decimal
    citation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one user's bill of one period rests on."""

    period: Period
    category: Category
    meter_size: str
    volume: Volume
    strengths: Mapping[Parameter, Strength]


@dataclass(frozen=True, slots=True, kw_only=True)
class BillLine:
    """One charge. amount: rounded, once; unrounded: before that; rate: dollars for a unit."""

    code: str
    description: str
    quantity: Decimal
    unit: str
    rate: Decimal
    unrounded: Decimal
    amount: Decimal
    working: tuple[str, ...]
    sources: tuple[str, ...] = ()
    samples: tuple[SampleUsed, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """A period's charges under one tariff; the total is the sum of the rounded lines."""

    period: Period
    tariff: str
    tariff_sha256: str
    lines: tuple[BillLine, ...]
    notes: tuple[str, ...] = ()
    due_on: date | None = None

    @property
    def total(self) -> Decimal:
        """In dollars and whole cents."""
        return sum((line.amount for line in self.lines), Decimal("0.00"))
