"""`pretreat ingest`: one worker that polls gateways until it is told to stop."""

from __future__ import annotations

import io
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, TextIO, cast

import structlog
import typer

from compliance.errors import SettingsError
from compliance.settings import load
from ingest import worker as ingest_worker
from ingest.remote import Remote

command = typer.Typer(add_completion=False)


class _Unfailing(io.TextIOBase):
    """A log that a full disk, or a reader that went away, does not make an error of."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


@command.callback(invoke_without_command=True)
def ingest(
    worker: Annotated[
        str, typer.Option(help="The worker's name: its spool's folder and its key in the database.")
    ] = "main",
    forward: Annotated[
        str, typer.Option(help="Send to this server by HTTPS and open no database.", metavar="URL")
    ] = "",
    token_file: Annotated[
        Path | None, typer.Option(help="The file that holds this worker's token, for --forward.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object when it ends.")
    ] = False,
) -> None:
    """Poll a fair share of the configured gateways, spool the readings to disk and store them.

    Each process needs a name of its own; start more of them to share the work. Ends within two
    seconds of SIGTERM or Ctrl-C, with everything synced.

    Example: pretreat ingest --worker north
    """
    structlog.configure(
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _Unfailing(sys.stderr)))
    )
    tally = ingest_worker.run(load(), worker=worker, remote=_remote(forward, token_file))
    if as_json:
        print(json.dumps(tally))
    else:
        print(f"accepted {tally['accepted']} readings, stored {tally['stored']}")


def _remote(forward: str, token_file: Path | None) -> Remote | None:
    if not forward and token_file is None:
        return None
    if not forward or token_file is None:
        raise SettingsError("--forward and --token-file go together; give both or neither")
    return Remote.read(forward, token_file)
