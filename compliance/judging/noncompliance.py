"""The arithmetic of significant noncompliance; a control authority determines, not a program.

Source: 40 CFR 403.8(f)(2)(viii)(A) and (B); NR 211.23(1)(j) in Wisconsin.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction

from compliance.judging.measurements import Line, is_evaluated, lines, threshold
from compliance.model.noncompliance import (
    FEDERAL,
    PLAIN,
    Bound,
    Criterion,
    Limit,
    Measured,
    SncBasis,
    SncRule,
    Status,
)
from compliance.model.parameters import Parameter, label
from compliance.model.periods import Period
from compliance.model.units import as_decimal, rounded

MEETS = {
    one: f"{PLAIN[one]}: meets the arithmetic of SNC ({FEDERAL[one]}), not determined"
    for one in Criterion
}
"""How a criterion that is met is told, until the control authority has determined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """One limit's measurements in a window, counted.

    exceed: outside the limit by any magnitude; trc: well over it; trc_snc: None where that test is
    not evaluated; working: each number in words.
    """

    limit: Limit
    window: Period
    lines: tuple[Line, ...]
    n: int
    exceed: int
    trc: int
    chronic_snc: bool
    trc_snc: bool | None
    status: Status
    working: tuple[str, ...]

    @property
    def met(self) -> tuple[Criterion, ...]:
        """The criteria whose arithmetic is met."""
        found = {Criterion.CHRONIC: self.chronic_snc, Criterion.TECHNICAL: bool(self.trc_snc)}
        return tuple(one for one, is_met in found.items() if is_met)


def reaches(part: int, whole: int, percent: int) -> bool:
    """Whether a part of a count is at least so many percent of it; nothing of nothing is not."""
    return whole > 0 and 100 * part >= percent * whole


def tallies(
    limits: Sequence[Limit], results: Iterable[Measured], rule: SncRule, window: Period
) -> tuple[Tally, ...]:
    """One tally for each limit, in their order; the order of the results does not matter.

    Raises: InputError for the average of a parameter that is never averaged.
    """
    by_place: dict[tuple[str, Parameter], list[Measured]] = defaultdict(list)
    for one in results:
        by_place[one.point, one.parameter].append(one)
    return tuple(
        tally(limit, by_place.get((limit.point, limit.parameter), ()), rule, window)
        for limit in limits
    )


def tally(limit: Limit, results: Iterable[Measured], rule: SncRule, window: Period) -> Tally:
    """Count one limit's measurements in a window of civil days.

    Raises: InputError for the average of a parameter that is never averaged.
    """
    return counted(limit, lines(limit, results, rule, window), rule, window)


def counted(limit: Limit, found: Sequence[Line], rule: SncRule, window: Period) -> Tally:
    """The tally of measurements that are judged already."""
    n, exceed = len(found), sum(line.exceeds for line in found)
    trc = sum(line.well_over is True for line in found)
    is_chronic = reaches(exceed, n, rule.chronic_percent)
    is_technical = None
    if any(is_evaluated(bound, limit.parameter, rule) for bound in limit.bounds):
        is_technical = reaches(trc, n, rule.trc_percent)
    return Tally(
        limit=limit,
        window=window,
        lines=tuple(found),
        n=n,
        exceed=exceed,
        trc=trc,
        chronic_snc=is_chronic,
        trc_snc=is_technical,
        status=_status(n, exceed, is_met=is_chronic or is_technical is True),
        working=tuple(_working(limit, rule, window, counts=(n, exceed, trc))),
    )


def _status(n: int, exceed: int, *, is_met: bool) -> Status:
    if is_met:
        return Status.SIGNIFICANT
    if exceed:
        return Status.NONCOMPLIANCE
    return Status.NO_EXCEEDANCE if n else Status.NO_DATA


def only_published(tally: Tally, before: Tally) -> bool:
    """Whether SNC at the end of March rests on results that last year's list rests on already.

    before: the same limit in the window that ended with December. True where each criterion that
    is met was met there too and no result since counts towards it.
    """
    if tally.window.end.month != 4 or not tally.met or not set(tally.met) <= set(before.met):
        return False
    since = [line for line in tally.lines if line.day >= before.window.end]
    return not any(line.exceeds or line.well_over for line in since)


def percent(part: int, whole: int, *, against: int) -> str:
    """A share as it is printed: two decimals, and more while it would look like another side."""
    share = Fraction(100 * part, whole)
    for places in range(2, 30):
        near = rounded(as_decimal(share), places)
        if (near >= against) == (share >= against):
            return f"{near:f}"
    return f"{as_decimal(share):f}"


def _working(
    limit: Limit, rule: SncRule, window: Period, *, counts: tuple[int, int, int]
) -> Iterable[str]:
    n, exceed, trc = counts
    what = "monthly means" if limit.basis is SncBasis.MONTHLY_AVG else "results"
    bounds = _distinct(limit, window)
    said = "; then ".join(one.said for one in bounds)
    yield f"{limit.point}, {label(limit.parameter)}, {said}: {n} {what} from {window}"
    if not n:
        yield "Nothing was measured: no data, which is not compliance."
        return
    yield _sentence(exceed, n, rule.chronic_percent, what=f"{what} outside the limit")
    yield _technical(limit, rule, bounds, n=n, trc=trc, what=what)


def _distinct(limit: Limit, window: Period) -> list[Bound]:
    during = [
        one
        for one in limit.bounds
        if (one.since or date.min) < window.end and (one.until or date.max) > window.start
    ]
    return during or list(limit.bounds[-1:])


def _sentence(part: int, n: int, share: int, *, what: str) -> str:
    left, right = 100 * part, share * n
    sign, verdict = (">=", "is reached") if left >= right else ("<", "is not reached")
    return (
        f"{part} of {n} {what} = {percent(part, n, against=share)} %; "
        f"100 x {part} = {left} {sign} {share} x {n} = {right}: {share} % {verdict}"
    )


def _technical(
    limit: Limit, rule: SncRule, bounds: Sequence[Bound], *, n: int, trc: int, what: str
) -> str:
    if not any(is_evaluated(bound, limit.parameter, rule) for bound in bounds):
        return not_evaluated(limit.parameter)
    if limit.parameter is Parameter.PH:
        beyond = f"{what} beyond the limit by {rule.ph_margin} s.u. or more"
        return _sentence(trc, n, rule.trc_percent, what=beyond)
    over = "; then ".join(_product(bound, limit.parameter, rule) for bound in bounds)
    return _sentence(trc, n, rule.trc_percent, what=f"{what} at or over {over}")


def _product(bound: Bound, parameter: Parameter, rule: SncRule) -> str:
    found = threshold(bound, parameter, rule)
    if found is None:
        return "no upper limit"
    factor: Decimal = bound.trc_factor or rule.factor(parameter)
    return f"{bound.at_most} x {factor} = {found} {bound.unit.value}"


def not_evaluated(parameter: Parameter) -> str:
    """Why the test of results well over the limit is not made."""
    if parameter is Parameter.PH:
        return "Well over the limit: not evaluated, the federal rule excepts pH."
    if parameter is Parameter.TEMPERATURE:
        return (
            "Well over the limit: not computed and left to the control authority; the rule excepts "
            "only pH, but a factor on a temperature has no meaning."
        )
    return "Well over the limit: not evaluated, there is no upper limit to multiply."
