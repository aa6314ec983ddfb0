"""Loads: strength times volume."""

from __future__ import annotations

from decimal import Decimal


def load_lb(*, mg_l: Decimal, million_gallons: Decimal, pound_factor: Decimal) -> Decimal:
    """Pounds in a volume of water, unrounded.

    mg_l: strength in mg/L; million_gallons: volume in million US gallons; pound_factor: pounds per
    million gallons for each mg/L, a number of the ordinance (Monona defines 8.34), never ours.
    """
    return mg_l * million_gallons * pound_factor
