"""``pretreat snc``: results against limits, counted for significant noncompliance."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from app.commands.paper import paper
from app.snc import files, sheets
from compliance.errors import InputError
from compliance.judging import worksheet
from compliance.judging.clean_samples import outlooks
from compliance.judging.noncompliance import Tally, tallies
from compliance.judging.snc_rules import NAMES, rules_of, snc_rule
from compliance.model.noncompliance import Limit, Measured, SncRule, Status, window_of
from compliance.model.parameters import Parameter, label
from compliance.model.periods import FIRST_YEAR, LAST_YEAR, Period
from compliance.rules.book import book

command = typer.Typer(add_completion=False)
FOUND = (Status.SIGNIFICANT, Status.NONCOMPLIANCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What the files come to."""

    window: Period
    as_of: date
    rule: SncRule
    tallies: tuple[Tally, ...]
    warnings: tuple[str, ...]

    @property
    def provisional(self) -> bool:
        """Whether the window goes on after the day it is looked at."""
        return self.as_of < _last(self.window)


@command.command()
def snc(
    results: Annotated[str, typer.Argument(help="A CSV of results, gzip or not; - is stdin.")],
    limits: Annotated[str, typer.Option(help="A CSV of limits.")],
    as_of: Annotated[str, typer.Option(help="A day; the window ends with its quarter.")],
    rules: Annotated[str | None, typer.Option(help="federal or wisconsin.")] = None,
    ordinance: Annotated[
        str | None, typer.Option(help="A city's rulebook, instead of --rules.")
    ] = None,
    tz: Annotated[
        str, typer.Option(help="Whose civil days count, and of times without an offset.")
    ] = "America/Chicago",
    working: Annotated[bool, typer.Option("--working", help="Print each number in words.")] = False,
    sheet: Annotated[
        Path | None, typer.Option("--worksheet", help="Write each measurement to this CSV.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Count results against limits over the six months that end with a calendar quarter.

    RESULTS: collected_at, point, parameter, qualifier, result, unit, taken_by. LIMITS: point,
    parameter, basis, limit, unit; optional trc_factor, at_least. What is found is arithmetic: a
    control authority determines. Exit code 0: nothing exceeds; 1: something does; 2: a file cannot
    be used.

    Example: pretreat snc results.csv --limits limits.csv --as-of 2026-06-30 --rules wisconsin
    """
    day, zone = _day(as_of), _zone(tz)
    if results == "-" and limits == "-":
        raise InputError("both files are -, expected one at most: name the other")
    rule = snc_rule(_rules(rules, ordinance), day)
    counted = _count(files.limits(limits), results, rule=rule, day=day, zone=zone)
    if sheet is not None:
        _write(sheet, counted)
    if as_json:
        print(json.dumps(to_json(counted, working=working), ensure_ascii=False, indent=1))
        for warning in counted.warnings:
            print(f"warning: {warning}", file=sys.stderr)
    else:
        _print(counted, working=working)
    raise typer.Exit(1 if any(one.status in FOUND for one in counted.tallies) else 0)


def _count(
    limits: tuple[Limit, ...], results: str, *, rule: SncRule, day: date, zone: ZoneInfo
) -> Counted:
    window = window_of(day, rule.window_months)
    found = files.results(results, zone, limits)
    warnings = (
        *rule.warnings,
        *_about_limits(limits, rule),
        *_about_results(found, limits, window),
    )
    return Counted(
        window=window,
        as_of=day,
        rule=rule,
        tallies=tallies(limits, found, rule, window),
        warnings=warnings,
    )


def _about_limits(limits: Sequence[Limit], rule: SncRule) -> Iterator[str]:
    seen: dict[tuple[str, Parameter, str], str] = {}
    for one in limits:
        place = (one.point, one.parameter, one.basis.value)
        if place in seen:
            yield (
                f"{one.source} of the limits and {seen[place]} both are {one.basis.value} of "
                f"{one.parameter.value} at {one.point}: each has its own count"
            )
        seen.setdefault(place, one.source)
        factor = one.bounds[0].trc_factor
        if factor is None:
            continue
        if one.parameter in (Parameter.PH, Parameter.TEMPERATURE):
            yield (
                f"{one.source} of the limits: the trc_factor {factor} is passed over, for a factor "
                f"has no meaning on {label(one.parameter)}"
            )
        elif factor > rule.factor(one.parameter):
            yield (
                f"{one.source} of the limits: the trc_factor {factor} is weaker than the "
                f"{rule.factor(one.parameter)} of {rule.citation}"
            )


def _about_results(
    found: Sequence[Measured], limits: Sequence[Limit], window: Period
) -> Iterator[str]:
    outside = sum(not window.holds(one.day) for one in found)
    if outside:
        yield f"{_results(outside)} outside the window of {len(found)} in the file: not counted"
    places = {(one.point, one.parameter) for one in limits}
    without = Counter(
        (one.point, one.parameter.value)
        for one in found
        if (one.point, one.parameter) not in places
    )
    for (point, kind), number in sorted(without.items()):
        yield f"{kind} at {point} has no limit in the file: {_results(number)} not judged"
    same = Counter(
        (one.taken, one.point, one.parameter, one.written, one.taken_by) for one in found
    )
    repeated = sum(number - 1 for number in same.values())
    if repeated:
        yield f"{_results(repeated)} the same as another row in every cell: each row counts"


def _results(number: int) -> str:
    return "1 result" if number == 1 else f"{number} results"


def to_json(counted: Counted, *, working: bool = False) -> dict[str, Any]:
    """What the contract prints; with the working of each number where it is asked for."""
    window = counted.window
    return {
        "window": {"from": window.start.isoformat(), "to": _last(window).isoformat()},
        "provisional": counted.provisional,
        "determinations": [_row(one, counted, working=working) for one in counted.tallies],
    }


def _row(one: Tally, counted: Counted, *, working: bool) -> dict[str, Any]:
    row = {
        "point": one.limit.point,
        "parameter": one.limit.parameter.value,
        "basis": one.limit.basis.value,
        "n": one.n,
        "exceed": one.exceed,
        "trc": one.trc,
        "chronic_snc": one.chronic_snc,
        "trc_snc": one.trc_snc,
        "status": one.status.value,
    }
    return row | {"working": list(_words(one, counted))} if working else row


def _words(one: Tally, counted: Counted) -> Iterator[str]:
    yield from one.working
    for outlook in outlooks(one, counted.rule, as_of=counted.as_of):
        yield outlook.says


def _last(window: Period) -> date:
    return date.fromordinal(window.end.toordinal() - 1)


def _print(counted: Counted, *, working: bool) -> None:
    console = paper()
    state = ", provisional: these months are not over" if counted.provisional else ""
    table = Table(
        title=f"{counted.window}{state} ({counted.rule.citation})",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for heading in ("point", "parameter", "basis", "limit", "n", "over", "well over", "status"):
        table.add_column(heading, overflow="fold")
    for one in counted.tallies:
        table.add_row(*_cells(one))
    console.print(table)
    for one in counted.tallies:
        place = f"{one.limit.point} {one.limit.parameter.value} {one.limit.basis.value}"
        console.print(f"{place}: {worksheet.told(one)}", soft_wrap=True)
        for line in _words(one, counted) if working else ():
            console.print(f"  {line}", soft_wrap=True)
    for warning in counted.warnings:
        console.print(f"Warning: {warning}", soft_wrap=True)


def _cells(one: Tally) -> tuple[str, ...]:
    limit = one.limit
    return (
        limit.point,
        limit.parameter.value,
        limit.basis.value,
        limit.bounds[0].said,
        str(one.n),
        str(one.exceed),
        "not evaluated" if one.trc_snc is None else str(one.trc),
        one.status.value,
    )


def _write(path: Path, counted: Counted) -> None:
    try:
        with path.open("w", encoding="utf-8", newline="") as out:
            out.write(sheets.text(counted.tallies, counted.rule))
    except OSError as error:
        raise InputError(
            f"--worksheet {path} cannot be written ({error.strerror}); expected a place for a new "
            "file: name another one"
        ) from None


def _rules(rules: str | None, ordinance: str | None) -> str:
    if rules is not None:
        if rules not in NAMES:
            raise InputError(f"--rules is {rules!r}, expected {' or '.join(NAMES)}")
        return rules
    if ordinance is None:
        raise InputError(
            f"--rules is missing, expected {' or '.join(NAMES)}; give it, or a city's rulebook "
            "as --ordinance"
        )
    return rules_of((book(ordinance).name,))


def _day(text: str) -> date:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        found = date.min
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise InputError(f"--as-of is {text!r}, expected a day such as 2026-06-30")
    return found


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InputError(
            f"--tz is {name!r}, expected the name of a time zone such as America/Chicago"
        ) from None
