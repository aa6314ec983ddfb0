"""`pretreat ingest`: one worker that polls gateways until it is told to stop."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import structlog
import typer

from compliance.settings import load
from ingest import worker as ingest_worker

command = typer.Typer(add_completion=False)


@command.callback(invoke_without_command=True)
def ingest(
    worker: Annotated[
        str, typer.Option(help="The worker's name: its spool's folder and its key in the database.")
    ] = "main",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object when it ends.")
    ] = False,
) -> None:
    """Poll every configured gateway, spool the readings to disk and store them.

    Ends within two seconds of SIGTERM or Ctrl-C, with everything synced.

    Example: pretreat ingest --worker north
    """
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    tally = ingest_worker.run(load(), worker=worker)
    if as_json:
        print(json.dumps(tally))
    else:
        print(f"accepted {tally['accepted']} readings, stored {tally['stored']}")
