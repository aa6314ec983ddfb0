"""Loads: strength times volume."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

Number = TypeVar("Number", Decimal, Fraction)
"""Decimal where it is billed, Fraction where it is judged; never the two in one."""


def load_lb(*, mg_l: Number, million_gallons: Number, pound_factor: Number) -> Number:
    """Pounds in a volume of water, unrounded.

    mg_l: strength in mg/L; million_gallons: volume in million US gallons; pound_factor: pounds per
    million gallons for each mg/L, a number of the ordinance (Monona defines 8.34), never ours.
    """
    return mg_l * million_gallons * pound_factor
