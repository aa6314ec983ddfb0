"""`pretreat faults`: kill, starve and mislead a real installation, and count what is lost."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from contextlib import suppress
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from app.faults import trials, verdict
from app.faults.scene import Scene, Size, opened, until
from app.faults.verdict import Row
from compliance.errors import StorageError
from compliance.model.periods import to_us
from ingest import plant

command = typer.Typer(add_completion=False)

SETTLED = timedelta(seconds=1)
"""Slots younger than this may still be on their way."""


class SizeName(StrEnum):
    """How much is tried."""

    SMALL = "small"
    FULL = "full"


SIZES = {
    SizeName.SMALL: Size(gateways=20, channels=25, interval_ms=500, kills=3, seconds=3),
    SizeName.FULL: Size(gateways=100, channels=20, interval_ms=1000, kills=20, seconds=30),
}


@command.callback(invoke_without_command=True)
def faults(
    size: Annotated[
        SizeName, typer.Option(help="small: a minute or two; full: a quarter hour.")
    ] = (SizeName.SMALL),
    only: Annotated[str, typer.Option(help="Only the faults whose name has this in it.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Do to a running installation what happens to one in a year, and compare.

    Whatever a worker has accepted must be stored, each reading once and unchanged, and each missing
    slot must have its reason; exit code 1 where not. It uses a database server and folders of its
    own.

    Example: pretreat faults --size small
    """
    chosen = SIZES[size]
    possible = trials.possible()
    if len(possible) < len(trials.TRIALS):
        print("disk full: not tried, this account may mount no disk", file=sys.stderr)
    rows: list[Row] = []
    with (
        tempfile.TemporaryDirectory(prefix="pretreat-faults-") as folder,
        plant.running(chosen.gateways) as gateways,
    ):
        home = Path(folder)
        home.chmod(0o755)  # the server runs as another account
        with opened(home, chosen, [one.port for one in gateways]) as scene:
            scene.start(trials.MAIN)
            since = _first_slot(scene)

            def set_mood(number: int, mood: str) -> None:
                gateways[number].mood = plant.Mood(mood)

            for name, trial in possible:
                if only not in name:
                    continue
                began = time.monotonic()
                times = trial(scene, set_mood)
                trials.wait_until_all_are_polled(scene)
                row = _judged(scene, name, times, since=since)
                rows.append(row)
                took = time.monotonic() - began
                print(f"{name}: {took:.0f} s", file=sys.stderr, flush=True)
                since += timedelta(seconds=row.seconds)
    _show(rows, chosen, size, as_json=as_json)
    if not rows or not all(row.is_sound for row in rows):
        raise typer.Exit(1)


def _first_slot(scene: Scene) -> datetime:
    """A whole second from which on everything is polled."""
    trials.wait_until_all_are_polled(scene)
    return (verdict.now() + timedelta(seconds=1)).replace(microsecond=0)


def _judged(scene: Scene, name: str, times: int, *, since: datetime) -> Row:
    """Wait until all that was accepted has arrived, a minute at most, and compare."""
    end = verdict.now().replace(microsecond=0)
    time.sleep(SETTLED.total_seconds())
    with suppress(StorageError):
        until(lambda: verdict.drained(scene.engine, scene.ledger, since=since, until=end))
    row = verdict.judge(
        scene.engine,
        scene.ledger,
        name,
        times=times,
        since=since,
        until=end,
        poison=plant.POISON,
    )
    scene.ledger.forget(to_us(end))
    return row


def _show(rows: list[Row], chosen: Size, size: SizeName, *, as_json: bool) -> None:
    if as_json:
        told = {
            "size": size.value,
            "channels": chosen.gateways * chosen.channels,
            "readings_per_second": chosen.readings_per_second,
            "rows": [row.plain() for row in rows],
        }
        print(json.dumps(told))
        return
    heading = [name.replace("_", " ") for name in Row.__slots__]
    table = Table(*heading, "sound")
    for row in rows:
        values = row.plain()
        table.add_row(*(str(value) for value in values.values()))
    Console(width=200).print(table)
