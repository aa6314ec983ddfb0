"""A continuous record in significant noncompliance: one measurement for each discharge day.

No rule says what one measurement of an instrument is. This program's reading is not adopted by any
control authority until that is recorded, so both counts are kept and the one without it stands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction

from compliance.judging.measurements import Amount, Line, outside, well_over
from compliance.judging.noncompliance import Tally, counted, reaches
from compliance.model.noncompliance import Bound, Limit, SncRule

GOOD_PERCENT = 75
"""The share of a discharge day's readings that must be good for it to be a measurement."""
NOT_ADOPTED = "computed under a setting of this program, not adopted by the control authority"


@dataclass(frozen=True, slots=True, kw_only=True)
class Excursion:
    """The worst reading of one excursion, in the limit's unit. excused: or explained."""

    worst: Decimal
    excused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DischargeDay:
    """A day on which a point discharged. good, due: readings during discharge."""

    day: date
    good: int
    due: int
    excursions: tuple[Excursion, ...] = ()

    @property
    def is_measured(self) -> bool:
        """Whether enough of it was read well."""
        return reaches(self.good, self.due, GOOD_PERCENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    """The count of samples alone, and the count with the continuous record.

    counted: which of the two determinations rest on.
    """

    samples: Tally
    with_record: Tally
    is_adopted: bool

    @property
    def counted(self) -> Tally:
        """The count with the record only where the control authority has adopted it."""
        return self.with_record if self.is_adopted else self.samples

    @property
    def says(self) -> str:
        """Both counts in a sentence."""
        one, two = self.samples, self.with_record
        how = "adopted by the control authority" if self.is_adopted else NOT_ADOPTED
        return (
            f"samples alone: {one.exceed} of {one.n} outside the limit; with the continuous "
            f"record, one measurement for each discharge day: {two.exceed} of {two.n} ({how})"
        )


def both(
    samples: Tally, days: Iterable[DischargeDay], rule: SncRule, *, is_adopted: bool = False
) -> Both:
    """Count with and without the continuous record of the limit's point.

    A sample of the same day belongs to that day's one measurement, and counts in it.
    """
    grabs: dict[date, list[Line]] = defaultdict(list)
    for line in samples.lines:
        grabs[line.day].append(line)
    measured = {one.day: one for one in days if one.is_measured and samples.window.holds(one.day)}
    merged = [
        made
        for day, one in sorted(measured.items())
        if (made := _day(samples.limit, one, grabs.get(day, ()), rule)) is not None
    ]
    taken = {line.day for line in merged}
    alone = [line for line in samples.lines if line.day not in taken]
    found = sorted([*alone, *merged], key=lambda line: line.day)
    limit, window = samples.limit, samples.window
    return Both(
        samples=samples,
        with_record=counted(limit, found, rule, window),
        is_adopted=is_adopted,
    )


def _day(limit: Limit, one: DischargeDay, grabs: Sequence[Line], rule: SncRule) -> Line | None:
    bound = limit.on(one.day)
    if bound is None:
        return None
    charged = [excursion for excursion in one.excursions if not excursion.excused]
    judged = [
        well_over(_exact(excursion.worst), bound, limit.parameter, rule) for excursion in charged
    ]
    if not charged:
        judged = [well_over(Amount(value=Fraction(0), qualifier="<"), bound, limit.parameter, rule)]
    far = [*judged, *(line.well_over for line in grabs)]
    parts = tuple(part for line in grabs for part in line.parts)
    line = Line(
        day=one.day,
        value=_worst(charged, bound),
        unit=bound.unit,
        bound=bound,
        exceeds=any(outside(_exact(each.worst), bound) for each in charged)
        or any(line.exceeds for line in grabs),
        well_over=None if all(each is None for each in far) else any(far),
        parts=parts,
        note=f"continuous record: {one.good} of {one.due} readings good; {NOT_ADOPTED}",
        continuous=True,
    )
    excused = len(one.excursions) - len(charged)
    return replace(line, note=f"{line.note}; {excused} excused or explained") if excused else line


def _exact(worst: Decimal) -> Amount:
    return Amount(value=Fraction(worst), qualifier="")


def _worst(charged: Sequence[Excursion], bound: Bound) -> str:
    if not charged:
        return "no excursion"
    far = max(charged, key=lambda one: _distance(one.worst, bound))
    return str(far.worst)


def _distance(worst: Decimal, bound: Bound) -> Decimal:
    over = worst - bound.at_most if bound.at_most is not None else Decimal(0)
    under = bound.at_least - worst if bound.at_least is not None else Decimal(0)
    return max(over, under)
