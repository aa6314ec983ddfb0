"""`pretreat prune`: what the records schedule lets go, what stays and why; and its destruction."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from app.commands.acting import operator
from compliance import settings
from compliance.errors import InputError
from compliance.jobs import schedule
from compliance.jobs.prune import CityPlan, Item, plan, prune
from compliance.model.keeping import Line
from compliance.records import schema
from compliance.records.engine import opened
from compliance.rules.keeping import ScheduleDocument

command = typer.Typer(add_completion=False)

TOLD = 2
"""Reasons that a person is told of one month; a machine is told all."""


@command.command()
def pruning(  # noqa: PLR0913 - one argument an option
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would go and what stays; change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Destroy what may go.")] = False,
    load: Annotated[
        Path | None,
        typer.Option("--schedule", metavar="FILE", help="Load a city's records schedule first."),
    ] = None,
    city: Annotated[str, typer.Option(help="The city's slug; else every city.")] = "",
    on: Annotated[
        str, typer.Option(metavar="DATE", help="With --dry-run: as of another day.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Destroy readings that the city's records schedule lets go, month by month, with a record.

    Nothing goes before a schedule is loaded, nor what a hold covers or a finding, a bill or a
    correction rests on; sums, findings, evidence and bills stay for ever.

    Example: pretreat prune --dry-run
    """
    _refuse_unclear(dry_run=dry_run, yes=yes, load=load, on=on)
    day = _day(on) if on else None
    now = datetime.now(UTC)
    with opened(settings.load()) as engine:
        schema.require(engine)
        loaded = _loaded(load, engine, now=now) if load else None
        done: tuple[CityPlan, ...] = ()
        if yes:
            done = prune(engine, now=now, by=operator(), city=city or None)
        elif dry_run:
            with engine.connect() as db:
                done = plan(db, now=now, city=city or None, on=day)
    if as_json:
        print(json.dumps(_as_json(loaded, done, dry_run=dry_run), ensure_ascii=False))
        return
    _print(loaded, done, dry_run=dry_run)


def _refuse_unclear(*, dry_run: bool, yes: bool, load: Path | None, on: str) -> None:
    if dry_run and yes:
        raise InputError("--dry-run and --yes are given; expected one of them")
    if not (dry_run or yes or load):
        raise InputError("say --dry-run to see what would go, --yes to destroy it")
    if on and not dry_run:
        raise InputError("--on goes with --dry-run alone: what is destroyed is destroyed today")


def _loaded(file: Path, engine: Any, *, now: datetime) -> ScheduleDocument:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}); check its name") from None
    except UnicodeDecodeError:
        raise InputError(f"{file} is no UTF-8 text; expected a YAML file") from None
    return schedule.load(engine, text, file=file.name, by=operator(), now=now)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise InputError(f"--on is {text!r}; expected a date such as 2027-01-31") from None


# -- for machines


def _as_json(
    loaded: ScheduleDocument | None, plans: Sequence[CityPlan], *, dry_run: bool
) -> dict[str, Any]:
    return {
        "loaded": None if loaded is None else loaded.records_schedule,
        "dry_run": dry_run,
        "readings": sum(item.rows for one in plans for item in one.going),
        "cities": [_city(one) for one in plans],
    }


def _city(one: CityPlan) -> dict[str, Any]:
    adopted = one.loaded.schedule if one.loaded else None
    return {
        "city": one.city.slug,
        "on": one.today.isoformat(),
        "schedule": adopted
        and {
            "adopted_on": adopted.adopted_on.isoformat(),
            "adopted_by": adopted.adopted_by,
            "lines": [_line(line) for line in adopted.lines],
        },
        "goes": [_going(item) for item in one.going],
        "stays": [_staying(items) for items in _alike(one.staying)],
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "line": line.name,
        "years": line.years,
        "citation": line.citation,
        "parameters": sorted(line.parameters),
    }


def _where(item: Item) -> dict[str, Any]:
    return {
        "industrial_user": item.place.industrial_user,
        "point": item.place.point,
        "parameter": item.place.parameter.value,
        "channel": item.place.channel_id,
    }


def _going(item: Item) -> dict[str, Any]:
    return {
        **_where(item),
        "month": f"{item.month.start:%Y-%m}",
        "from": item.span.start.isoformat(),
        "to": item.span.end.isoformat(),
        "readings": item.rows,
        "line": item.fate.line.name if item.fate.line else None,
        "citation": item.fate.line.citation if item.fate.line else None,
        "sha256": item.sha256,
    }


def _staying(items: Sequence[Item]) -> dict[str, Any]:
    first, last = items[0], items[-1]
    return {
        **_where(first),
        "from": f"{first.month.start:%Y-%m}",
        "to": f"{last.month.start:%Y-%m}",
        "line": first.fate.line.name if first.fate.line else None,
        "first_may_go_on": first.fate.free_on.isoformat() if first.fate.free_on else None,
        "why": list(first.fate.why),
    }


def _alike(items: Sequence[Item]) -> Iterator[list[Item]]:
    """Months of a channel that follow one another and stay for the same reasons."""
    for _, own in groupby(items, key=lambda item: item.place.channel_id):
        group: list[Item] = []
        for item in own:
            if group and (group[-1].month.end, group[-1].fate.why) != (
                item.month.start,
                item.fate.why,
            ):
                yield group
                group = []
            group.append(item)
        yield group


# -- for people


def _print(loaded: ScheduleDocument | None, plans: Sequence[CityPlan], *, dry_run: bool) -> None:
    console = Console(soft_wrap=True)
    if loaded is not None:
        lines = "; ".join(f"{one.line}: {one.years} years" for one in loaded.lines)
        adopted = f"adopted on {loaded.adopted_on} by {loaded.adopted_by}"
        console.print(
            escape(f"loaded the schedule of {loaded.records_schedule}, {adopted}: {lines}")
        )
    for one in plans:
        _print_city(console, one, dry_run=dry_run)
    if not plans and loaded is None:
        console.print("there is no city here, and nothing to destroy")


def _print_city(console: Console, one: CityPlan, *, dry_run: bool) -> None:
    if one.loaded is None:
        console.print(
            escape(
                f"{one.city.name} has no records schedule: nothing of it is destroyed. Load the "
                "one that it has adopted with: pretreat prune --schedule FILE"
            )
        )
        return
    table = Table("where", "months", "readings", "line", "why it stays", title=_title(one))
    verb = "would go" if dry_run else "are destroyed"
    for item in one.going:
        table.add_row(_place(item), f"{item.month.start:%Y-%m}", f"{item.rows:,}", _cited(item), "")
    for items in _alike(one.staying):
        why = escape(_why(items[0].fate.why))
        table.add_row(_place(items[0]), _span(items), "", _cited(items[0]), why)
    console.print(table)
    rows, months = sum(item.rows for item in one.going), len(one.going)
    console.print(
        f"{one.city.slug}: {rows:,} readings, {months} months of one channel each, {verb}"
    )


def _why(reasons: Sequence[str]) -> str:
    """The first reasons, and how many more there are."""
    told = "; ".join(reasons[:TOLD])
    more = len(reasons) - TOLD
    return f"{told}; and {more} more reasons (--json tells all)" if more > 0 else told


def _title(one: CityPlan) -> str:
    assert one.loaded is not None
    adopted = one.loaded.schedule
    return escape(
        f"{one.city.name}, schedule adopted on {adopted.adopted_on} by {adopted.adopted_by}; "
        f"as of {one.today}"
    )


def _place(item: Item) -> str:
    return escape(f"{item.place.point} {item.place.parameter.value} ({item.place.entry})")


def _cited(item: Item) -> str:
    line = item.fate.line
    return escape(f"{line.name}: {line.years} years, {line.citation}") if line else "–"


def _span(items: Sequence[Item]) -> str:
    first, last = (f"{one.month.start:%Y-%m}" for one in (items[0], items[-1]))
    return first if first == last else f"{first} … {last}"
