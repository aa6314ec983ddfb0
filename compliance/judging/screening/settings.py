"""The thresholds of a parameter as a channel has them: in its own unit, within its own span."""

from __future__ import annotations

from decimal import Decimal

from compliance.judging.screening.cross import Rinse
from compliance.judging.screening.passes import Attenuated, FlatLine, Settings
from compliance.model.units import Unit, linear
from compliance.rules.screening import RinseSteps, Thresholds


def settings_for(
    of: Thresholds, *, version: str, unit: Unit, span: tuple[float, float] | None
) -> Settings | None:
    """Thresholds for a channel; None where they are shares of a span that it has not.

    unit: of the channel; span: its lowest and highest, in that unit.
    Raises: UnitMismatch.
    """
    if of.share_of_span:
        if span is None:
            return None
        factor, offset = span[1] - span[0], span[0]
    else:
        assert of.unit is not None
        factor, offset = (float(each) for each in linear(of.unit, unit))

    def level(number: Decimal) -> float:
        return float(number) * factor + offset

    def step(number: Decimal) -> float:
        return float(number) * abs(factor)

    return Settings(
        version=version,
        fail=None if of.fail is None else (level(of.fail[0]), level(of.fail[1])),
        suspect=None if of.suspect is None else (level(of.suspect[0]), level(of.suspect[1])),
        spike=None if of.spike is None else step(of.spike),
        most_per_second=None if of.most_per_second is None else step(of.most_per_second),
        flat=None
        if of.flat is None
        else FlatLine(
            suspect_seconds=of.flat.seconds,
            fail_seconds=of.flat.seconds,
            tolerance=step(of.flat.tolerance),
            zero_is_flat=of.flat.zero_is_flat,
        ),
        attenuated=None
        if of.attenuated is None
        else Attenuated(seconds=of.attenuated.seconds, suspect_below=step(of.attenuated.below)),
        gap_seconds=of.gap_seconds,
    )


def rinse_for(of: RinseSteps, *, temperature_unit: Unit) -> Rinse:
    """The steps of a rinse for a point's channels. Raises: UnitMismatch."""
    factor = abs(float(linear(of.temperature_unit, temperature_unit)[0]))
    return Rinse(
        ph_step=float(of.ph),
        temperature_step=float(of.temperature) * factor,
        seconds=of.seconds,
        longest_seconds=of.longest_seconds,
    )
