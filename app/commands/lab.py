"""`pretreat lab FILE`: what an upload of a laboratory file would do; nothing is stored."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.table import Table

from app.commands.paper import paper
from app.labfiles import sheet
from compliance.errors import InputError
from compliance.sampling.results import read, to_json
from compliance.sampling.sheets import LabReport

command = typer.Typer(add_completion=False)
SHOWN = ("row", "sample", "point", "sampled_to", "parameter", "qualifier", "value", "unit")


@command.command()
def lab(
    file: Annotated[str, typer.Argument(help="CSV, TSV or XLSX, or - for standard input")],
    tz: Annotated[str, typer.Option(help="zone of times that name none")] = "America/Chicago",
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """What an upload of a laboratory file would do, row by row; nothing is stored.

    Exit code 0: every row is usable; 1: some are not; 2: the file is no table.

    Example: pretreat lab results.csv --tz America/Chicago --json
    """
    content = _content(file)
    received_at = datetime.now(UTC)
    report = read(sheet(content, filename=file), zone=_zone(tz), received_at=received_at)
    if as_json:
        print(json.dumps(to_json(report), ensure_ascii=False, indent=1))
    else:
        _print(report)
    raise typer.Exit(1 if report.rejected else 0)


def _content(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise InputError(
            f"{file} cannot be read ({error.strerror}); expected a laboratory file: check its name"
        ) from None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise InputError(
            f"--tz is {name!r}, which is no zone; expected a name such as America/Chicago"
        ) from None


def _print(report: LabReport) -> None:
    console = paper()
    table = Table(title=_title(report))
    for name in SHOWN:
        table.add_column(name, overflow="fold")
    for one in to_json(report)["accepted"]:
        table.add_row(*(str(one[name]) if one[name] is not None else "–" for name in SHOWN))
    console.print(table)
    for fault in report.rejected:
        console.print(f"rejected: {fault}", soft_wrap=True)
    for warning in report.warnings:
        console.print(f"note: {warning}", soft_wrap=True)


def _title(report: LabReport) -> str:
    rows = "1 row" if report.rows == 1 else f"{report.rows} rows"
    return f"{len(report.accepted)} of {rows} accepted"
