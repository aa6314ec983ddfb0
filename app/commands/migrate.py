"""`pretreat migrate`: bring the database schema up to date, or print the history as SQL."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from compliance import settings
from compliance.records import schema, timescale
from compliance.records.engine import opened

command = typer.Typer(add_completion=False)


@command.callback(invoke_without_command=True)
def migrate(
    sql: Annotated[bool, typer.Option("--sql", help="Print the SQL and change nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Bring the database schema up to date and say which edition serves it.

    Example: DATABASE_URL=postgresql://city@db/pretreat pretreat migrate
    """
    if sql:
        print(schema.as_sql())
        return
    with opened(settings.load()) as engine:
        schema.upgrade(engine)
        with engine.connect() as db:
            edition = timescale.edition(db)
            told = {
                "revision": schema.current(db),
                "edition": edition,
                "hypertable": timescale.is_hypertable(db, "reading"),
            }
    if as_json:
        print(json.dumps(told))
    else:
        print(f"schema {told['revision']}, {timescale.EDITIONS[edition]}")
