"""`pretreat restore`: a backup into an empty database, compared with what was saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from compliance import settings
from compliance.jobs.backup import Restored, restore
from compliance.records import schema
from compliance.records.engine import opened

command = typer.Typer(add_completion=False)


@command.command()
def restoring(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of pretreat backup.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Restore a backup into an empty database, all of it or nothing, and prove it.

    The rows of every table, the head of the audit log and each of its hashes are compared with what
    was saved. Exit code 0: all is there; 1: the first difference is told; 2: nothing came in.

    Example: DATABASE_URL=postgresql://city@db/drill pretreat restore /backup/pretreat.tar
    """
    own = settings.load()
    with opened(own) as engine:
        done = restore(engine, file, home=own.home)
    print(json.dumps(_as_json(file, done), ensure_ascii=False) if as_json else _said(file, done))
    raise typer.Exit(0 if done.difference is None else 1)


def _said(file: Path, done: Restored) -> str:
    if done.difference is not None:
        return f"{file} was restored, and it is not what was saved: {done.difference}"
    rows, tables = sum(done.found.counts.values()), len(done.found.counts)
    text = (
        f"{file} of {done.manifest.made_at.isoformat(timespec='seconds')} is restored: {rows:,} "
        f"rows in {tables} tables and {done.proof.count} entries of the audit log, as saved; head "
        f"{done.proof.head}"
    )
    return text if _is_current(done) else f"{text}; now run: pretreat migrate"


def _is_current(done: Restored) -> bool:
    return done.found.revision == schema.head()


def _as_json(file: Path, done: Restored) -> dict[str, Any]:
    return {
        "file": str(file),
        "whole": done.difference is None,
        "difference": done.difference,
        "made_at": done.manifest.made_at.isoformat(),
        "revision": done.found.revision,
        "needs_migrate": not _is_current(done),
        "counts": dict(done.found.counts),
        "audit": {
            "count": done.proof.count,
            "head": done.found.audit_head,
            "whole": done.proof.first_bad is None,
        },
    }
