"""The average of results some of which lie below detection, by a stated and printed policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from compliance.errors import InsufficientData, UnitMismatch
from compliance.model.samples import Result
from compliance.rules.nondetects import NonDetects, Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """An average in the results' unit, exact. below: how many lay below detection.

    qualifier: ``"<"`` where the median itself lies below detection, ``">"`` where a result lies
    above what the method could tell. says: the policy, to be printed beside the number.
    """

    value: Fraction
    qualifier: str
    count: int
    below: int
    says: str


def average(results: Sequence[Result], policy: Policy) -> Average:
    """The average of results of one parameter in one unit; none of them is ever left out.

    Raises: InsufficientData for none, or where the policy needs a detection limit that the
    laboratory did not report; UnitMismatch.
    """
    if not results:
        raise InsufficientData("there is no result to average")
    if len({(one.parameter, one.unit) for one in results}) > 1:
        raise UnitMismatch("these results are not all of one parameter in one unit")
    below = sum(one.is_non_detect for one in results)
    qualifier, value = (
        _median(results)
        if below and policy.how is NonDetects.MEDIAN
        else ("", _mean([_counted(one, policy) for one in results]))
    )
    if any(one.qualifier == ">" for one in results) and not qualifier:
        qualifier = ">"
    return Average(
        value=value,
        qualifier=qualifier,
        count=len(results),
        below=below,
        says=f"{below} of {len(results)} below detection; {policy.says}" if below else "",
    )


def _mean(values: Sequence[Decimal | Fraction]) -> Fraction:
    return sum((Fraction(one) for one in values), Fraction(0)) / len(values)


def _counted(one: Result, policy: Policy) -> Decimal | Fraction:
    """A result as it enters the mean."""
    if not one.is_non_detect:
        return one.value
    match policy.how:
        case NonDetects.HALF:
            return Fraction(one.value) / 2
        case NonDetects.FULL:
            return one.value
        case NonDetects.HALF_MDL:
            return Fraction(_mdl(one)) / 2
        case NonDetects.MDL:
            return _mdl(one)
        case _:
            return Decimal(0)


def _mdl(one: Result) -> Decimal:
    if one.mdl is None:
        raise InsufficientData(
            f"row {one.row}: {one.parameter.value} <{one.written} has no detection limit, and the "
            "policy counts by it: ask the laboratory for the limit"
        )
    return one.mdl


def _median(results: Sequence[Result]) -> tuple[str, Fraction]:
    """The middle, non-detects lowest; of two middles with one below detection, the lower."""
    ordered = sorted(results, key=lambda one: (not one.is_non_detect, one.value))
    half = len(ordered) // 2
    low, high = ordered[(len(ordered) - 1) // 2], ordered[half]
    if low.is_non_detect:
        return "<", Fraction(low.value)
    return "", _mean([low.value, high.value])
