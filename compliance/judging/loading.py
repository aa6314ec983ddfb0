"""Mass and flow: what a strength and a volume weigh, and limits on one written as the other.

All numbers are exact fractions; they are rounded only where they are printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

from compliance.errors import InputError
from compliance.judging.averaging import written
from compliance.model.loads import load_lb
from compliance.model.parameters import CONCENTRATIONS, Parameter, label
from compliance.model.periods import Window, day_of
from compliance.model.units import Unit, linear

Number = Decimal | Fraction | int
"""An exact number: never a float."""
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A number in its unit, exact, and how it came about."""

    value: Fraction
    unit: Unit
    working: tuple[str, ...]


def converted(value: Number, source: Unit, target: Unit) -> Fraction:
    """A number in another unit of its kind, exactly. Raises: UnitMismatch."""
    factor, offset = linear(source, target)
    return Fraction(value) * factor + offset


def is_weighed(parameter: Parameter) -> bool:
    """Whether a parameter is a mass in a volume of water: pH and temperature are not."""
    return parameter in CONCENTRATIONS


def refuse_mass(parameter: Parameter) -> None:
    """Raises: InputError where a parameter has no mass."""
    if not is_weighed(parameter):
        raise InputError(
            f"{label(parameter)} is no mass in water; expected one such as zinc or bod5 for "
            "a limit in pounds: write its limit in its own unit"
        )


def mass(
    strength: Number, volume: Number, *, pound_factor: Decimal,
    strength_unit: Unit = Unit.MG_L, volume_unit: Unit = Unit.GAL,
) -> Amount:  # fmt: skip
    """Pounds in a volume of water.

    pound_factor: pounds per million gallons for each mg/L, a number of the ordinance.
    Raises: UnitMismatch; InputError for a number below zero.
    """
    mg_l = converted(strength, strength_unit, Unit.MG_L)
    million = converted(volume, volume_unit, Unit.GAL) / _MILLION
    _refuse_negative(mg_l, "strength", "mg/L")
    _refuse_negative(million, "volume", "million gallons")
    pounds = load_lb(mg_l=mg_l, million_gallons=million, pound_factor=Fraction(pound_factor))
    said = (
        f"{written(mg_l)} mg/L × {_short(million)} million gallons × {pound_factor} = "
        f"{written(pounds)} lb"
    )
    return Amount(value=pounds, unit=Unit.LB, working=(said,))


def _refuse_negative(value: Fraction, what: str, unit: str) -> None:
    if value < 0:
        raise InputError(
            f"{what} is {written(value)} {unit}; expected no less than 0: check its source"
        )


def _short(value: Fraction) -> str:
    """With six decimals at least, for volumes in millions."""
    return f"{round(value * _MILLION) / Decimal(_MILLION):f}"


def days_of(window: Window, zone: ZoneInfo) -> int:
    """How many days a composite stands for: midnights between its ends, and never under one.

    Eight hours of a shift are the mass of their day as it is; nothing is stretched to 24 hours.
    """
    passed = (day_of(window.end, zone) - day_of(window.start, zone)).days
    return max(1, passed)


def per_day(of: Amount, days: int) -> Amount:
    """Pounds of a composite as pounds a day over the days it stands for.

    Raises: InputError for less than a day, or for what is no mass.
    """
    if days < 1 or of.unit is not Unit.LB:
        raise InputError(
            f"found {of.unit.value} over {days} days; expected lb over one day or more"
        )
    value = of.value / days
    over = (f"over {days} days: {written(value)} lb/day",) if days > 1 else ()
    return Amount(value=value, unit=Unit.LB_DAY, working=of.working + over)


def day_mass(parts: Sequence[Amount]) -> Amount:
    """The pounds of one day from parts of it that do not overlap, however it was split.

    Raises: InputError where there is no part: nothing measured is not nothing discharged.
    """
    if not parts:
        raise InputError("no part of the day was measured; expected one at least")
    total = sum((part.value for part in parts), Fraction(0))
    working = tuple(line for part in parts for line in part.working)
    added = (f"together {written(total)} lb",) if len(parts) > 1 else ()
    return Amount(value=total, unit=Unit.LB, working=working + added)


def month_mass(
    strength: Number, volumes: Sequence[tuple[date, Number | None]], *, pound_factor: Decimal
) -> Amount:
    """The pounds of a month: its strength in mg/L times the volume of all its days, in gallons.

    volumes: of each day of it; None: no record.
    Raises: InputError naming the first day without a record: missing is not zero.
    """
    for day, gallons in volumes:
        if gallons is None:
            raise InputError(
                f"{day.isoformat()} has no record of its volume; expected one for each day of the "
                "month: enter it, or zero where nothing was discharged"
            )
    total = sum((Fraction(gallons) for _, gallons in volumes if gallons is not None), Fraction(0))
    return mass(strength, total, pound_factor=pound_factor)


def by_factor(lb_per_million_gallons: Number, flow_mgd: Number) -> Amount:
    """Pounds a day where the loading is given per million gallons: 8.34 is in it already."""
    value = Fraction(lb_per_million_gallons) * Fraction(flow_mgd)
    said = (
        f"{lb_per_million_gallons} lb per million gallons × {flow_mgd} MGD = {written(value)} "
        "lb/day"
    )
    return Amount(value=value, unit=Unit.LB_DAY, working=(said,))


def strength_of(lb_day: Number, flow_mgd: Number, *, pound_factor: Decimal) -> Fraction:
    """The mg/L that a load is in a flow. Raises: InputError without a flow."""
    if Fraction(flow_mgd) <= 0:
        raise InputError(
            f"the flow is {flow_mgd} MGD; expected more than 0: a load has no strength"
        )
    return Fraction(lb_day) / (Fraction(flow_mgd) * Fraction(pound_factor))


def concentration_limit(
    lb_day: Number, flow_mgd: Number, *, pound_factor: Decimal, kept_back: Number = 0
) -> Amount:
    """A limit in mg/L from the pounds that one user may discharge a day.

    kept_back: the share, 0 up to 1, that is held in reserve first.
    Raises: InputError.
    """
    if not 0 <= Fraction(kept_back) < 1:
        raise InputError(f"the reserve is {kept_back}; expected a share from 0 up to 1")
    left = Fraction(lb_day) * (1 - Fraction(kept_back))
    value = strength_of(left, flow_mgd, pound_factor=pound_factor)
    said = (
        f"{lb_day} lb/day less {written(100 * Fraction(kept_back))} % = {_short(left)} lb/day; "
        f"÷ ({flow_mgd} MGD × {pound_factor}) = {written(value)} mg/L"
    )
    return Amount(value=value, unit=Unit.MG_L, working=(said,))


def mean_flow(gallons: Number, seconds: int, unit: Unit = Unit.GPM) -> Amount:
    """The average rate of a volume over a length of time, for a limit on flow over any average.

    Raises: InputError without time; UnitMismatch.
    """
    if seconds <= 0:
        raise InputError(f"the time is {seconds} s; expected more than 0: a volume has no rate")
    value = converted(Fraction(gallons) * 60 / seconds, Unit.GPM, unit)
    said = f"{gallons} gal in {seconds} s = {written(value)} {unit.value}"
    return Amount(value=value, unit=unit, working=(said,))


def greatest_flow(
    pieces: Sequence[tuple[int, Number]], *, seconds: int, unit: Unit = Unit.GPM
) -> Amount | None:
    """The greatest average flow over so many seconds, among windows that begin with a piece.

    pieces: gallons of neighbouring pieces of equal length with the instant each begins at, in
    whole seconds. None where no window is whole: a hole in the record is not a low flow.
    Raises: InputError where the seconds are no multiple of a piece.
    """
    if len(pieces) < 2:
        return mean_flow(pieces[0][1], seconds, unit) if pieces else None
    length = min(later[0] - one[0] for one, later in zip(pieces, pieces[1:], strict=False))
    if length <= 0 or seconds % length:
        raise InputError(
            f"an average of {seconds} s cannot be made of pieces of {length} s; expected a multiple"
        )
    count = seconds // length
    runs = [pieces[n : n + count] for n in range(len(pieces) - count + 1)]
    whole = [run for run in runs if run[-1][0] - run[0][0] == (count - 1) * length]
    sums = [sum((Fraction(gallons) for _, gallons in run), Fraction(0)) for run in whole]
    return mean_flow(max(sums), seconds, unit) if sums else None


def hours_to_pass(gallons: Number, flow_gpm: Number) -> Fraction:
    """How long a volume takes at a rate, in hours. Raises: InputError without a flow."""
    if Fraction(flow_gpm) <= 0:
        raise InputError(
            f"the flow is {flow_gpm} gpm; expected more than 0: the volume never passes"
        )
    return Fraction(gallons) / Fraction(flow_gpm) / 60


def aliquots(flows: Sequence[Number], composite_ml: Number) -> tuple[Fraction, ...]:
    """The volume to take of each grab for a composite in proportion to flow, in mL.

    Raises: InputError where nothing flowed, or a flow is below zero.
    """
    total = sum((Fraction(flow) for flow in flows), Fraction(0))
    if total <= 0 or any(Fraction(flow) < 0 for flow in flows):
        raise InputError("the flows of a composite must be 0 or more, and not all 0")
    return tuple(Fraction(composite_ml) * Fraction(flow) / total for flow in flows)
