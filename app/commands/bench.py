"""`pretreat bench`: measured speed beside a peer, in the same run."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from app.bench import evaluate as bench_evaluate
from app.bench import live as bench_live
from app.bench import query as bench_query
from app.bench import store as bench_store
from app.commands.modbus_maps import print_grid
from compliance import settings
from compliance.model.bench import Row
from ingest import bench_decode, bench_poll

command = typer.Typer(no_args_is_help=True, add_completion=False)


class Size(StrEnum):
    """A short run that shows the way, or the one whose figures count."""

    SMALL = "small"
    FULL = "full"


Sized = Annotated[Size, typer.Option(help="small: seconds; full: minutes.")]
Table = Annotated[bool, typer.Option("--table", help="For people.")]


@command.callback()
def bench() -> None:
    """Measured speed beside a peer, in the same run.

    Example: pretreat bench decode --size small
    """


@command.command("decode")
def decode(
    size: Sized = Size.SMALL,
    map_name: Annotated[
        list[str] | None, typer.Option("--map", metavar="NAME", help="Only this map; repeatable.")
    ] = None,
    table: Table = False,
) -> None:
    """Words to values with their quality, beside pymodbus entry by entry.

    Example: pretreat bench decode --size small --map hach-sc4500
    """
    _print("decode", size, bench_decode.rows(size.value, map_name or ()), table=table)


@command.command("poll")
def poll(size: Sized = Size.SMALL, table: Table = False) -> None:
    """What one worker polls and stores, how late and at what cost, beside other pollers.

    It starts a database, a worker and gateways of its own in a temporary folder; full also fetches
    the ThingsBoard gateway into an environment there.

    Example: pretreat bench poll --size small --table
    """
    rows = bench_poll.rows(bench_poll.SIZES[size.value], told=_tell)
    _print("poll", size, rows, table=table)


@command.command("store")
def store(size: Sized = Size.SMALL, table: Table = False) -> None:
    """Batches with their keys and marks, beside plain COPY of the same readings.

    Example: pretreat bench store --size small --table
    """
    _print("store", size, bench_store.rows(settings.load(), size.value), table=table)


@command.command("query")
def query(size: Sized = Size.SMALL, table: Table = False) -> None:
    """What boards and reports ask of a long history, beside the limits and beside a short one.

    Example: pretreat bench query --size full
    """
    _print("query", size, bench_query.rows(settings.load(), size.value), table=table)


@command.command("evaluate")
def evaluate(size: Sized = Size.SMALL, table: Table = False) -> None:
    """Excursions and screening from arrays, and a city judged again from its database.

    Example: pretreat bench evaluate --size small
    """
    _print("evaluate", size, bench_evaluate.rows(settings.load(), size.value), table=table)


@command.command("live")
def live(size: Sized = Size.SMALL, table: Table = False) -> None:
    """From a register that changes to a detection that is stored, under full load.

    Example: pretreat bench live --size full
    """
    _print("live", size, bench_live.rows(settings.load(), size.value), table=table)


def _tell(what: str) -> None:
    print(f"{what} …", file=sys.stderr, flush=True)


def _print(name: str, size: Size, rows: Sequence[Row], *, table: bool) -> None:
    if not table:
        print(json.dumps(_report(name, size, rows)))
        return
    heads = ("what", "figure", "unit", "against", "figure", "ratio")
    print_grid(heads, [_shown(row) for row in rows])


def _report(name: str, size: Size, rows: Sequence[Row]) -> dict[str, object]:
    return {
        "bench": name,
        "size": size.value,
        "machine": ", ".join(
            (platform.machine(), f"{os.cpu_count()} cores", f"Python {platform.python_version()}")
        ),
        "rows": [
            {
                "what": row.what,
                "figure": _rounded(row.figure),
                "unit": row.unit,
                "against": row.against,
                "against_figure": _rounded(row.against_figure),
                "ratio": round(row.ratio, 2),
            }
            for row in rows
        ],
    }


def _rounded(figure: float) -> float | int:
    """Four digits, whole numbers of what is counted."""
    return round(figure) if abs(figure) >= 1000 else float(f"{figure:.4g}")


def _shown(row: Row) -> tuple[str, ...]:
    ours, theirs = (f"{_rounded(each):,}" for each in (row.figure, row.against_figure))
    return (row.what, ours, row.unit, row.against, theirs, f"{row.ratio:.2f}")
