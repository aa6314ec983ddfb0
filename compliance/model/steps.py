"""How coarse a channel's step may be: a rounding that can still tell a finding from none."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from compliance.errors import InputError
from compliance.model.parameters import Parameter, label
from compliance.model.units import Unit, as_decimal, linear

_COARSEST: dict[Parameter, tuple[str, Unit]] = {
    Parameter.PH: ("0.1", Unit.SU),
    Parameter.TEMPERATURE: ("1", Unit.DEG_C),
    Parameter.ORP: ("10", Unit.MV),
    Parameter.CONDUCTIVITY: ("0.1", Unit.MS_CM),
    Parameter.CURRENT: ("0.1", Unit.MA),
    Parameter.LEVEL: ("0.1", Unit.M),
    Parameter.VELOCITY: ("0.1", Unit.M_S),
    Parameter.FLOW: ("100", Unit.GPM),
    Parameter.VOLUME: ("10000", Unit.GAL),
    Parameter.COUNT: ("1", Unit.COUNT),
    Parameter.CONTACT: ("1", Unit.STATE),
}
_OF_CONCENTRATIONS = ("1", Unit.MG_L)
_SHARE_OF_RANGE = Decimal("0.01")


def check(
    step: Decimal, parameter: Parameter, unit: Unit, *, spread: Decimal | None = None
) -> None:
    """Refuse a step that is not over 0 or so coarse that readings lose their meaning.

    unit: in which the step is; spread: the width of the instrument's range in that unit, None
    where it is not known: no more than a hundredth of it.
    Raises: InputError in one sentence.
    """
    if step <= 0:
        raise InputError(f"step is {step}; expected a number over 0")
    number, of = _COARSEST.get(parameter, _OF_CONCENTRATIONS)
    try:
        factor, _ = linear(of, unit)
    except InputError:
        return  # a unit of something else is refused where units are
    most = as_decimal(Fraction(number) * factor)
    if spread is not None:
        most = min(most, spread * _SHARE_OF_RANGE)
    if step > most:
        raise InputError(
            f"step is {step} {unit.value}; readings are rounded to it, so expected "
            f"{most:.6g} or less for {label(parameter)}, such as the last digit of the display"
        )
