"""`pretreat audit`: what people changed, and whether the log of it is whole."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from compliance import settings
from compliance.errors import InputError
from compliance.records import audit, schema
from compliance.records.audit import Entry, Proof
from compliance.records.engine import opened

command = typer.Typer(add_completion=False, no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
WEEK = timedelta(days=7)


@command.callback()
def _root() -> None:
    """What people changed: an append-only log whose rows are hashed one with another.

    Example: pretreat audit verify
    """


@command.command()
def verify(as_json: AsJson = False) -> None:
    """Compute every hash of the log anew; exit code 1 names the first row that does not hold.

    Keep the head it prints somewhere else: rows cut off at the end show only against that.

    Example: pretreat audit verify --json
    """
    with opened(settings.load()) as engine:
        schema.require(engine)
        with engine.connect() as db:
            proof = audit.verify(db)
    print(json.dumps(_proof(proof)) if as_json else _sentence(proof))
    raise typer.Exit(0 if proof.first_bad is None else 1)


@command.command(name="list")
def list_(
    since: Annotated[
        str, typer.Option(metavar="INSTANT", help="A date or an instant in UTC; else a week back.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """The entries from an instant on, oldest first.

    Example: pretreat audit list --since 2026-03-01
    """
    start = _instant(since) if since else datetime.now(UTC) - WEEK
    with opened(settings.load()) as engine:
        schema.require(engine)
        with engine.connect() as db, closing(audit.entries(db, since=start)) as walk:
            found = list(walk)
    if as_json:
        print(json.dumps({"entries": [_entry(one) for one in found]}, ensure_ascii=False))
        return
    _print(found, start)


def _print(found: list[Entry], since: datetime) -> None:
    console = Console(soft_wrap=True)
    if not found:
        console.print(f"nothing was changed since {since.isoformat(timespec='seconds')}")
        return
    table = Table("no.", Column("at", min_width=len("2026-03-01T08:00:00+00:00")))
    for name in ("by", "act", "subject", "detail"):
        table.add_column(name, overflow="fold")
    for one in found:
        said = ", ".join(f"{key} {value}" for key, value in one.detail.items() if value != "")
        at = one.at.astimezone(UTC).isoformat(timespec="seconds")
        table.add_row(str(one.id), at, *map(escape, (one.by, one.act, one.subject, said)))
    console.print(table)


def _proof(proof: Proof) -> dict[str, object]:
    return {
        "whole": proof.first_bad is None,
        "count": proof.count,
        "head": proof.head,
        "first_bad": proof.first_bad,
        "why": proof.why or None,
    }


def _sentence(proof: Proof) -> str:
    if proof.first_bad is None:
        return f"{proof.count} entries, each whole and in its place; head {proof.head}"
    return (
        f"row {proof.first_bad} does not hold: {proof.why}; the {proof.count} before it are whole"
    )


def _entry(one: Entry) -> dict[str, object]:
    return {
        "id": one.id,
        "at": one.at.astimezone(UTC).isoformat(),
        "by": one.by,
        "act": one.act,
        "subject": one.subject,
        "detail": one.detail,
        "sha256": one.sha256,
    }


def _instant(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InputError(
            f"--since is {text!r}; expected a date or an instant such as 2026-03-01T08:00:00-06:00"
        ) from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
