"""Units and quantities: exact conversions between the units of a sewer, and no others."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from enum import StrEnum
from fractions import Fraction

from compliance.errors import InputError, UnitMismatch


class Unit(StrEnum):
    """Spelled as ``contracts.md`` spells them; input may spell them otherwise (``unit()``)."""

    GPM = "gpm"
    GPD = "gpd"
    MGD = "MGD"
    M3_H = "m3/h"
    M3_S = "m3/s"
    L_S = "L/s"
    GAL = "gal"
    KGAL = "kgal"
    CCF = "ccf"
    M3 = "m3"
    SU = "s.u."
    DEG_F = "degF"
    DEG_C = "degC"
    MG_L = "mg/L"
    UG_L = "ug/L"
    LB = "lb"
    LB_DAY = "lb/day"
    MS_CM = "mS/cm"
    MA = "mA"
    MV = "mV"
    FT = "ft"
    M = "m"
    FT_S = "ft/s"
    M_S = "m/s"
    PERCENT = "%"
    COUNT = "count"
    STATE = "state"
    IN = "in"
    CM = "cm"
    L = "L"
    CFS = "cfs"
    V = "V"
    K = "K"


GALLON_M3 = Fraction("0.003785411784")
"""Cubic metres in a US gallon, exact by definition (231 cubic inches)."""

_FT_M = Fraction("0.3048")

# unit: (dimension, factor to the dimension's base unit)
_FACTOR: dict[Unit, tuple[str, Fraction]] = {
    Unit.GPM: ("flow", Fraction(1)),
    Unit.GPD: ("flow", Fraction(1, 1440)),
    Unit.MGD: ("flow", Fraction(1_000_000, 1440)),
    Unit.M3_H: ("flow", 1 / (GALLON_M3 * 60)),
    Unit.M3_S: ("flow", 60 / GALLON_M3),
    Unit.L_S: ("flow", Fraction(60, 1000) / GALLON_M3),
    Unit.GAL: ("volume", Fraction(1)),
    Unit.KGAL: ("volume", Fraction(1000)),
    Unit.CCF: ("volume", 100 * _FT_M**3 / GALLON_M3),
    Unit.M3: ("volume", 1 / GALLON_M3),
    Unit.SU: ("ph", Fraction(1)),
    Unit.MG_L: ("concentration", Fraction(1)),
    Unit.UG_L: ("concentration", Fraction(1, 1000)),
    Unit.LB: ("mass", Fraction(1)),
    Unit.LB_DAY: ("load", Fraction(1)),
    Unit.MS_CM: ("conductivity", Fraction(1)),
    Unit.MA: ("current", Fraction(1)),
    Unit.MV: ("potential", Fraction(1)),
    Unit.FT: ("length", Fraction(1)),
    Unit.M: ("length", 1 / _FT_M),
    Unit.FT_S: ("speed", Fraction(1)),
    Unit.M_S: ("speed", 1 / _FT_M),
    Unit.PERCENT: ("share", Fraction(1)),
    Unit.COUNT: ("count", Fraction(1)),
    Unit.STATE: ("state", Fraction(1)),
    Unit.DEG_F: ("temperature", Fraction(1)),
    Unit.DEG_C: ("temperature", Fraction(9, 5)),
    Unit.IN: ("length", Fraction(1, 12)),
    Unit.CM: ("length", Fraction(1, 100) / _FT_M),
    Unit.L: ("volume", Fraction(1, 1000) / GALLON_M3),
    Unit.CFS: ("flow", 60 * _FT_M**3 / GALLON_M3),
    Unit.V: ("potential", Fraction(1000)),
    Unit.K: ("temperature", Fraction(9, 5)),
}
_OFFSET = {Unit.DEG_C: Fraction(32), Unit.K: Fraction("-459.67")}

_SPELLINGS: dict[str, Unit] = {
    "su": Unit.SU,
    "s.u": Unit.SU,
    "ph": Unit.SU,
    "std units": Unit.SU,
    "standard units": Unit.SU,
    "f": Unit.DEG_F,
    "°f": Unit.DEG_F,
    "deg f": Unit.DEG_F,
    "º f": Unit.DEG_F,
    "ºf": Unit.DEG_F,
    "° f": Unit.DEG_F,
    "c": Unit.DEG_C,
    "°c": Unit.DEG_C,
    "ºc": Unit.DEG_C,
    "deg c": Unit.DEG_C,
    "° c": Unit.DEG_C,
    "ppm": Unit.MG_L,
    "mg/liter": Unit.MG_L,
    "mg/litre": Unit.MG_L,
    "ppb": Unit.UG_L,
    "µg/l": Unit.UG_L,
    "μg/l": Unit.UG_L,
    "mcg/l": Unit.UG_L,
    "gal/min": Unit.GPM,
    "gallons per minute": Unit.GPM,
    "gal/day": Unit.GPD,
    "gallons per day": Unit.GPD,
    "m³/h": Unit.M3_H,
    "m3/hr": Unit.M3_H,
    "m³/s": Unit.M3_S,
    "lps": Unit.L_S,
    "gallons": Unit.GAL,
    "gallon": Unit.GAL,
    "m³": Unit.M3,
    "lbs": Unit.LB,
    "lbs/day": Unit.LB_DAY,
    "lb/d": Unit.LB_DAY,
    "percent": Unit.PERCENT,
}


def unit(spelling: str) -> Unit:
    """The unit that ``spelling`` means, whatever its case.

    Raises: InputError naming the spelling and the units we know.
    """
    key = " ".join(spelling.split()).casefold()
    found = _BY_NAME.get(key) or _SPELLINGS.get(key)
    if found is None:
        raise InputError(
            f"unit {spelling!r} is not known; expected one of {', '.join(u.value for u in Unit)}"
        )
    return found


_BY_NAME = {u.value.casefold(): u for u in Unit}


def linear(source: Unit, target: Unit) -> tuple[Fraction, Fraction]:
    """``(factor, offset)`` such that target value = source value × factor + offset, exactly.

    Raises: UnitMismatch when the two measure different things.
    """
    (kind, factor), (target_kind, target_factor) = _FACTOR[source], _FACTOR[target]
    if kind != target_kind:
        raise UnitMismatch(f"{source.value} measures {kind}, {target.value} {target_kind}")
    offset = _OFFSET.get(source, Fraction(0)) - _OFFSET.get(target, Fraction(0))
    return factor / target_factor, offset / target_factor


def dimension(of: Unit) -> str:
    """What a unit measures: ``flow``, ``volume``, ``temperature`` …"""
    return _FACTOR[of][0]


def as_decimal(value: Fraction) -> Decimal:
    """A fraction as a Decimal, exact where it can be, else to 28 digits."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def rounded(value: Decimal, places: int) -> Decimal:
    """A number to so many decimals, half to even, however large it is.

    ``round`` refuses what needs more digits than the default context has.
    """
    digits = max(28, value.adjusted() + places + 2)
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN)
    return value.quantize(Decimal(1).scaleb(-places), context=context)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number with its unit."""

    value: Decimal
    unit: Unit

    def to(self, target: Unit) -> Quantity:
        """The same quantity in another unit of its kind, unrounded.

        Raises: UnitMismatch.
        """
        if target == self.unit:
            return self
        factor, offset = linear(self.unit, target)
        return Quantity(value=as_decimal(Fraction(self.value) * factor + offset), unit=target)

    def __str__(self) -> str:
        return f"{self.value} {self.unit.value}"


def significant_digits(text: str) -> int:
    """How many digits of a written number carry meaning: 0.0150 has three."""
    mantissa = text.casefold().split("e")[0].lstrip("+-")
    return max(1, len(mantissa.replace(".", "").lstrip("0")))


def shown(value: Decimal, *, written: str, limit: Decimal | None = None) -> str:
    """A converted number for print: at least two decimals and the digits the input had.

    More decimals are added while the rounded number would not differ from a ``limit`` that the
    unrounded one passes.
    """
    places = max(2, significant_digits(written) - 1 - value.adjusted())
    for more in range(places, places + 28):
        near = rounded(value, more)
        if limit is None or value == limit or (near != limit and (near > limit) == (value > limit)):
            return f"{near:f}"
    return f"{value:f}"
