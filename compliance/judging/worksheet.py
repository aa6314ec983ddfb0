"""The worksheet behind a count of significant noncompliance: each measurement beside its limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from compliance.judging.measurements import Line, threshold
from compliance.judging.noncompliance import MEETS, Tally
from compliance.model.noncompliance import SncBasis, SncRule
from compliance.model.parameters import Parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a worksheet, as it is printed. well_over: empty where that test is not made."""

    point: str
    parameter: str
    basis: str
    day: str
    taken: str
    result: str
    unit: str
    limit: str
    exceeds: str
    well_over_from: str
    well_over: str
    taken_by: str
    source: str
    rule: str
    note: str


HEADINGS = tuple(Row.__slots__)


def rows(tallies: Iterable[Tally], rule: SncRule) -> Iterator[Row]:
    """Every measurement of some tallies, then one line for each limit without any."""
    for tally in tallies:
        if not tally.lines:
            yield _nothing(tally)
        for line in tally.lines:
            yield _row(tally, line, rule)


def _row(tally: Tally, line: Line, rule: SncRule) -> Row:
    limit = tally.limit
    is_month = limit.basis is SncBasis.MONTHLY_AVG
    return Row(
        point=limit.point,
        parameter=limit.parameter.value,
        basis=limit.basis.value,
        day=f"{line.day:%Y-%m}" if is_month else line.day.isoformat(),
        taken=" ".join(_taken(part.taken) for part in line.parts),
        result=line.value,
        unit=line.unit.value,
        limit=line.bound.said,
        exceeds="yes" if line.exceeds else "no",
        well_over_from=_from(line, limit.parameter, rule),
        well_over="" if line.well_over is None else "yes" if line.well_over else "no",
        taken_by=line.taken_by,
        source=line.source,
        rule=limit.source,
        note=line.note,
    )


def _taken(at: date) -> str:
    return at.isoformat()


def _from(line: Line, parameter: Parameter, rule: SncRule) -> str:
    if line.well_over is None:
        return ""
    if parameter is Parameter.PH:
        return f"{rule.ph_margin} s.u. beyond the limit"
    return f"{threshold(line.bound, parameter, rule)} {line.bound.unit.value}"


def _nothing(tally: Tally) -> Row:
    empty = dict.fromkeys(HEADINGS, "")
    limit = tally.limit
    said = "; ".join(bound.said for bound in limit.bounds)
    return Row(
        **{
            **empty,
            "point": limit.point,
            "parameter": limit.parameter.value,
            "basis": limit.basis.value,
            "limit": said,
            "rule": limit.source,
            "note": "no data, which is not compliance",
        }
    )


def told(tally: Tally) -> str:
    """What a tally comes to, in plain words first."""
    if tally.met:
        return "; ".join(MEETS[one] for one in tally.met)
    if tally.exceed:
        return f"{tally.exceed} of {tally.n} outside the limit, no criterion of SNC met"
    if tally.n:
        return f"nothing outside the limit in {tally.n}"
    return "no data, which is not compliance"
