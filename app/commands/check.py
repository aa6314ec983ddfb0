"""``pretreat check``: what the rulebooks named find in a historian export. No database needed."""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from app.commands.paper import paper
from app.commands.progress import tell, told
from app.commands.rules_diff import rulebook
from app.historian import examination, exports
from compliance.errors import InputError
from compliance.model.faults import brief
from compliance.model.parameters import Parameter, parameter

command = typer.Typer(add_completion=False)


@command.command()
def check(
    readings: Annotated[str, typer.Argument(help="A CSV of readings, gzip or not; - is stdin.")],
    ordinance: Annotated[
        list[str],
        typer.Option(help="A rulebook: prescott, monona, federal, or a file. May be repeated."),
    ],
    tz: Annotated[
        str, typer.Option(help="The zone of times without an offset, and of print.")
    ] = "America/Chicago",
    fold: Annotated[
        str | None, typer.Option(help="Which pass of the repeated hour: first or second.")
    ] = None,
    interval: Annotated[
        float | None, typer.Option(help="Seconds between readings; else each series' median.")
    ] = None,
    rejoin: Annotated[
        float, typer.Option(help="Excursions nearer than this many seconds are one.")
    ] = 300,
    baseline: Annotated[
        list[str] | None,
        typer.Option(help="POINT:PARAMETER=VALUE: the usual value for slug screening."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Judge a historian export by the rulebooks named, and no others.

    Columns: at, point, parameter, value, unit; optional quality and sample_type. Exit code 0:
    nothing found; 1: an exceedance of a limit of law; 2: the file cannot be used.

    Example: pretreat check readings.csv --ordinance prescott --ordinance federal --json
    """
    books = [rulebook(name) for name in dict.fromkeys(ordinance)]
    manner = exports.Manner(
        zone=_zone(tz), fold=_fold(fold), interval_us=_microseconds(interval, "--interval", least=1)
    )
    rejoin_us = _microseconds(rejoin, "--rejoin", least=0) or 0
    usual = _baselines(baseline or [])
    with told():
        file = exports.read(readings, manner, _rows_read)
        tell("judging …")
        found = examination.examine(file, books, rejoin_us=rejoin_us, baselines=usual)
    report = examination.report(found, zone=manner.zone)
    if as_json:
        print(json.dumps(report, ensure_ascii=False, indent=1))
    else:
        _print(report)
    raise typer.Exit(1 if found.is_enforceable else 0)


def _rows_read(count: int) -> None:
    tell(f"{count:,} rows read" if count else "reading …")


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InputError(
            f"--tz is {name!r}, expected the name of a time zone such as America/Chicago"
        ) from None


def _fold(text: str | None) -> str | None:
    if text not in (None, "first", "second"):
        raise InputError(f"--fold is {text!r}, expected first or second")
    return text


def _microseconds(seconds: float | None, option: str, *, least: int) -> int | None:
    if seconds is None:
        return None
    if not least <= seconds * 1e6 < 1e15:
        raise InputError(f"{option} is {seconds:g}, expected a number of seconds")
    return round(seconds * 1e6)


def _baselines(texts: list[str]) -> dict[tuple[str, Parameter], float]:
    found: dict[tuple[str, Parameter], float] = {}
    for text in texts:
        of, value = _baseline(text)
        if found.setdefault(of, value) != value:
            raise InputError(
                f"--baseline is {brief(text)!r}, a second value for {brief(of[0])}:{of[1].value}; "
                "expected one: leave the other out"
            )
    return found


def _baseline(text: str) -> tuple[tuple[str, Parameter], float]:
    name, _, number = text.rpartition("=")
    point, _, kind = name.rpartition(":")
    try:
        value = Decimal(number)
    except InvalidOperation:
        value = Decimal("NaN")
    if not point or not value.is_finite() or not 1e-46 < float(value) < 1e39:
        raise InputError(
            f"--baseline is {brief(text)!r}, expected POINT:PARAMETER=VALUE such as MH-1:flow=40"
        )
    return (point, parameter(kind)), float(value)


def _print(report: dict[str, Any]) -> None:
    console = paper()
    _print_findings(console, report["findings"], report["ordinances"])
    if not any(row["good"] for row in report["coverage"]):
        console.print("No reading could be judged: all of them are flagged.")
    table = Table(title="Coverage", title_justify="left", box=SIMPLE_HEAD)
    for heading in ("point", "parameter", "readings", "good", "flagged", "gaps", "completeness"):
        table.add_column(heading, overflow="fold")
    for row in report["coverage"]:
        cells = [row[key] for key in ("point", "parameter", "readings", "good", "flagged")]
        table.add_row(*(str(cell) for cell in cells), str(len(row["gaps"])), row["completeness"])
    console.print(table)
    for entry in report["not_evaluated"]:
        span = f", {entry['from']} to {entry['to']}" if entry["from"] else ""
        line = f"Not evaluated: {entry['parameter']}: {entry['reason']}{span}"
        console.print(line, soft_wrap=True)
    for warning in report["warnings"]:
        console.print(f"Warning: {warning}", soft_wrap=True)


def _print_findings(
    console: Console, findings: list[dict[str, Any]], ordinances: list[str]
) -> None:
    if not findings:
        console.print(f"No finding under {', '.join(ordinances)} in what was judged.")
        return
    table = Table(title="Findings", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("rule", "point", "from", "beyond", "worst", "limit"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "from")
    table.add_column("note")
    for row in findings:
        notes = [
            "screening" if row["authority"] == "program" else "",
            "to review" if row["review"] else "",
            "record ends" if row["open_ended"] else "",
            f"{row['runs']} runs" if row["runs"] > 1 else "",
        ]
        table.add_row(
            row["rule"],
            row["point"],
            row["starts_at"],
            f"{row['seconds_beyond']} s",
            f"{row['worst']} {row['unit']}",
            f"{'≥' if row['side'] == 'below' else '≤'} {row['limit']}",
            ", ".join(note for note in notes if note),
        )
    console.print(table)
    for citation in dict.fromkeys(f"{row['rule']}: {row['citation']}" for row in findings):
        console.print(citation, soft_wrap=True)
