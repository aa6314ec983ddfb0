"""``pretreat explain``: one finding from the record, judged again; or all of it as one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from app import explaining, packing
from app.commands.paper import paper
from compliance import settings
from compliance.errors import InputError
from compliance.jobs import explain as jobs
from compliance.records import schema
from compliance.records.engine import opened, reading
from compliance.records.scope import Scope

command = typer.Typer(add_completion=False)

EVERYWHERE = Scope(city_id=None, industrial_user_id=None)


@command.command()
def explain(
    name: Annotated[
        str,
        typer.Argument(metavar="ID", help="A detection's number, a violation's, a finding's id."),
    ],
    pack: Annotated[
        Path | None,
        typer.Option(metavar="FILE.zip", help="Write the evidence pack instead of printing."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """What a finding rests on, step by step, and whether it comes out again.

    It is judged anew from what is stored, by the same functions. Exit code 0: it agrees, or can
    not be judged again (readings destroyed under a records schedule), which is said; 1: it comes
    out otherwise; 2: there is no such finding.

    Example: pretreat explain 12 --pack evidence-12.zip
    """
    with opened(settings.load()) as engine:
        schema.require(engine)
        with reading(engine) as db:
            found = jobs.explain(db, EVERYWHERE, name)
            said = explaining.document(found, asked=name.strip())
            if pack is not None:
                _write(pack, packing.pack(packing.gather(db, found)))
    if pack is not None:
        said["pack"] = str(pack)
    if as_json:
        print(json.dumps(said, ensure_ascii=False, indent=1))
    else:
        _print(paper(), said)
    raise typer.Exit(1 if found.agrees is False else 0)


def _write(file: Path, content: bytes) -> None:
    try:
        file.write_bytes(content)
    except OSError as error:
        raise InputError(
            f"{file} cannot be written ({error.strerror}); expected a file in a folder that exists "
            "and may be written: name another"
        ) from None


def _print(console: Console, said: dict[str, Any]) -> None:
    fact, rule = said["fact"], said["rule"]
    _line(console, f"Finding {said['finding']}{_numbers(said)}")
    _line(console, f"{said['industrial_user']}, {said['city']}, point {said['point']}")
    if said["withdrawn"]:
        _line(console, f"Withdrawn {said['withdrawn']['at']}: {said['withdrawn']['why']}")
    _line(console, f"Rule {rule['id']}, {_since(rule)}; authority: {rule['authority']}")
    _line(console, f"  {rule['says']}")
    _line(console, f"  {rule['citation']}")
    worst = f"{fact['worst']} {fact['unit']} at {fact['worst_at']}"
    _line(console, f"From {fact['starts_at']} to {fact['ends_at']}; worst {worst}")
    for step, line in enumerate(said["working"], start=1):
        _line(console, f"  {step}. {line}")
    _print_considered(console, said["considered"])
    if said["readings"]:
        _print_readings(console, said["readings"])
    if said["result"]:
        _print_result(console, said["result"])
    _print_papers(console, said["evidence"])
    _line(console, f"Judged {said['judged_at']} by {said['release']['judged_by']}")
    _print_again(console, said)
    if said.get("pack"):
        _line(console, f"Evidence pack: {said['pack']}")


def _line(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True)


def _numbers(said: dict[str, Any]) -> str:
    parts = [
        f"detection {said['detection']} ({said['state']})" if said["detection"] else "",
        f"violation {said['violation']}" if said["violation"] else "",
    ]
    shown = ", ".join(part for part in parts if part)
    return f": {shown}" if shown else ": screening, nothing to decide"


def _since(rule: dict[str, Any]) -> str:
    return f"in force since {rule['effective']}" if rule["effective"] else "date not in our sources"


def _print_considered(console: Console, rows: list[dict[str, Any]]) -> None:
    table = Table(title="Sources considered", title_justify="left", box=SIMPLE_HEAD)
    for heading in ("rule", "authority", "limit", "outcome"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(row["rule"], row["authority"], row["limit"] or "–", row["outcome"])
    console.print(table)


def _print_readings(console: Console, of: dict[str, Any]) -> None:
    channel = of["channel"] or "its channel"
    _line(
        console,
        f"Readings of {channel}, {of['from']} to {of['to']}: {of['read']} read, "
        f"{of['judged']} judged, {of['read'] - of['judged']} left out",
    )
    for one in of["left_out"]:
        span = f"{one['first']} to {one['last']}"
        _line(console, f"  left out: {one['readings']}, {one['reason']} ({span})")


def _print_result(console: Console, of: dict[str, Any]) -> None:
    limits = (
        f"detection limit {of['mdl'] or 'not given'}, reporting limit {of['rl'] or 'not given'}"
    )
    _line(
        console,
        f"Result {of['qualifier']}{of['value']} {of['unit']} of sample {of['sample'] or '–'} "
        f"({of['sample_type'] or 'type not given'}), {of['sampled_from']} to {of['sampled_to']}; "
        f"method {of['method'] or 'not given'}, {limits}",
    )


def _print_papers(console: Console, evidence: dict[str, Any]) -> None:
    if calibration := evidence.get("calibration"):
        _line(console, f"Calibration: {calibration['standing']}")
        for when in ("before", "after"):
            one = calibration.get(when)
            said = f"{one['at']} by {one['by']}, drift {one['drift']}" if one else "none on record"
            _line(console, f"  {when}: {said}")
    if found := evidence.get("register_map"):
        _line(console, f"Register map: {found['name']}, SHA-256 {found['sha256']}")


def _print_again(console: Console, said: dict[str, Any]) -> None:
    again = said["recomputed"]
    if again["agrees"]:
        why = f" ({again['why']})" if again["why"] else ""
        _line(console, f"Judged again from what is stored: agrees{why}.")
    elif again["agrees"] is None:
        _line(console, f"Not judged again: {again['why']}.")
    else:
        _line(console, "Judged again from what is stored: DIFFERS.")
        for one in again["differs"]:
            _line(console, f"  {one['what']}: kept {one['kept']}, now {one['again']}")
    for one in said["destroyed"]:
        _line(
            console,
            f"Destroyed: {one['readings']} readings from {one['from']} to {one['to']}, on "
            f"{one['at']} by {one['by']}, under line {one['line']} of the records schedule; "
            f"SHA-256 {one['sha256']}",
        )
