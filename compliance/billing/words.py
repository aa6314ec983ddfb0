"""Numbers as a bill prints them: exact where they are short, never rounded in silence."""

from __future__ import annotations

from decimal import Decimal

_PLACES = 6


def number(value: Decimal) -> str:
    """A number without idle zeros; more than six decimals are cut with a mark of it."""
    rounded = round(value, _PLACES)
    text = f"{rounded:,f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text if rounded == value else f"{text}…"


def money(amount: Decimal) -> str:
    """Dollars, with at least two decimals."""
    exact = amount if amount.as_tuple().exponent == -2 else amount.normalize()
    places = max(2, -int(exact.as_tuple().exponent))
    return f"${exact:,.{places}f}" if places <= _PLACES else f"${round(amount, _PLACES):,f}…"
