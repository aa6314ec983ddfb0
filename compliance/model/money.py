"""Dollars: decimals, rounded half up, once."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


def dollars(amount: Decimal) -> Decimal:
    """An amount in whole cents, half up. One caller, the bill line: rounding twice is a fault."""
    return amount.quantize(CENT, rounding=ROUND_HALF_UP)
