"""`pretreat backup`: the whole database in one file that can prove itself."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from app.commands.acting import operator
from app.release import RELEASE
from compliance import settings
from compliance.jobs.backup import backup
from compliance.model.backup import Manifest
from compliance.records import timescale
from compliance.records.engine import opened

command = typer.Typer(add_completion=False)


@command.command()
def saving(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; it must not be there.")],
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Save the database while everything goes on; the file is there whole, or not at all.

    It holds PostgreSQL's own dump and what it must come to when it is restored. Register maps and
    spools under PRETREAT_HOME are not in it.

    Example: pretreat backup /backup/pretreat-$(date +%F).tar
    """
    own = settings.load()
    with opened(own) as engine:
        made = backup(
            engine,
            file,
            home=own.home,
            force=force,
            by=operator(),
            release=RELEASE,
            now=datetime.now(UTC),
        )
    if as_json:
        print(json.dumps({"file": str(file), **made.to_json()}, ensure_ascii=False))
    else:
        print(_said(file, made))


def _said(file: Path, made: Manifest) -> str:
    holds = made.inventory
    rows = sum(holds.counts.values())
    edition = timescale.EDITIONS[made.server.edition]
    return (
        f"{file}: {made.size:,} bytes of dump, {rows:,} rows in {len(holds.counts)} tables, "
        f"schema {holds.revision}, {edition}; the audit log ends with row {holds.audit_id}, "
        f"head {holds.audit_head or 'none'}"
    )
