"""One row's analysis: parameter, qualifier, number and limits, each in our own unit."""

from __future__ import annotations

from decimal import Decimal

from compliance.model.parameters import CONCENTRATIONS, PHYSICAL_RANGE, Parameter
from compliance.model.samples import Result
from compliance.sampling.amounts import amount, limit, plain
from compliance.sampling.analytes import Scale, analyte, scale
from compliance.sampling.headings import Field
from compliance.sampling.sheets import Line, RowFault, Table, ask

MOST_MG_L = Decimal(1_000_000)
"""A litre of water holds about a kilogram of anything: more is a slip of the unit or the point."""


def result(table: Table, line: Line, notes: list[str]) -> Result:
    """The result a row holds; what a person should know of it is added to ``notes``.

    Raises: RowFault.
    """
    name = table.cell(line, Field.PARAMETER)
    of, species = ask(
        Field.PARAMETER, name, lambda: analyte(name), repair="name the analyte or leave the row out"
    )
    _total_only(table.cell(line, Field.FRACTION))
    species = species or _species(table.cell(line, Field.SPECIES))
    own = _unit_text(table, line)
    scaled = ask(Field.UNIT, own, lambda: scale(of, own, species), repair="correct the unit")
    mdl = _limit(table, line, of=of, species=species, fields=(Field.MDL, Field.MDL_UNIT))
    rl = _limit(table, line, of=of, species=species, fields=(Field.RL, Field.RL_UNIT))
    qualifier, value, written = _value(table, line, by=scaled, limits=(mdl, rl), notes=notes)
    found = table.cell(line, Field.RESULT)
    _must_be_possible(of, value, found=found, rl=rl)
    _must_fit_a_litre(of, value, found=found or written)
    _warn(notes, note=scaled.note, value=value, mdl=None if qualifier else mdl)
    return Result(
        parameter=of,
        qualifier=qualifier,
        value=value,
        written=written,
        unit=scaled.unit,
        mdl=mdl,
        rl=rl,
        method=table.name_in(line, Field.METHOD),
        row=line.row,
    )


def _warn(notes: list[str], *, note: str | None, value: Decimal, mdl: Decimal | None) -> None:
    if note:
        notes.append(note)
    if mdl is not None and value < mdl:
        notes.append("a detect below the detection limit of its own method")


def _unit_text(table: Table, line: Line) -> str:
    return table.cell(line, Field.UNIT) or table.header.units.get(Field.RESULT, "")


def _species(text: str) -> str | None:
    return plain(text).casefold().removeprefix("as ").strip() or None


def _total_only(fraction: str) -> None:
    if any(word in fraction.casefold() for word in ("dissolved", "filtered")):
        raise RowFault(
            Field.FRACTION,
            fraction,
            expected="the total: limits are on the whole sample",
            repair="ask the laboratory for the total",
        )


def _value(
    table: Table,
    line: Line,
    *,
    by: Scale,
    limits: tuple[Decimal | None, Decimal | None],
    notes: list[str],
) -> tuple[str, Decimal, str]:
    """Qualifier, value in our unit, and the number as written."""
    text, flag = table.cell(line, Field.RESULT), table.cell(line, Field.QUALIFIER)
    if not text and not flag:
        text = table.cell(line, Field.CONDITION)
    shown = " ".join(filter(None, (text, flag)))
    found = ask(
        Field.RESULT, shown, lambda: amount(text, flag), repair="ask the laboratory what it found"
    )
    if found.note:
        notes.append(found.note)
    if found.value is not None:
        return found.qualifier, by.apply(found.value), found.written
    mdl, rl = limits
    below = (mdl or rl) if found.lower else (rl or mdl)
    if below is None:
        raise RowFault(
            Field.RESULT,
            shown,
            expected="a limit (RL or MDL) beside a non-detect",
            repair="ask the laboratory for its reporting limit",
        )
    return "<", below, f"{below:f}"


def _must_be_possible(of: Parameter, value: Decimal, *, found: str, rl: Decimal | None) -> None:
    low, high = PHYSICAL_RANGE.get(of, (float("-inf"), float("inf")))
    if not low <= value <= high:
        expected = f"{of.value} from {low:g} to {high:g}"
        raise RowFault(Field.RESULT, found, expected=expected, repair="check the number")
    if of in CONCENTRATIONS and value <= 0:
        below = f", which 0 without a qualifier is not: it lies below the RL {rl}" if rl else ""
        expected = f"a number above zero{below}"
        repair = "write ND and the reporting limit where nothing was detected"
        raise RowFault(Field.RESULT, found, expected=expected, repair=repair)


def _must_fit_a_litre(of: Parameter, value: Decimal, *, found: str) -> None:
    if of in CONCENTRATIONS and value > MOST_MG_L:
        raise RowFault(
            Field.RESULT,
            found,
            expected=f"at most {MOST_MG_L:,} mg/L: a litre of water holds no more",
            repair="check the number and its unit",
        )


def _limit(
    table: Table, line: Line, *, of: Parameter, species: str | None, fields: tuple[Field, Field]
) -> Decimal | None:
    """A detection or reporting limit in our unit, converted by its own unit."""
    field, unit_field = fields
    text = table.cell(line, field)
    number = ask(field, text, lambda: limit(text), repair="correct the limit or leave it blank")
    if number is None:
        return None
    own = table.cell(line, unit_field) or table.cell(line, Field.LIMIT_UNIT)
    own = own or table.header.units.get(field) or _unit_text(table, line)
    by = ask(unit_field, own, lambda: scale(of, own, species), repair="correct the unit")
    return by.apply(number)
