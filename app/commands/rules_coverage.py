"""``pretreat rules coverage NAME``: the register of a text of law, and who judges each clause."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from app.commands.paper import paper
from app.commands.rules_diff import text_of
from compliance.rules.register import (
    CALLED,
    SILENT,
    Register,
    Row,
    misnamed,
    parse,
    register,
    registers,
)


def coverage(
    name: Annotated[str, typer.Argument(metavar="NAME", help="prescott, or a register's file.")],
    text: Annotated[
        Path | None, typer.Option(help="The text: also say which sentences have no row.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Definitions and headings too, with the anchors.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Every clause of a text: judged by the program, by a person, or not automated, and why.

    With --text, exit code 1 where a sentence has no row or an anchor is not found in its order.

    Example: pretreat rules coverage prescott
    """
    found = _register(name)
    faults = [*misnamed(found), *(found.faults(text_of(text)) if text else ())]
    if as_json:
        print(json.dumps(_told(found, faults), ensure_ascii=False, indent=1))
    else:
        _print(found, faults, everything=everything)
    raise typer.Exit(1 if faults else 0)


def _register(name: str) -> Register:
    file = Path(name)
    if name in registers() or file.suffix not in (".yaml", ".yml"):
        return register(name)
    return parse(text_of(file), file.name)


def _told(found: Register, faults: list[str]) -> dict[str, Any]:
    return {
        "register": found.register_of,
        "title": found.title,
        "counts": found.counts(),
        "clauses": [
            {**row.model_dump(mode="json", exclude={"judged_by"}), "judged_by": _judge(row)}
            for row in found.clauses
        ],
        "missing": [one.model_dump(mode="json") for one in found.missing],
        "faults": faults,
    }


def _judge(row: Row) -> str:
    return CALLED[row.judged_by] if row.judged_by else "nothing to judge"


def _print(found: Register, faults: list[str], *, everything: bool) -> None:
    console = paper()
    table = Table("clause", "what it says", "judged by", "rule, or why not", title=found.title)
    for row in found.clauses:
        if everything or row.judged_by or row.kind not in SILENT:
            how = ", ".join(row.rules) or row.done_by or ""
            why = "; ".join(part for part in (how, row.reason) if part)
            table.add_row(row.clause, row.says or row.kind.value, _judge(row), why)
            if everything and row.anchors:
                table.add_row("", "… " + " … ".join(row.anchors), "", "")
    console.print(table)
    if found.missing:
        lacking = Table("text that is not loaded", "what it blocks")
        for one in found.missing:
            lacking.add_row(one.text, one.blocks)
        console.print(lacking)
    counts = ", ".join(f"{count} {name}" for name, count in found.counts().items())
    console.print(f"{len(found.clauses)} clauses: {counts}", soft_wrap=True)
    for fault in faults:
        console.print(fault, soft_wrap=True)
