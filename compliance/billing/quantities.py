"""Which gallons are charged: metered water of the city's record, for volume and for pounds."""

from __future__ import annotations

from decimal import Decimal

from compliance.billing.words import number
from compliance.errors import InputError
from compliance.model.billing import Volume


def metered_water(
    gallons: Decimal,
    *,
    reads: str | None,
    estimated: bool = False,
    discharge_gal: Decimal | None = None,
) -> Volume:
    """The volume of a period. reads: the meter's readings in words.

    discharge_gal: what the user's own discharge meter showed: printed beside with the difference,
    and charged only after a recorded determination, which this release does not know.
    Raises: InputError for a volume below zero.
    """
    if gallons < 0:
        raise InputError(
            f"metered water is {gallons} gal; expected no less than 0: check the reads"
        )
    how = "estimated" if estimated else "metered"
    lines = [f"Water {how} by the city's record: {number(gallons)} gal"]
    if reads:
        lines.append(reads)
    if discharge_gal is not None:
        difference = discharge_gal - gallons
        sign = "more" if difference >= 0 else "less"
        lines.append(
            f"The discharge meter showed {number(discharge_gal)} gal, {number(abs(difference))} "
            f"gal {sign}: not charged, since no determination makes it the bill's meter"
        )
    return Volume(gallons=gallons, estimated=estimated, working=tuple(lines))
