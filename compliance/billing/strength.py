"""From several laboratory results to one strength for a period, with its working."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from itertools import groupby

from compliance.billing.words import number
from compliance.errors import InputError, InsufficientData
from compliance.model.billing import SampleUsed, Strength
from compliance.model.parameters import Parameter, label
from compliance.model.samples import TakenBy


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One accepted result of a sample, on its civil day.

    mg_l: of a non-detect the limit it lies below; flow_gal: discharged on that day, None where
    there is no record of it (zero is a day without discharge).
    """

    label: str
    point: str
    day: date
    mg_l: Decimal
    is_non_detect: bool
    taken_by: TakenBy
    flow_gal: Decimal | None

    @property
    def counted(self) -> Decimal:
        """As it enters an average: a non-detect as zero until a city adopts another rule."""
        return Decimal(0) if self.is_non_detect else self.mg_l


class StrengthRule(StrEnum):
    """How several results become one: a policy, which a city adopts."""

    FLOW_WEIGHTED = "flow_weighted"  # by the volume of the sample's own day
    MEAN = "mean"

    @property
    def shown(self) -> str:
        """As a sentence has it."""
        return {"flow_weighted": "flow-weighted mean", "mean": "plain mean"}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rule and who adopted it; None: nobody, so the reading that favours the payer is taken."""

    rule: StrengthRule = StrengthRule.FLOW_WEIGHTED
    adopted_by: str | None = None


def period_strength(
    parameter: Parameter, findings: Sequence[Finding], policy: Policy = Policy()
) -> Strength:
    """The strength of a period, unrounded.

    Raises: InsufficientData when there is no result, or one without the flow of its day.
    """
    if not findings:
        raise InsufficientData(f"{label(parameter)}: no accepted result in the period")
    used, notes = _binding(findings)
    by_rule = {StrengthRule.MEAN: mean(used)}
    if policy.rule == StrengthRule.FLOW_WEIGHTED:
        by_rule[StrengthRule.FLOW_WEIGHTED] = flow_weighted(parameter, used)
    rule = policy.rule
    if policy.adopted_by is None:
        rule = min(by_rule, key=lambda one: (by_rule[one], one != policy.rule))
    return Strength(
        mg_l=by_rule[rule],
        working=(*_working(used, by_rule, rule), _adoption(policy, rule, by_rule), *notes),
        sources=tuple(f"sample {one.label}, {one.day.isoformat()}" for one in used),
        samples=tuple(_used(one) for one in used),
    )


def _used(one: Finding) -> SampleUsed:
    return SampleUsed(
        day=one.day,
        label=one.label,
        point=one.point,
        mg_l=one.mg_l,
        is_non_detect=one.is_non_detect,
        flow_gal=one.flow_gal,
    )


def demand(bod: Decimal, cod: Decimal, *, switch_at: Decimal) -> Parameter:
    """Which oxygen demand is charged where a tariff goes over to COD: over so many times BOD.

    bod, cod: in mg/L. Neither Prescott nor Monona has such a rule; nothing calls it for them.
    Raises: InputError for a BOD of nothing.
    """
    if bod <= 0:
        raise InputError(f"BOD is {bod} mg/L; expected more than 0: COD has no ratio to it")
    return Parameter.COD if cod > switch_at * bod else Parameter.BOD5


def flow_weighted(parameter: Parameter, findings: Sequence[Finding]) -> Decimal:
    """Σ C·Q ÷ Σ Q, where Q is the volume of a sample's own day; several of a day count as one.

    Raises: InsufficientData naming the first sample without its flow.
    """
    top, bottom = Decimal(0), Decimal(0)
    for _, group in groupby(_by_day(findings), key=_place):
        of_day = list(group)
        flow = of_day[0].flow_gal
        if flow is None:
            raise InsufficientData(
                f"{label(parameter)}: sample {of_day[0].label} of {of_day[0].day} has no flow for "
                "its day, by which the flow-weighted mean weighs it"
            )
        top += mean(of_day) * flow
        bottom += flow
    if bottom == 0:
        raise InsufficientData(f"{label(parameter)}: no flow on any day with a sample")
    return top / bottom


def mean(findings: Sequence[Finding]) -> Decimal:
    """The plain mean; a non-detect counts as zero."""
    return sum((one.counted for one in findings), Decimal(0)) / len(findings)


def _by_day(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda one: (*_place(one), one.label))


def _place(finding: Finding) -> tuple[date, str]:
    return finding.day, finding.point


def _binding(findings: Sequence[Finding]) -> tuple[list[Finding], tuple[str, ...]]:
    """The city's own analysis binds for its day: it replaces the user's result of that day."""
    city_days = {_place(one) for one in findings if one.taken_by != TakenBy.INDUSTRIAL_USER}
    kept = [
        one
        for one in _by_day(findings)
        if one.taken_by != TakenBy.INDUSTRIAL_USER or _place(one) not in city_days
    ]
    replaced = [one for one in _by_day(findings) if one not in kept]
    notes = tuple(
        f"sample {one.label} of {one.day} ({number(one.mg_l)} mg/L) was not used: the city's own "
        "analysis binds for that day"
        for one in replaced
    )
    return kept, notes


def _working(
    used: Sequence[Finding], by_rule: dict[StrengthRule, Decimal], rule: StrengthRule
) -> tuple[str, ...]:
    below = sum(one.is_non_detect for one in used)
    several = "1 result" if len(used) == 1 else f"{len(used)} results"
    counted = f", {below} below detection counted as zero" if below else ""
    how = {
        StrengthRule.MEAN: StrengthRule.MEAN.shown,
        StrengthRule.FLOW_WEIGHTED: "weighted by the flow of each sample's own day",
    }[rule]
    return (f"{several}, {how}{counted}: {number(by_rule[rule])} mg/L",)


def _adoption(policy: Policy, rule: StrengthRule, by_rule: dict[StrengthRule, Decimal]) -> str:
    if policy.adopted_by:
        return f"Several results count by their {rule.shown}: {policy.adopted_by}"
    others = ", ".join(
        f"the {one.shown}, {number(by_rule[one])} mg/L" for one in by_rule if one != rule
    )
    beside = f"; {others}, would charge no less" if others else ""
    return (
        "How several results become one is not adopted by the city: "
        f"the {rule.shown} favours the payer{beside}"
    )
