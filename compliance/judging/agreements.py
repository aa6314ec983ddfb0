"""The share of a plant's average-day design that one user takes: the 10 % test and its working."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from compliance.errors import InsufficientData
from compliance.model.parameters import Parameter, label
from compliance.model.periods import add_months
from compliance.model.units import as_decimal, rounded

LOADS = (Parameter.BOD5, Parameter.TSS, Parameter.TP)
"""Besides flow, what the test is made on."""

_MILLION = 1_000_000


class Reach(StrEnum):
    """How near a share is to the trigger."""

    BELOW = "below"
    APPROACHING = "approaching"
    REACHED = "reached"
    PROJECTED = "projected"  # at or over it, on less than the months of the rule


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadDay:
    """One user's civil day. flow_gpd: None is no record, zero a day without discharge.

    sanitary_gpd: of the flow, deducted; strengths: mg/L by parameter, only of days with a sample.
    """

    day: date
    flow_gpd: Decimal | None
    sanitary_gpd: Decimal = Decimal(0)
    strengths: Mapping[Parameter, Decimal] = field(default_factory=dict)

    @property
    def industrial_gpd(self) -> Fraction | None:
        """Industrial wastewater of the day, never below zero."""
        if self.flow_gpd is None:
            return None
        return max(Fraction(self.flow_gpd) - Fraction(self.sanitary_gpd), Fraction(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A plant's average-day design, and the document its figures are from."""

    flow_mgd: Decimal
    loads_lb_day: Mapping[Parameter, Decimal]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """The numbers of the rule: shares in percent, and the months they are taken over."""

    at_least: Decimal
    approaching: Decimal
    months: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One of the four tests. percent: unrounded, None without a sample; text: as people read it."""

    parameter: Parameter
    percent: Fraction | None
    text: str | None
    reach: Reach
    samples: int | None  # None for flow, which has none
    working: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The four tests over the months that end with ``as_of``."""

    as_of: date
    since: date
    days: int  # with a record
    projected: bool
    shares: tuple[Share, ...]

    @property
    def required(self) -> bool:
        """Whether the figures reach the trigger; the Director determines."""
        return any(share.reach is Reach.REACHED for share in self.shares)

    @property
    def by(self) -> tuple[Parameter, ...]:
        """The tests that reach it, or would by the projection."""
        reached = (Reach.REACHED, Reach.PROJECTED)
        return tuple(share.parameter for share in self.shares if share.reach in reached)


def shares(
    days: Iterable[LoadDay], design: Design, *, pound_factor: Decimal, trigger: Trigger
) -> Shares:
    """The four shares over the months of the rule that end with the last day given.

    Flow is the mean over all days with a record, days without discharge too; a load is the
    flow-weighted strength of the sampled days times that mean. Days without a record are left out
    and counted out. A record shorter than the months is projected, never required.

    Raises: InsufficientData when no day has a record of flow.
    """
    given = sorted(days, key=lambda day: day.day)
    if not given:
        raise InsufficientData("no day of flow is given")
    as_of = given[-1].day
    since = add_months(as_of + timedelta(days=1), -trigger.months)
    recorded = [day for day in given if day.day >= since and day.industrial_gpd is not None]
    if not recorded:
        raise InsufficientData(f"no record of flow between {since} and {as_of}")
    flow = sum(_flows(recorded), Fraction(0)) / len(recorded)
    projected = recorded[0].day > since
    found = [_flow_share(flow, recorded, design, trigger=trigger, projected=projected)]
    for parameter in LOADS:
        found.append(
            _load_share(
                parameter,
                recorded,
                design,
                flow_mgd=flow / _MILLION,
                pound_factor=pound_factor,
                trigger=trigger,
                projected=projected,
            )
        )
    return Shares(
        as_of=as_of, since=since, days=len(recorded), projected=projected, shares=tuple(found)
    )


def _flows(days: Sequence[LoadDay]) -> list[Fraction]:
    return [day.industrial_gpd for day in days if day.industrial_gpd is not None]


def _flow_share(
    flow: Fraction, days: Sequence[LoadDay], design: Design, *, trigger: Trigger, projected: bool
) -> Share:
    percent = 100 * flow / (Fraction(design.flow_mgd) * _MILLION)
    text = printed(percent, trigger.at_least)
    working = (
        f"mean industrial flow of {len(days)} days with a record = {_round(flow)} gpd",
        f"{_round(flow)} gpd ÷ {design.flow_mgd} MGD of average day design flow = {text} %",
        f"design: {design.source}",
    )
    return Share(
        parameter=Parameter.FLOW,
        percent=percent,
        text=text,
        reach=_reach(percent, trigger, projected=projected),
        samples=None,
        working=working,
    )


def _load_share(
    parameter: Parameter,
    days: Sequence[LoadDay],
    design: Design,
    *,
    flow_mgd: Fraction,
    pound_factor: Decimal,
    trigger: Trigger,
    projected: bool,
) -> Share:
    sampled = [day for day in days if parameter in day.strengths]
    strength, limit = _strength(parameter, sampled), design.loads_lb_day.get(parameter)
    if strength is None or limit is None:
        why = "no design load is on record" if limit is None else "no sample with flow"
        unknown = f"{label(parameter)}: {why}, so the share is not known"
        return Share(
            parameter=parameter,
            percent=None,
            text=None,
            reach=Reach.BELOW,
            samples=len(sampled),
            working=(unknown,),
        )
    load = strength * flow_mgd * Fraction(pound_factor)
    percent = 100 * load / Fraction(limit)
    text = printed(percent, trigger.at_least)
    pounds, mg_l = _round(load), _round(strength)
    working = (
        f"flow-weighted {label(parameter)} of {len(sampled)} sampled days = {mg_l} mg/L",
        f"{mg_l} mg/L × {_round(flow_mgd, 6)} MGD × {pound_factor} = {pounds} lb on an average day",
        f"{pounds} lb/day ÷ {limit} lb/day of average daily design load = {text} %",
        f"design: {design.source}",
    )
    return Share(
        parameter=parameter,
        percent=percent,
        text=text,
        reach=_reach(percent, trigger, projected=projected),
        samples=len(sampled),
        working=working,
    )


def _strength(parameter: Parameter, sampled: Sequence[LoadDay]) -> Fraction | None:
    """Flow-weighted mean in mg/L; None where no water was sampled."""
    flows = _flows(sampled)
    volume = sum(flows, Fraction(0))
    if not volume:
        return None
    pairs = zip(sampled, flows, strict=True)
    mass = sum((Fraction(day.strengths[parameter]) * flow for day, flow in pairs), Fraction(0))
    return mass / volume


def _reach(percent: Fraction, trigger: Trigger, *, projected: bool) -> Reach:
    if percent >= Fraction(trigger.at_least):
        return Reach.PROJECTED if projected else Reach.REACHED
    return Reach.APPROACHING if percent >= Fraction(trigger.approaching) else Reach.BELOW


def printed(percent: Fraction, trigger: Decimal) -> str:
    """A share with two decimals, or more where one under the trigger would print as the trigger."""
    exact = as_decimal(percent)
    for places in range(2, 28):
        shown = rounded(exact, places)
        if percent >= Fraction(trigger) or shown < trigger:
            break
    return f"{shown:f}"


def _round(value: Fraction, places: int = 2) -> str:
    return f"{rounded(as_decimal(value), places):f}"
