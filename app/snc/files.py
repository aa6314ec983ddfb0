"""RESULTS and LIMITS as ``pretreat snc`` takes them; a bad row refuses its file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache, partial
from typing import TypeVar
from zoneinfo import ZoneInfo

from app.snc import cells
from app.snc.cells import CellFault, Columns, Row
from compliance.errors import InputError
from compliance.judging.measurements import NEVER_AVERAGED
from compliance.model.faults import Fault
from compliance.model.noncompliance import Bound, Limit, Measured, SncBasis
from compliance.model.parameters import (
    CONCENTRATIONS,
    PHYSICAL_RANGE,
    UNIT_KIND,
    Parameter,
    label,
    parameter,
)
from compliance.model.periods import day_of
from compliance.model.units import Unit, dimension, unit
from compliance.sampling import amounts
from compliance.sampling.dates import REPAIR, moment, order

T = TypeVar("T")
RESULTS = Columns(
    required=("collected_at", "point", "parameter", "qualifier", "result", "unit", "taken_by"),
    optional=(),
    of="results",
)
LIMITS = Columns(
    required=("point", "parameter", "basis", "limit", "unit"),
    optional=("trc_factor", "at_least"),
    of="limits",
)
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LONGEST_NAME = 200


def limits(path: str) -> tuple[Limit, ...]:
    """The limits of a file, one for each row and in its order.

    Raises: InputError: no such file, no table, or the first five bad rows.
    """
    name = cells.name_of(path)
    found = _each(cells.rows(path, LIMITS), _limit, name)
    if not found:
        raise InputError(f"{name} has no limit at all; expected rows under the header")
    return tuple(found)


def results(path: str, zone: ZoneInfo, against: tuple[Limit, ...]) -> tuple[Measured, ...]:
    """The results of a file, in its order.

    zone: whose civil days count, and of times that name none; against: the limits, with whose
    units a result of the same point and parameter must agree in kind.
    Raises: InputError: no such file, no table, or the first five bad rows.
    """
    name = cells.name_of(path)
    rows = list(cells.rows(path, RESULTS))
    when = lru_cache(maxsize=None)(
        partial(moment, clock="", zone=zone, reads=order(row["collected_at"] for row in rows))
    )
    kinds = _kinds(against)

    def read(row: Row) -> Measured:
        try:
            taken = when(row["collected_at"])
        except InputError as error:
            raise _fault(row, "collected_at", str(error), REPAIR) from None
        at = taken.at
        day = day_of(at, zone) if isinstance(at, datetime) else at
        return _result(row, at, taken.stated_on or day, kinds)

    return tuple(_each(rows, read, name))


def _each(rows: cells.Rows, read: Callable[[Row], T], name: str) -> list[T]:
    found: list[T] = []
    faults: list[Fault] = []
    for row in rows:
        try:
            found.append(read(row))
        except CellFault as fault:
            faults.append(fault.at(row))
    cells.refuse(faults, name)
    return found


Kinds = dict[tuple[str, Parameter], frozenset[str]]


def _kinds(against: tuple[Limit, ...]) -> Kinds:
    found: dict[tuple[str, Parameter], set[str]] = {}
    for one in against:
        of = found.setdefault((one.point, one.parameter), set())
        of.update(dimension(bound.unit) for bound in one.bounds)
    return {place: frozenset(of) for place, of in found.items()}


def _result(row: Row, at: datetime | date, day: date, kinds: Kinds) -> Measured:
    point, kind = _name(row, "point"), _parameter(row)
    own = _unit(row, kind)
    wanted = kinds.get((point, kind), frozenset())
    if wanted and dimension(own) not in wanted:
        raise _fault(
            row,
            "unit",
            f"a unit of {' or '.join(sorted(wanted))}, as the limit of {kind.value} at {point} has",
            "correct the unit or the limit",
        )
    try:
        said = amounts.amount(row["result"], row["qualifier"])
    except InputError as error:
        column = "qualifier" if "qualifier" in str(error) or "one of blank" in str(error) else ""
        raise _fault(row, column or "result", str(error), "correct it or remove the row") from None
    value = Decimal(0) if said.value is None else said.value
    _possible(row, kind, value)
    return Measured(
        taken=at,
        day=day,
        point=point,
        parameter=kind,
        qualifier=said.qualifier,
        value=value,
        written=said.written,
        unit=own,
        taken_by=row["taken_by"],
        source=f"row {row.number}",
    )


def _possible(row: Row, kind: Parameter, value: Decimal) -> None:
    """Refuse what cannot be measured: less than nothing, a pH over 14."""
    if kind in CONCENTRATIONS and value < 0:
        raise _fault(row, "result", "zero or more", "correct it or remove the row")
    low, high = PHYSICAL_RANGE.get(kind, (None, None))
    if low is not None and high is not None and not low <= value <= high:
        expected = f"a {label(kind)} from {low:g} to {high:g}"
        raise _fault(row, "result", expected, "correct it or remove the row")


def _limit(row: Row) -> Limit:
    point, kind = _name(row, "point"), _parameter(row)
    basis = _basis(row, kind)
    low, high = _number(row, "at_least"), _number(row, "limit")
    if low is None and high is None:
        raise _fault(row, "limit", "a number here or in at_least", "write the limit")
    if low is not None and high is not None and low > high:
        raise _fault(row, "at_least", f"at most the limit {high}", "exchange or correct the two")
    factor = _number(row, "trc_factor")
    if factor is not None and factor < 1:
        raise _fault(row, "trc_factor", "a factor of 1 or more", "correct it or leave it blank")
    bound = Bound(at_least=low, at_most=high, unit=_unit(row, kind), trc_factor=factor)
    return Limit(
        point=point, parameter=kind, basis=basis, bounds=(bound,), source=f"row {row.number}"
    )


def _basis(row: Row, kind: Parameter) -> SncBasis:
    try:
        found = SncBasis(row["basis"].casefold())
    except ValueError:
        named = ", ".join(one.value for one in SncBasis)
        raise _fault(row, "basis", f"one of {named}", "correct its spelling") from None
    if found is SncBasis.MONTHLY_AVG and kind in NEVER_AVERAGED:
        expected = f"instantaneous or daily_max, for {label(kind)} is never averaged"
        raise _fault(row, "basis", expected, "correct the basis or remove the row")
    return found


def _number(row: Row, column: str) -> Decimal | None:
    text = row[column]
    if not text:
        return None
    if not _PLAIN.fullmatch(text):
        raise _fault(row, column, "a plain number such as 2.61, or a blank", "correct it")
    try:
        return amounts.sized(text)
    except InputError as error:
        raise _fault(row, column, str(error), "correct it") from None


def _name(row: Row, column: str) -> str:
    text = row[column]
    is_plain = not any(unicodedata.category(sign) == "Cc" for sign in text)
    if not text or len(text) > _LONGEST_NAME or not is_plain:
        expected = f"a name of at most {_LONGEST_NAME} printable characters"
        raise _fault(row, column, expected, "name the monitoring point")
    return text


def _parameter(row: Row) -> Parameter:
    try:
        return parameter(row["parameter"])
    except InputError:
        expected = "a name such as ph, zinc, oil_and_grease, bod5"
        raise _fault(row, "parameter", expected, "correct its spelling") from None


def _unit(row: Row, kind: Parameter) -> Unit:
    """A unit that measures its parameter, or its mass; pH has one and needs none."""
    text = row["unit"]
    if not text and kind is Parameter.PH:
        return Unit.SU
    own = UNIT_KIND.get(kind)
    wanted = (own,) if own else ("concentration", "load", "mass")
    try:
        found = unit(text)
    except InputError:
        found = None
    if found is None or dimension(found) not in wanted:
        such = next(one.value for one in Unit if dimension(one) == wanted[0])
        expected = f"a unit of {wanted[0]} for {kind.value}, such as {such}"
        raise _fault(row, "unit", expected, "correct the unit or the parameter")
    return found


def _fault(row: Row, column: str, expected: str, repair: str) -> CellFault:
    return CellFault(column, row[column], expected=expected, repair=repair)
