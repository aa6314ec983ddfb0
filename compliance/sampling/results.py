"""Cells of a laboratory file → results, faults by row, warnings. Nothing is lost in silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, tzinfo
from decimal import Decimal
from typing import Any

from compliance.model.faults import Fault
from compliance.sampling import analyses, dates, takings
from compliance.sampling.analytes import text_of
from compliance.sampling.headings import Field, find
from compliance.sampling.sheets import Accepted, LabReport, Line, RowFault, Sheet, Table
from compliance.sampling.takings import OLD_YEARS, is_old

SHOWN_ROWS = 12


def read(sheet: Sheet, *, zone: tzinfo, received_at: datetime | None = None) -> LabReport:
    """What a file's cells mean; instants that name no zone are read in ``zone``.

    received_at: aware; a sample taken later is rejected, one taken over ten years before is told
    of. None: not compared.
    """
    header = find([line.cells for line in sheet.lines])
    body = [line for line in sheet.lines[header.position + 1 :] if any(map(str.strip, line.cells))]
    table = Table(header=header, zone=zone, orders={}, received_at=received_at)
    for field in (Field.COLLECTED, Field.START, Field.END, Field.RECEIVED):
        table.orders[field] = dates.order(table.cell(line, field) for line in body)
    warnings = [*sheet.warnings, *header.warnings]
    if not body:
        warnings.append("there is no row under the headings")
    accepted, rejected = _rows(table, body, warnings)
    warnings += _old(accepted, received_at)
    return LabReport(
        format=sheet.format,
        rows=len(body),
        accepted=tuple(accepted),
        rejected=tuple(rejected),
        warnings=tuple(warnings),
    )


def _rows(
    table: Table, body: Sequence[Line], warnings: list[str]
) -> tuple[list[Accepted], list[Fault]]:
    accepted: list[Accepted] = []
    rejected: list[Fault] = []
    earlier: dict[object, Accepted] = {}
    for line in body:
        notes: list[str] = []
        try:
            one = _row(table, line, notes)
            _once(one, earlier)
        except RowFault as fault:
            rejected.append(_fault(table, line, fault))
            continue
        accepted.append(one)
        warnings += [f"row {line.row}: {note}" for note in notes]
    return accepted, rejected


def _row(table: Table, line: Line, notes: list[str]) -> Accepted:
    table.must_be_text(line)
    for needed in (Field.PARAMETER, Field.RESULT):
        if needed not in table.header.column:
            raise RowFault(
                needed,
                "no such column",
                expected=f"a column headed {needed.value.capitalize()}",
                repair="give one result a row under Sample, Collected, Parameter, Result, Units",
            )
    sample = takings.sample(table, line, notes)
    return Accepted(row=line.row, sample=sample, result=analyses.result(table, line, notes))


def _old(accepted: Sequence[Accepted], received_at: datetime | None) -> list[str]:
    rows = [
        str(one.row)
        for one in accepted
        if received_at and is_old(one.sample, received_at=received_at)
    ]
    if not rows:
        return []
    several = f"{len(rows)} rows ({', '.join(rows[:SHOWN_ROWS])}{' …' * (len(rows) > SHOWN_ROWS)})"
    place = f"row {rows[0]}" if len(rows) == 1 else several
    return [f"{place}: sampled over {OLD_YEARS} years before it was received: check the year"]


def _once(one: Accepted, earlier: dict[object, Accepted]) -> None:
    """A sample has one result of a parameter. Raises: RowFault at the second."""
    sample, parameter = one.sample, one.result.parameter
    key = (sample.label, sample.point, sample.sampled_from, sample.sampled_to, parameter)
    if sample.label is None or (first := earlier.setdefault(key, one)) is one:
        return
    if sample == first.sample and replace(one.result, row=first.row) == first.result:
        raise RowFault(
            Field.SAMPLE,
            sample.label,
            expected=f"each result once: this row repeats row {first.row} exactly",
            repair="leave it out: the first one counts",
        )
    raise RowFault(
        Field.PARAMETER,
        parameter.value,
        expected=f"one result of a parameter for a sample: row {first.row} has it already",
        repair="keep the row that holds",
    )


def _fault(table: Table, line: Line, fault: RowFault) -> Fault:
    return Fault(
        row=line.row,
        column=table.header.name(fault.field),
        found=fault.found,
        expected=fault.expected,
        repair=fault.repair,
    )


def to_json(report: LabReport) -> dict[str, Any]:
    """The report as ``pretreat lab --json`` prints it; what the file does not say is null."""
    return {
        "format": report.format,
        "rows": report.rows,
        "accepted": [_accepted(one) for one in report.accepted],
        "rejected": [
            {
                "row": fault.row,
                "column": fault.column,
                "found": fault.found,
                "expected": fault.expected,
                "repair": fault.repair,
            }
            for fault in report.rejected
        ],
        "warnings": list(report.warnings),
    }


def _accepted(one: Accepted) -> dict[str, Any]:
    sample, result = one.sample, one.result
    return {
        "row": one.row,
        "sample": sample.label,
        "point": sample.point,
        "sampled_from": _moment(sample.sampled_from),
        "sampled_to": _moment(sample.sampled_to),
        "sample_type": sample.sample_type.value if sample.sample_type else None,
        "parameter": result.parameter.value,
        "qualifier": result.qualifier,
        "value": text_of(result.value, written=result.written),
        "unit": result.unit.value,
        "mdl": _number(result.mdl),
        "rl": _number(result.rl),
        "method": result.method,
        "lab": sample.laboratory,
    }


def _moment(at: datetime | date | None) -> str | None:
    return at.isoformat() if at is not None else None


def _number(value: Decimal | None) -> str | None:
    return f"{value:f}" if value is not None else None
