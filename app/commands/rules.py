"""``pretreat rules``: the rulebooks as data: list them, show a rule on a day, check a file."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from app.commands.paper import paper
from app.commands.rules_coverage import coverage
from app.commands.rules_diff import diff, text_of
from app.commands.rules_replay import replay
from compliance.errors import InputError, NotInForce
from compliance.rules.book import AnyVersion, books, find, parse, schema, versions
from compliance.rules.effective import in_force
from compliance.rules.schema import Rule
from compliance.rules.significance import weaker

command = typer.Typer(add_completion=False, no_args_is_help=True)

command.command("replay")(replay)
command.command("diff")(diff)
command.command("coverage")(coverage)

Json = Annotated[bool, typer.Option("--json", help="For machines.")]


@command.callback()
def _rules() -> None:
    """Rulebooks: dated, cited numbers of law.

    Example: pretreat rules show prescott.ph --on 2026-03-01
    """


@command.command("list")
def list_rules(as_json: Json = False) -> None:
    """Every rule of every rulebook, with its citation and who judges it.

    Example: pretreat rules list --json
    """
    rows = [
        _summary(book.name, rule)
        for book in sorted(books().values(), key=lambda book: book.name)
        for rule in book.rules
    ]
    if as_json:
        print(json.dumps(rows, ensure_ascii=False, indent=1))
        return
    table = Table()
    table.add_column("id", no_wrap=True)
    for heading in ("numbers", "since", "authority", "judged by"):
        table.add_column(heading)
    for row in rows:
        table.add_row(
            row["id"],
            row["numbers"],
            row["effective"] or "not stated" if row["versions"] else "not loaded",
            row["authority"],
            row["judged_by"],
        )
    paper().print(table)


@command.command("show")
def show(
    rule_id: Annotated[str, typer.Argument(metavar="ID", help="Such as prescott.ph.")],
    on: Annotated[str | None, typer.Option(help="A day; the version in force on it.")] = None,
    as_json: Json = False,
) -> None:
    """One rule: what it says, where, since when, with its notes. Exit code 2 if not in force.

    Example: pretreat rules show prescott.ph --on 2016-12-31
    """
    _, rule = find(rule_id)
    shown = versions(rule)
    if on is not None:
        shown = (_on(rule, shown, _day(on)),)
    content = {
        **rule.model_dump(mode="json", exclude={"versions"}, exclude_none=True),
        "versions": [_version(version) for version in shown],
    }
    if as_json:
        print(json.dumps(content, ensure_ascii=False, indent=1))
        return
    console = paper()
    for name, value in content.items():
        if name != "versions":
            console.print(f"{name}: {_plain(value)}", soft_wrap=True)
    if not shown:
        console.print("versions: none loaded: no limit in force", soft_wrap=True)
    for version in content["versions"]:
        line = ", ".join(f"{key} {_plain(value)}" for key, value in version.items())
        console.print(f"version: {line}", soft_wrap=True)


@command.command("check")
def check(
    file: Annotated[Path | None, typer.Argument(help="A rulebook in YAML.")] = None,
    schema_only: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of a rulebook.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Whether a rulebook file would be loaded; else one sentence that says why not.

    Example: pretreat rules check amended.yaml
    """
    if schema_only:
        print(json.dumps(schema(), ensure_ascii=False, indent=1))
        return
    if file is None:
        raise InputError("rules check needs a FILE.yaml, or --schema")
    book = parse(text_of(file), file.name)
    warnings = list(weaker(book))
    found = {"rulebook": book.name, "rules": len(book.rules), "sha256": book.sha256}
    if as_json:
        print(json.dumps({**found, "warnings": warnings}, ensure_ascii=False))
        return
    print(f"{file.name}: rulebook {book.name}, {len(book.rules)} rules, nothing to correct")
    for warning in warnings:
        print(f"warning: {warning}")


def _on(rule: Rule, among: tuple[AnyVersion, ...], day: date) -> AnyVersion:
    try:
        return in_force(rule.id, among, day)
    except NotInForce as error:
        why = rule.reason or "our text holds none for that day"
        raise NotInForceThen(f"{error}: {why}") from None


class NotInForceThen(InputError):
    """A version was asked for on a day that has none."""


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(f"--on is {text!r}, expected a day such as 2026-03-01") from None


def _summary(book: str, rule: Rule) -> dict[str, Any]:
    latest = versions(rule)[-1] if rule.versions else None
    return {
        "id": rule.id,
        "rulebook": book,
        "kind": rule.kind,
        "says": rule.says,
        "citation": rule.citation,
        "authority": rule.authority.value,
        "judged_by": rule.judged_by.value,
        "reason": rule.reason,
        "effective": latest.effective.isoformat() if latest and latest.effective else None,
        "numbers": _numbers(latest) if latest else "",
        "versions": len(rule.versions),
    }


_DATES = {"effective", "ended", "adopted", "note"}


def _numbers(version: AnyVersion) -> str:
    given = version.model_dump(mode="json", exclude=_DATES, exclude_none=True)
    return ", ".join(f"{name.replace('_', ' ')} {_plain(value)}" for name, value in given.items())


def _version(version: AnyVersion) -> dict[str, Any]:
    given = version.model_dump(mode="json", exclude_none=True)
    return {"effective": None, **given}


def _plain(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "not stated" if value is None else str(value)
