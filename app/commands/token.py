"""`pretreat token`: what a remote site's worker shows at the door, made, listed, revoked."""

from __future__ import annotations

import hashlib
import json
import secrets
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from app.commands.acting import operator
from compliance.records import audit, schema, tokens
from compliance.records.engine import opened
from compliance.settings import load

command = typer.Typer(no_args_is_help=True, add_completion=False)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Worker = Annotated[str, typer.Option(help="The remote worker's name; no other worker may have it.")]


@command.callback()
def _root() -> None:
    """Tokens of remote sites, whose workers send frames over HTTPS.

    Example: pretreat token add --worker lift-station-4 --points MH-7,MH-8
    """


@command.command()
def add(
    worker: Worker,
    points: Annotated[str, typer.Option(help="Monitoring points it sends for, with commas.")],
    as_json: AsJson = False,
) -> None:
    """Make a token and print it, this once: only its digest is kept.

    Example: pretreat token add --worker lift-station-4 --points MH-7,MH-8
    """
    token = "prt_" + secrets.token_urlsafe(32)
    codes = list(dict.fromkeys(code.strip() for code in points.split(",") if code.strip()))
    with opened(load()) as engine:
        schema.require(engine)
        with engine.begin() as db:
            digest = hashlib.sha256(token.encode()).hexdigest()
            tokens.add(db, worker_name=worker, sha256=digest, points=codes)
            detail = {"points": codes}
            audit.note(db, by=operator(), act="make a token", subject=worker, detail=detail)
    if as_json:
        print(json.dumps({"worker": worker, "points": codes, "token": token}))
        return
    print(token)
    Console(stderr=True).print(
        f"It is shown this once. On the site: pretreat ingest --worker {worker} "
        "--forward https://… --token-file FILE"
    )


@command.command(name="list")
def list_(as_json: AsJson = False) -> None:
    """Every token: whose, for which points, in force or not.

    Example: pretreat token list
    """
    with opened(load()) as engine, engine.connect() as db:
        found = tokens.listed(db)
    if as_json:
        print(json.dumps({"tokens": found}))
        return
    table = Table("worker", "points", "made", "state")
    for one in found:
        state = f"revoked {one['revoked_at']}" if one["revoked_at"] else "in force"
        points = one["points"]
        shown = ", ".join(points) if isinstance(points, list) else ""
        table.add_row(str(one["worker"]), shown, str(one["made_at"]), state)
    Console().print(table)


@command.command()
def revoke(worker: Worker, as_json: AsJson = False) -> None:
    """End a token: what it sends from now on is refused.

    Example: pretreat token revoke --worker lift-station-4
    """
    with opened(load()) as engine, engine.begin() as db:
        tokens.revoke(db, worker, now=datetime.now(UTC))
        audit.note(db, by=operator(), act="revoke a token", subject=worker, detail={})
    print(json.dumps({"revoked": worker}) if as_json else f"the token of {worker} is revoked")
