"""The share of a plant's average-day design that one user takes: the 10 % test and its working."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
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
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_MILLION = 1_000_000


class Reach(StrEnum):
    """How near a share is to the trigger."""

    UNKNOWN = "unknown"  # never below: nothing was sampled, or no design is on record
    BELOW = "below"
    APPROACHING = "approaching"
    REACHED = "reached"
    UNSETTLED = "unsettled"  # by one document, while nobody has said which of several governs
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
    """One of the four tests. percent: unrounded, None without a sample; text: as people read it.

    amount: what the share is of, in gpd or lb/day, unrounded; samples, weekdays: of those days
    that count, by weekday from Monday; compared: the percent that the sampled days' own loads would
    give, for comparison only. samples is None for flow, which has none.
    """

    parameter: Parameter
    percent: Fraction | None
    text: str | None
    reach: Reach
    samples: int | None
    working: tuple[str, ...]
    amount: Fraction | None = None
    weekdays: tuple[int, ...] = ()
    compared: Fraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The four tests from ``since`` to ``as_of``, both inside; days: those with a record."""

    as_of: date
    since: date
    days: int
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
    days: Iterable[LoadDay],
    design: Design,
    *,
    pound_factor: Decimal,
    trigger: Trigger,
    sanitary_basis: str = "",
) -> Shares:
    """The four shares over the months of the rule that end with the last day given.

    Flow is the mean over all days with a record, days without discharge too; a load is the
    flow-weighted strength of the sampled days times that mean. Days without a record are left out
    and counted out. Where the days begin later than the months, or one of the months has no
    record at all, the shares are projected, never required. sanitary_basis: what the deduction
    rests on, for the working.

    Raises: InsufficientData when no day has a record of flow.
    """
    given = _ordered(days)
    since = add_months(given[-1].day + timedelta(days=1), -trigger.months)
    basis = _Basis(
        design=design, pound_factor=pound_factor, trigger=trigger, sanitary_basis=sanitary_basis
    )
    recorded = _recorded(given, since)
    whole = given[0].day <= since and not _empty_month(recorded, since, trigger.months)
    return basis.shares(recorded, since=since, as_of=given[-1].day, projected=not whole)


def early(
    days: Iterable[LoadDay],
    design: Design,
    *,
    length: int,
    pound_factor: Decimal,
    trigger: Trigger,
) -> Shares:
    """The same over the last ``length`` days: an early warning, always projected.

    Raises: InsufficientData when no day of them has a record of flow.
    """
    given = _ordered(days)
    since = given[-1].day - timedelta(days=length - 1)
    basis = _Basis(design=design, pound_factor=pound_factor, trigger=trigger)
    recorded = _recorded(given, since)
    return basis.shares(recorded, since=since, as_of=given[-1].day, projected=True)


def _ordered(days: Iterable[LoadDay]) -> list[LoadDay]:
    given = sorted(days, key=lambda day: day.day)
    if not given:
        raise InsufficientData("no day of flow is given")
    return given


def _recorded(given: Sequence[LoadDay], since: date) -> list[LoadDay]:
    found = [day for day in given if day.day >= since and day.industrial_gpd is not None]
    if not found:
        raise InsufficientData(f"no record of flow between {since} and {given[-1].day}")
    return found


def _empty_month(recorded: Sequence[LoadDay], since: date, months: int) -> bool:
    """Whether one of the months from ``since`` on has no record."""
    edges = [add_months(since, number) for number in range(months + 1)]
    filled = {bisect_right(edges, day.day) for day in recorded}
    return len(filled) < months


@dataclass(frozen=True, slots=True, kw_only=True)
class _Basis:
    """What the shares of one user rest on."""

    design: Design
    pound_factor: Decimal
    trigger: Trigger
    sanitary_basis: str = ""

    def shares(
        self, recorded: Sequence[LoadDay], *, since: date, as_of: date, projected: bool
    ) -> Shares:
        """The four tests over days with a record."""
        flow = sum(_flows(recorded), Fraction(0)) / len(recorded)
        found = [self._flow(flow, recorded, projected=projected)]
        found += [
            self._load(one, recorded, flow_mgd=flow / _MILLION, projected=projected)
            for one in LOADS
        ]
        return Shares(
            as_of=as_of,
            since=since,
            days=len(recorded),
            projected=projected,
            shares=tuple(found),
        )

    def _flow(self, flow: Fraction, days: Sequence[LoadDay], *, projected: bool) -> Share:
        design, trigger = self.design, self.trigger
        percent = 100 * flow / (Fraction(design.flow_mgd) * _MILLION)
        text = printed(percent, trigger.at_least)
        working = (
            f"mean industrial flow of {len(days)} days with a record = {_round(flow)} gpd",
            *self._deducted(days),
            f"{_round(flow)} gpd ÷ {design.flow_mgd} MGD of average day design flow = {text} %",
            f"design: {design.source}",
        )
        return Share(
            parameter=Parameter.FLOW,
            percent=percent,
            text=text,
            reach=reach(percent, trigger, projected=projected),
            samples=None,
            working=working,
            amount=flow,
        )

    def _deducted(self, days: Sequence[LoadDay]) -> tuple[str, ...]:
        """What of the flow was taken for sanitary, and on which basis."""
        total = sum((Fraction(day.sanitary_gpd) for day in days), Fraction(0))
        if not total:
            return ()
        basis = self.sanitary_basis or "not stated"
        return (f"sanitary flow left out: {_round(total / len(days))} gpd (basis: {basis})",)

    def _load(
        self, parameter: Parameter, days: Sequence[LoadDay], *, flow_mgd: Fraction, projected: bool
    ) -> Share:
        sampled = [day for day in days if parameter in day.strengths]
        strength, limit = _strength(parameter, sampled), self.design.loads_lb_day.get(parameter)
        factor = Fraction(self.pound_factor)
        amount = None if strength is None else strength * flow_mgd * factor
        if strength is None or amount is None or limit is None:
            why = "no design load is on record" if limit is None else "no sample with flow"
            return _unknown(parameter, f"{label(parameter)}: {why}", sampled, amount=amount)
        percent = 100 * amount / Fraction(limit)
        text, pounds, mg_l = (
            printed(percent, self.trigger.at_least),
            _round(amount),
            _round(strength),
        )
        own = _own_load(parameter, sampled) * factor
        compared = 100 * own / Fraction(limit)
        working = (
            f"flow-weighted {label(parameter)} of {len(sampled)} sampled days = {mg_l} mg/L",
            f"{mg_l} mg/L × {_round(flow_mgd, 6)} MGD × {self.pound_factor} = {pounds} lb on an "
            "average day",
            f"{pounds} lb/day ÷ {limit} lb/day of average daily design load = {text} %",
            f"design: {self.design.source}",
            f"sampled on {_weekdays(sampled)}; for comparison only: those days carried "
            f"{_round(own)} lb each in the mean, {_round(compared)} %",
        )
        return Share(
            parameter=parameter,
            percent=percent,
            text=text,
            reach=reach(percent, self.trigger, projected=projected),
            samples=len(sampled),
            working=working,
            amount=amount,
            weekdays=_by_weekday(sampled),
            compared=compared,
        )


def _unknown(
    parameter: Parameter, why: str, sampled: Sequence[LoadDay], *, amount: Fraction | None
) -> Share:
    return Share(
        parameter=parameter,
        percent=None,
        text=None,
        reach=Reach.UNKNOWN,
        samples=len(sampled),
        working=(f"{why}, so the share is not known",),
        amount=amount,
        weekdays=_by_weekday(sampled),
    )


def _flows(days: Sequence[LoadDay]) -> list[Fraction]:
    return [day.industrial_gpd for day in days if day.industrial_gpd is not None]


def _strength(parameter: Parameter, sampled: Sequence[LoadDay]) -> Fraction | None:
    """Flow-weighted mean in mg/L; None where no water was sampled."""
    flows = _flows(sampled)
    volume = sum(flows, Fraction(0))
    if not volume:
        return None
    pairs = zip(sampled, flows, strict=True)
    mass = sum((Fraction(day.strengths[parameter]) * flow for day, flow in pairs), Fraction(0))
    return mass / volume


def _own_load(parameter: Parameter, sampled: Sequence[LoadDay]) -> Fraction:
    """Mean over the sampled days of mg/L × MGD."""
    pairs = zip(sampled, _flows(sampled), strict=True)
    mass = sum((Fraction(day.strengths[parameter]) * flow for day, flow in pairs), Fraction(0))
    return mass / _MILLION / len(sampled)


def _by_weekday(sampled: Sequence[LoadDay]) -> tuple[int, ...]:
    met = Counter(day.day.weekday() for day in sampled)
    return tuple(met[weekday] for weekday in range(len(WEEKDAYS)))


def _weekdays(sampled: Sequence[LoadDay]) -> str:
    pairs = zip(WEEKDAYS, _by_weekday(sampled), strict=True)
    return ", ".join(f"{count} {name}" for name, count in pairs if count)


def reach(percent: Fraction, trigger: Trigger, *, projected: bool) -> Reach:
    """How near a share is to the trigger; touching it reaches it."""
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
