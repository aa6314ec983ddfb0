"""Limits where streams meet: the combined wastestream formula, and limits made from production.

Source: 40 CFR 403.6(c) and (e). A control authority sets such a limit; this is its arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from compliance.errors import InputError
from compliance.judging.averaging import written
from compliance.judging.loading import Number, converted, mass, refuse_mass, strength_of
from compliance.model.parameters import Parameter, label
from compliance.model.units import Unit

LONGEST_KNOWN = 30
"""Days that a flow in the formula is averaged over, at least."""


class StreamKind(StrEnum):
    """What a stream is in the formula. Unregulated process water is not dilute: it dilutes no
    limit, and to write it as dilute makes every limit too strict.
    """

    REGULATED = "regulated"  # under a categorical standard for this pollutant
    UNREGULATED = "unregulated"  # process water without such a standard
    DILUTE = "dilute"  # blowdown, non-contact cooling, stormwater, sanitary, and what is exempt


class Form(StrEnum):
    """What the standards of the regulated streams are written in."""

    CONCENTRATION = "concentration"  # mg/L
    MASS = "mass"  # lb/day


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A stream into the combined treatment.

    gpd: its average flow, over ``days`` days; daily_max, average: the standard of a regulated
    stream, in mg/L or lb/day by the form; None where it has none.
    """

    name: str
    kind: StreamKind
    gpd: Number
    days: int
    daily_max: Number | None = None
    average: Number | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """One alternative limit, unrounded; usable: None of its reasons speaks against it."""

    value: Fraction
    unit: Unit
    usable: bool
    why: str
    working: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """The alternative limits of a combined stream: both, where the standards have both."""

    parameter: Parameter
    total_gpd: Fraction
    daily_max: Alternative | None
    average: Alternative | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flows:
    regulated: Fraction
    dilute: Fraction
    total: Fraction


def combined_limits(
    parameter: Parameter,
    streams: Sequence[Stream],
    *,
    form: Form = Form.CONCENTRATION,
    detection: Number | None = None,
    pound_factor: Decimal | None = None,
) -> Combined:
    """The alternative limits of streams that mix before they are treated.

    detection: what the method can see, in mg/L; a limit below it is not usable. pound_factor: for a
    mass limit, whose strength in the total flow is laid beside the detection limit.
    Raises: InputError for a stream or a form that cannot be.
    """
    refuse_mass(parameter)
    flows = _flows(parameter, streams)
    regulated = [one for one in streams if one.kind is StreamKind.REGULATED]
    least = _Least(detection=detection, pound_factor=pound_factor, flows=flows)
    return Combined(
        parameter=parameter,
        total_gpd=flows.total,
        daily_max=_alternative(regulated, [one.daily_max for one in regulated], form, least),
        average=_alternative(regulated, [one.average for one in regulated], form, least),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Least:
    detection: Number | None
    pound_factor: Decimal | None
    flows: _Flows

    def mg_l(self, value: Fraction, form: Form) -> Fraction:
        """A limit as a strength in the total flow."""
        if form is Form.CONCENTRATION:
            return value
        if self.pound_factor is None:
            raise InputError(
                "a mass limit stands beside a detection limit in mg/L, and no pound factor is "
                "given; expected the ordinance's, such as 8.34"
            )
        mgd = self.flows.total / 1_000_000
        return strength_of(value, mgd, pound_factor=self.pound_factor)

    def hides(self, value: Fraction, form: Form) -> bool:
        """Whether the method cannot see a limit."""
        return self.detection is not None and self.mg_l(value, form) < Fraction(self.detection)


def _flows(parameter: Parameter, streams: Sequence[Stream]) -> _Flows:
    for one in streams:
        _check(one)
    by_kind = {
        kind: sum((Fraction(one.gpd) for one in streams if one.kind is kind), Fraction(0))
        for kind in StreamKind
    }
    if by_kind[StreamKind.REGULATED] <= 0:
        raise InputError(
            f"{label(parameter)}: no regulated stream flows; expected one at least: without it "
            "there is no categorical limit to combine"
        )
    return _Flows(
        regulated=by_kind[StreamKind.REGULATED],
        dilute=by_kind[StreamKind.DILUTE],
        total=sum(by_kind.values(), Fraction(0)),
    )


def _check(one: Stream) -> None:
    if Fraction(one.gpd) < 0:
        raise InputError(f"stream {one.name}: its flow is {one.gpd} gpd; expected 0 or more")
    if one.days < LONGEST_KNOWN:
        raise InputError(
            f"stream {one.name}: its flow is averaged over {one.days} days; expected "
            f"{LONGEST_KNOWN} or more: average it over a longer record"
        )
    has_standard = one.daily_max is not None or one.average is not None
    if (one.kind is StreamKind.REGULATED) != has_standard:
        raise InputError(
            f"stream {one.name} is {one.kind.value} and has {'a' if has_standard else 'no'} "
            "standard; expected one for regulated streams, and for no other"
        )
    if any(Fraction(n) < 0 for n in (one.daily_max, one.average) if n is not None):
        raise InputError(f"stream {one.name}: a standard is below 0; expected 0 or more")


def _alternative(
    streams: Sequence[Stream], standards: Sequence[Number | None], form: Form, least: _Least
) -> Alternative | None:
    """One limit from the standards of one length; None where no stream has such a one."""
    given = [Fraction(number) for number in standards if number is not None]
    if not given:
        return None
    if len(given) < len(streams):
        missing = next(s for s, n in zip(streams, standards, strict=True) if n is None)
        raise InputError(
            f"stream {missing.name} lacks a standard that another regulated stream has; expected "
            "both of the same length of time for all of them"
        )
    value, said = _combined(streams, given, form, least.flows)
    unit = Unit.MG_L if form is Form.CONCENTRATION else Unit.LB_DAY
    hidden = least.hides(value, form)
    why = f"alternative limit below the detection limit of {least.detection} mg/L" if hidden else ""
    return Alternative(
        value=value,
        unit=unit,
        usable=not hidden,
        why=why,
        working=(
            said,
            *((f"{why}: not usable; limit the streams before they meet",) if why else ()),
        ),
    )


def _combined(
    streams: Sequence[Stream], standards: Sequence[Fraction], form: Form, flows: _Flows
) -> tuple[Fraction, str]:
    beside = flows.total - flows.dilute
    ends = f"({_gpd(flows.total)} − {_gpd(flows.dilute)} dilute)"
    if form is Form.MASS:
        total = sum(standards, Fraction(0))
        value = total * beside / flows.regulated
        return value, (
            f"{written(total)} lb/day × {ends} ÷ {_gpd(flows.regulated)} regulated = "
            f"{written(value)} lb/day"
        )
    mean = weighted_mean([(c, one.gpd) for c, one in zip(standards, streams, strict=True)])
    value = mean * beside / flows.total
    return value, (
        f"{written(mean)} mg/L, weighted by regulated flow, × {ends} ÷ {_gpd(flows.total)} = "
        f"{written(value)} mg/L"
    )


def _gpd(flow: Fraction) -> str:
    return f"{written(flow)} gpd"


def weighted_mean(parts: Sequence[tuple[Number, Number]]) -> Fraction:
    """Σ C·F ÷ Σ F: for streams that mix after treatment, and for the standards of those before.

    parts: strength and flow of each. Raises: InputError where nothing flows.
    """
    total = sum((Fraction(flow) for _, flow in parts), Fraction(0))
    if total <= 0 or any(Fraction(flow) < 0 for _, flow in parts):
        raise InputError("the flows of a weighted mean must be 0 or more, and not all 0")
    return sum((Fraction(c) * Fraction(flow) for c, flow in parts), Fraction(0)) / total


# -- limits from another form


@dataclass(frozen=True, slots=True, kw_only=True)
class MassConditions:
    """What a user shows before a limit in mg/L becomes one in pounds: each with its evidence.

    A text that is empty was not shown.
    """

    saves_water: str
    treats_enough: str
    measures_flow: str  # with a continuous meter of the effluent
    runs_steadily: str
    complied_before: str

    @property
    def missing(self) -> tuple[str, ...]:
        """The conditions without evidence, in words."""
        told = {
            "water is saved": self.saves_water,
            "treatment is adequate without dilution": self.treats_enough,
            "a continuous meter measures the effluent": self.measures_flow,
            "flow, production and strength are steady": self.runs_steadily,
            "standards were complied with before": self.complied_before,
        }
        return tuple(words for words, shown in told.items() if not shown.strip())


def equivalent_mass(
    parameter: Parameter,
    mg_l: Number,
    mean_gpd: Number,
    *,
    pound_factor: Decimal,
    conditions: MassConditions,
) -> Alternative:
    """A limit in lb/day in the place of one in mg/L; the flow is the same for both lengths of time.

    mean_gpd: the long-term average flow of the regulated process. It is usable only where all five
    conditions were shown. Raises: InputError for pH, temperature and the like.
    """
    refuse_mass(parameter)
    found = mass(mg_l, mean_gpd, pound_factor=pound_factor)
    lacking = conditions.missing
    return Alternative(
        value=found.value,
        unit=Unit.LB_DAY,
        usable=not lacking,
        why=f"not shown: {'; '.join(lacking)}" if lacking else "",
        working=found.working,
    )


def production_mass(
    parameter: Parameter, lb_per_thousand: Number, production_lb_day: Number
) -> Alternative:
    """A limit in lb/day from a standard in pounds for each thousand pounds of product.

    production_lb_day: the long-term average, not a capacity. Raises: InputError.
    """
    refuse_mass(parameter)
    if Fraction(production_lb_day) <= 0:
        raise InputError(f"production is {production_lb_day} lb/day; expected more than 0")
    value = Fraction(lb_per_thousand) * Fraction(production_lb_day) / 1000
    said = (
        f"{lb_per_thousand} lb per 1,000 lb × {production_lb_day} lb/day = {written(value)} lb/day"
    )
    return Alternative(value=value, unit=Unit.LB_DAY, usable=True, why="", working=(said,))


def production_strength(
    parameter: Parameter, lb_day: Number, mean_gpd: Number, *, pound_factor: Decimal
) -> Alternative:
    """A limit in mg/L from one in lb/day and the long-term average flow. Raises: InputError."""
    refuse_mass(parameter)
    mgd = converted(mean_gpd, Unit.GPD, Unit.MGD)
    value = strength_of(lb_day, mgd, pound_factor=pound_factor)
    said = (
        f"{lb_day} lb/day ÷ ({mean_gpd} gpd ÷ 1,000,000 × {pound_factor}) = {written(value)} mg/L"
    )
    return Alternative(value=value, unit=Unit.MG_L, usable=True, why="", working=(said,))


def mass_per_product(
    mg_l: Number, kgal_per_unit: Number, *, pound_factor: Decimal, thousand_lb_per_unit: Number
) -> Fraction:
    """A standard in mg/L of a given water use as pounds for each thousand pounds of product.

    kgal_per_unit: thousand gallons of water for each unit of product, which weighs
    ``thousand_lb_per_unit``. Raises: InputError.
    """
    if Fraction(thousand_lb_per_unit) <= 0:
        raise InputError(f"a unit weighs {thousand_lb_per_unit} thousand lb; expected more than 0")
    pounds = mass(mg_l, kgal_per_unit, pound_factor=pound_factor, volume_unit=Unit.KGAL).value
    return pounds / Fraction(thousand_lb_per_unit)
