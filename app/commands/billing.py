"""`pretreat billing preview|run`: bills of a city's industrial users for a quarter."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from app.commands.acting import operator
from compliance import settings
from compliance.billing.words import money
from compliance.errors import InputError
from compliance.jobs import bill as jobs
from compliance.model.periods import Period, quarter
from compliance.records import schema
from compliance.records.engine import opened

command = typer.Typer(no_args_is_help=True, add_completion=False)

City = Annotated[str, typer.Option("--city", help="the city's short name, such as prescott")]
Quarter = Annotated[str, typer.Option("--quarter", help="a calendar quarter, such as 2026-Q2")]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object")]


@command.callback()
def _root() -> None:
    """Bill runs over accounts.

    Example: pretreat billing preview --city prescott --quarter 2026-Q2
    """


@command.command()
def run(city: City, quarter: Quarter, as_json: Json = False) -> None:
    """Bill every industrial user of Category C and issue the bills; safe to repeat.

    Exit code 0: each has its bill; 1: some are blocked, each with its reason.

    Example: pretreat billing run --city prescott --quarter 2026-Q2 --json
    """
    with opened(settings.load()) as engine:
        schema.require(engine)
        done = jobs.run(
            engine, city=city, period=_period(quarter), now=datetime.now(UTC), by=operator()
        )
    _finish(done, as_json=as_json)


@command.command()
def preview(city: City, quarter: Quarter, as_json: Json = False) -> None:
    """What a run would bill, by the same path; nothing is written.

    Example: pretreat billing preview --city monona --quarter 2026-Q2
    """
    with opened(settings.load()) as engine:
        schema.require(engine)
        done = jobs.preview(engine, city=city, period=_period(quarter), now=datetime.now(UTC))
    _finish(done, as_json=as_json)


def _period(text: str) -> Period:
    found = re.fullmatch(r"(\d{4})-Q([1-4])", text.strip(), re.IGNORECASE)
    if found is None or not 1900 <= int(found[1]) < 9999:
        raise InputError(f"--quarter is {text!r}; expected a year and a quarter such as 2026-Q2")
    return quarter(date(int(found[1]), 3 * int(found[2]) - 2, 1))


def _finish(done: jobs.Run, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(to_json(done), ensure_ascii=False, indent=1))
    else:
        _print(done)
    raise typer.Exit(1 if done.of("blocked") else 0)


def to_json(done: jobs.Run) -> dict[str, Any]:
    """A run as data."""
    return {
        "city": done.city,
        "period": {"from": done.period.start.isoformat(), "to": done.period.end.isoformat()},
        "tariff": done.tariff,
        "accounts": [_outcome(one) for one in done.outcomes],
    }


def _outcome(one: jobs.Outcome) -> dict[str, Any]:
    lines = one.bill.lines if one.bill else ()
    return {
        "industrial_user": one.user,
        "state": one.state,
        "bill": one.number,
        "total": str(one.total) if one.total is not None else None,
        "why": one.why,
        "lines": [
            {
                "code": line.code,
                "description": line.description,
                "quantity": f"{line.quantity:f}",
                "unit": line.unit,
                "rate": f"{line.rate:f}",
                "amount": str(line.amount),
                "working": list(line.working),
            }
            for line in lines
        ],
    }


def _print(done: jobs.Run) -> None:
    table = Table(title=f"{done.city}, {done.period}, tariff {done.tariff}")
    for name in ("industrial user", "state", "bill", "total", "why"):
        table.add_column(name)
    for one in done.outcomes:
        total = money(one.total) if one.total is not None else "–"
        table.add_row(one.user, one.state, one.number or "–", total, one.why or "")
    Console(soft_wrap=True).print(table)
