"""``pretreat capacity``: the 10 % test on a file of days. No database needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from app import loadfiles
from app.commands.paper import paper
from compliance.errors import InputError
from compliance.judging.agreements import Reach, Share, Shares, Trigger, early, printed, shares
from compliance.judging.rolling import Forecast, forecast, rolling, series
from compliance.model.parameters import Parameter, label
from compliance.rules.book import RuleBook, book
from compliance.rules.effective import in_force
from compliance.rules.schema import FactorRule, FactorVersion, ShareRule, ShareVersion

command = typer.Typer(add_completion=False)

EARLY = (30, 90)
"""Days of the early warnings."""
STATES = {
    Reach.UNKNOWN: "not known",
    Reach.BELOW: "below",
    Reach.APPROACHING: "approaching",
    Reach.REACHED: "reaches it",
    Reach.PROJECTED: "would reach it: projected",
}


@command.command()
def capacity(
    loads: Annotated[str, typer.Argument(help="A CSV of one user's days; - is stdin.")],
    plant: Annotated[str, typer.Option(help="A YAML file: average_design, source.")],
    ordinance: Annotated[str, typer.Option(help="The rulebook whose test it is.")] = "prescott",
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """How much of a plant's average-day design one user takes: the 10 % test.

    LOADS has the columns date, flow_gpd, bod5_mg_l, tss_mg_l, tp_mg_l and may have sanitary_gpd,
    which is left out of the flow. flow_gpd 0 is a day without discharge, blank is no record;
    strengths are blank on days without a sample. PLANT has average_design (flow_mgd, bod5_lb_day,
    tss_lb_day, tp_lb_day), source and, where it is so, sanitary_basis.

    Exit code 0: nothing reaches 10 %; 1: the figures reach it (the Director determines); 2: a file
    cannot be used. Fewer than twelve months are projected and never reach it.

    Example: pretreat capacity loads.csv --plant plant.yaml --json
    """
    if loads == plant == "-":
        raise InputError("both files are standard input; expected a path for one of them")
    read, works = loadfiles.loads(loads), loadfiles.plant(plant)
    report = _report(read, works, book(ordinance))
    if as_json:
        print(json.dumps(report, ensure_ascii=False, indent=1))
    else:
        _print(report)
    raise typer.Exit(1 if report["required"] else 0)


def _report(read: loadfiles.Loads, works: loadfiles.Plant, rules: RuleBook) -> dict[str, Any]:
    as_of = read.days[-1].day
    trigger, factor = law(rules, as_of)
    known: dict[str, Any] = {"pound_factor": factor.factor, "trigger": trigger}
    found = shares(read.days, works.design, sanitary_basis=works.sanitary_basis, **known)
    history = rolling(read.days, works.design, **known)
    return {
        "required": found.required,
        "projected": found.projected,
        "by": [one.value for one in found.by],
        "shares": _texts(found),
        "samples": {one.parameter.value: one.samples for one in found.shares if _has_samples(one)},
        "days": found.days,
        "from": found.since.isoformat(),
        "to": found.as_of.isoformat(),
        "trigger": f"{trigger.at_least:f}",
        "states": {one.parameter.value: one.reach.value for one in found.shares},
        "weekdays": {
            one.parameter.value: list(one.weekdays) for one in found.shares if _has_samples(one)
        },
        "sampled_days": {
            one.parameter.value: _compared(one, trigger)
            for one in found.shares
            if _has_samples(one)
        },
        "early_warning": [
            _early(length, early(read.days, works.design, length=length, **known))
            for length in EARLY
            if _has_record(read, length)
        ],
        "forecast": {
            one.parameter.value: _forecast(forecast(series(history, one.parameter), trigger))
            for one in found.shares
        },
        "working": {one.parameter.value: list(one.working) for one in found.shares},
        "source": works.design.source,
        "warnings": list(_warnings(read, works, found)),
    }


def law(rules: RuleBook, day: date) -> tuple[Trigger, FactorVersion]:
    """The numbers of the test of a rulebook on a day.

    Raises: InputError where the rulebook has no such test; NotInForce.
    """
    tests, factors = rules.of(ShareRule), rules.of(FactorRule)
    if not tests or not factors:
        raise InputError(
            f"--ordinance is {rules.name!r}, whose text has no test of a share of design; "
            "expected one that has, such as prescott"
        )
    version: ShareVersion = in_force(tests[0].id, tests[0].versions, day)
    factor: FactorVersion = in_force(factors[0].id, factors[0].versions, day)
    trigger = Trigger(
        at_least=version.at_least, approaching=version.approaching, months=version.months
    )
    return trigger, factor


def _has_samples(share: Share) -> bool:
    return share.parameter is not Parameter.FLOW


def _texts(found: Shares) -> dict[str, str | None]:
    return {one.parameter.value: one.text for one in found.shares}


def _compared(share: Share, trigger: Trigger) -> str | None:
    return None if share.compared is None else printed(share.compared, trigger.at_least)


def _has_record(read: loadfiles.Loads, length: int) -> bool:
    last = read.days[-1].day
    return any(day.flow_gpd is not None and (last - day.day).days < length for day in read.days)


def _early(length: int, found: Shares) -> dict[str, Any]:
    return {"days": length, "with_record": found.days, "shares": _texts(found)}


def _forecast(found: Forecast) -> dict[str, Any]:
    return {
        "on": found.on.isoformat() if found.on else None,
        "says": found.says,
        "working": list(found.working),
    }


def _warnings(read: loadfiles.Loads, works: loadfiles.Plant, found: Shares) -> Iterator[str]:
    yield from read.warnings
    span = (found.as_of - found.since).days + 1
    if found.projected:
        yield (
            f"fewer than twelve months are on record ({found.days} days of the {span} from "
            f"{found.since} to {found.as_of}): projected, never required"
        )
    elif found.days < span:
        yield f"{span - found.days} of {span} days have no record of flow and are left out"
    if any(day.sanitary_gpd for day in read.days) and not works.sanitary_basis:
        yield "sanitary flow is left out, and sanitary_basis does not say on which basis"


def _print(report: dict[str, Any]) -> None:
    console = paper()
    title = f"Share of average-day design, {report['from']} to {report['to']}"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("test")
    for heading in ("share %", *(f"{one['days']} days %" for one in report["early_warning"])):
        table.add_column(heading, justify="right")
    table.add_column("samples", justify="right")
    table.add_column("state")
    for name, share in report["shares"].items():
        table.add_row(
            label(Parameter(name)),
            share or "not known",
            *(one["shares"][name] or "–" for one in report["early_warning"]),
            str(report["samples"].get(name, "")),
            STATES[Reach(report["states"][name])],
        )
    console.print(table)
    for name, lines in report["working"].items():
        console.print(f"{label(Parameter(name))}:")
        for line in [*lines, report["forecast"][name]["says"]]:
            console.print(f"  {line}", soft_wrap=True)
    for warning in report["warnings"]:
        console.print(f"Warning: {warning}", soft_wrap=True)
    console.print(_verdict(report), soft_wrap=True)


def _verdict(report: dict[str, Any]) -> str:
    at_least = report["trigger"]
    if not report["by"]:
        return f"No share that is known reaches {at_least} %."
    names = ", ".join(label(Parameter(name)) for name in report["by"])
    if report["projected"]:
        return f"Projected over {at_least} % by {names}: no twelve months yet, so not required."
    return f"The figures reach {at_least} % by {names}; the Director determines."
