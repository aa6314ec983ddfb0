"""Which class of user the figures point to: significant, hardly significant, middle tier.

They are arithmetic only; who is in a class is decided by the control authority, which may also
designate a user for other reasons. Source: 40 CFR 403.3(v) and 403.12(e)(3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from compliance.errors import InputError
from compliance.judging.capacity import middle_tier_flow

SIU_GPD = 25_000
SIU_SHARE = Fraction(5, 100)
NSCIU_GPD = 100
MIDDLE_TIER_GPD = 5_000
MIDDLE_TIER_PERCENT = Decimal("0.01")
"""Of what the plant is designed for, or of what its headworks may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discharge:
    """A user's average flows of a day, in gallons. Only process wastewater counts here."""

    process_gpd: Decimal
    sanitary_gpd: Decimal = Decimal(0)
    cooling_gpd: Decimal = Decimal(0)  # that touches nothing
    blowdown_gpd: Decimal = Decimal(0)  # of boilers

    @property
    def counted_gpd(self) -> Decimal:
        """What the classes are told by."""
        return self.process_gpd


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What a user takes of one of a plant's capacities, hydraulic or organic; both in one unit.

    name: as a sentence has it, such as "dry-weather flow".
    """

    name: str
    used: Decimal
    capacity: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Whether figures point to a class, and what they are; the reasons are one for each test."""

    points_to: bool
    why: tuple[str, ...]


def significant(
    discharge: Discharge, shares: Sequence[Share] = (), *, is_categorical: bool = False
) -> Points:
    """Whether a user is significant by its category, its process flow or its share of the plant.

    Both figures count when they are touched; another route, a designation, is a person's.
    Raises: InputError for a capacity of nothing.
    """
    flow = discharge.counted_gpd
    tests = [
        (is_categorical, f"{'' if is_categorical else 'no '}categorical standard binds it"),
        (flow >= SIU_GPD, f"process wastewater {flow} gpd, {_side(flow >= SIU_GPD)} {SIU_GPD} gpd"),
        *(_share_test(one) for one in shares),
    ]
    return Points(points_to=any(met for met, _ in tests), why=tuple(said for _, said in tests))


def _share_test(one: Share) -> tuple[bool, str]:
    if one.capacity <= 0:
        raise InputError(f"the plant's {one.name} is {one.capacity}; expected more than 0")
    met = Fraction(one.used) >= SIU_SHARE * Fraction(one.capacity)
    return met, f"{one.used} of {one.capacity} {one.name}, {_side(met)} 5 %"


def _side(met: bool) -> str:
    return "at or over" if met else "under"


def hardly_significant(greatest_gpd: Decimal, *, complied: bool, certified: bool,
                       untreated_concentrate: bool) -> Points:  # fmt: skip
    """Whether a categorical user may be a non-significant one.

    greatest_gpd: of all categorical wastewater on any day, never more than 100 gpd; complied: with
    its standards always before; certified: this year; untreated_concentrate: ever discharged.
    """
    tests = [
        (greatest_gpd <= NSCIU_GPD, f"at most {greatest_gpd} gpd on any day, of {NSCIU_GPD} gpd"),
        (complied, f"it {'has' if complied else 'has not'} complied with its standards before"),
        (certified, f"its yearly certificate is {'' if certified else 'not '}on file"),
        (
            not untreated_concentrate,
            f"untreated concentrate was {'' if untreated_concentrate else 'never '}discharged",
        ),
    ]
    return Points(points_to=all(met for met, _ in tests), why=tuple(said for _, said in tests))


@dataclass(frozen=True, slots=True, kw_only=True)
class MiddleTier:
    """The greatest categorical flow and loads of a user that may report once a year."""

    flow_gpd: Fraction
    organic_lb_day: Fraction | None
    pollutants_lb_day: tuple[tuple[str, Fraction], ...]


def middle_tier(
    *,
    design_mgd: Decimal,
    design_organic_lb_day: Decimal | None = None,
    headworks_lb_day: Sequence[tuple[str, Decimal]] = (),
) -> MiddleTier:
    """The ceilings of the middle tier: 0.01 % of each, and of flow the smaller of that and 5,000.

    design_mgd: dry-weather hydraulic capacity; design_organic_lb_day: dry-weather organic capacity,
    None where it is not known; headworks_lb_day: what the headworks may take of each pollutant with
    a local limit. Raises: InputError for a capacity of nothing.
    """
    if design_mgd <= 0:
        raise InputError(f"the plant's design flow is {design_mgd} MGD; expected more than 0")
    share = Fraction(MIDDLE_TIER_PERCENT) / 100
    return MiddleTier(
        flow_gpd=Fraction(
            middle_tier_flow(
                design_mgd, percent=MIDDLE_TIER_PERCENT, most_gpd=Decimal(MIDDLE_TIER_GPD)
            )
        ),
        organic_lb_day=None
        if design_organic_lb_day is None
        else Fraction(design_organic_lb_day) * share,
        pollutants_lb_day=tuple((name, Fraction(lb) * share) for name, lb in headworks_lb_day),
    )
