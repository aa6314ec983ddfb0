"""`pretreat modbus totalize`: the volume of a total's readings, and every reading that is odd."""

from __future__ import annotations

import json
import re
import sys
from decimal import Decimal
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from app.historian.totals import TotalFile, read
from compliance.errors import InputError
from compliance.model.counting import Tally, tally
from compliance.model.totals import Counter

_PLAIN = re.compile(r"[0-9]{1,60}(\.[0-9]{1,60})?")


def totalize(
    file: Annotated[
        str, typer.Argument(metavar="FILE.csv", help="Columns at, value; gzip or not; - is stdin.")
    ],
    modulus: Annotated[
        str, typer.Option(metavar="N", help="The count goes on from 0 at N, in the unit of value.")
    ],
    max_rate: Annotated[
        str | None,
        typer.Option(
            metavar="PER_SECOND", help="The most that can pass; steps over 1.2 x are out."
        ),
    ] = None,
    tz: Annotated[
        str, typer.Option(help="The zone of times without an offset.")
    ] = "America/Chicago",
    fold: Annotated[
        str | None, typer.Option(help="Which pass of the repeated hour: first or second.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """The volume between the first and the last reading of a total.

    Rollovers, resets, glitches, and steps beyond the pipe are named; an empty value is no reading.

    Example: pretreat modbus totalize --modulus 4294967296 --max-rate 8.5 total.csv
    """
    whole = _plain(modulus, "--modulus")
    most = None if max_rate is None else _plain(max_rate, "--max-rate")
    if fold not in (None, "first", "second"):
        raise InputError(f"--fold is {fold!r}; expected first or second")
    content = read(file, modulus=whole, zone=_zone(tz), fold=fold)
    counter = Counter(modulus=whole, max_per_second=most, resolution=content.resolution)
    found = tally(content.counts, counter)
    for warning in content.warnings:
        print(f"pretreat: {warning}", file=sys.stderr)
    if as_json or not Console().is_terminal:
        print(json.dumps(_json(found, content)))
    else:
        _print(found, content)


def _json(found: Tally, content: TotalFile) -> dict[str, object]:
    events = [
        {"at": content.written[event.at_us], "kind": event.kind.value} for event in found.events
    ]
    return {"total": _shown(found.total), "events": events}


def _plain(text: str, option: str) -> Decimal:
    if not _PLAIN.fullmatch(text.strip()) or not Decimal(text):
        raise InputError(
            f"{option} is {text!r}; expected a plain decimal above zero such as 4294967296 or 8.5"
        )
    return Decimal(text)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InputError(
            f"--tz is {name!r}; expected the name of a time zone such as America/Chicago"
        ) from None


def _shown(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _print(found: Tally, content: TotalFile) -> None:
    console = Console()
    steps = [step for step in found.steps if step.spans]
    span = (
        f", {content.written[steps[0].since_us]} to {content.written[steps[-1].at_us]}"
        if steps
        else ""
    )
    console.print(f"total {_shown(found.total)}{span}", markup=False, highlight=False)
    if not found.events:
        console.print("every step is plain")
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("at", "kind", "from", "to", "volume", "why"):
        table.add_column(heading, no_wrap=heading in ("at", "kind"), overflow="fold")
    for event in found.events:
        cells = (event.since_shows, event.shows, event.volume)
        table.add_row(
            escape(content.written[event.at_us]),
            event.kind.value,
            *(_shown(cell) for cell in cells),
            escape(event.reason),
        )
    console.print(table)
