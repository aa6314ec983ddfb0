"""`pretreat bench`: measured speed beside a peer, in the same run."""

from __future__ import annotations

import json
import os
import platform
import sys
from enum import StrEnum
from typing import Annotated

import typer

from app.commands.modbus_maps import print_grid
from ingest import bench_decode, bench_poll
from ingest.bench import Row

command = typer.Typer(no_args_is_help=True, add_completion=False)


class Size(StrEnum):
    """A short run that shows the way, or the one whose figures count."""

    SMALL = "small"
    FULL = "full"


@command.callback()
def bench() -> None:
    """Measured speed beside a peer, in the same run.

    Example: pretreat bench decode --size small
    """


@command.command("decode")
def decode(
    size: Annotated[Size, typer.Option(help="small: seconds; full: minutes.")] = Size.SMALL,
    map_name: Annotated[
        list[str] | None, typer.Option("--map", metavar="NAME", help="Only this map; repeatable.")
    ] = None,
    table: Annotated[bool, typer.Option("--table", help="For people.")] = False,
) -> None:
    """Words to values with their quality, beside pymodbus entry by entry.

    Example: pretreat bench decode --size small --map hach-sc4500
    """
    rows = bench_decode.rows(size.value, map_name or ())
    _print("decode", size, rows, table=table)


@command.command("poll")
def poll(
    size: Annotated[Size, typer.Option(help="small: half a minute; full: minutes.")] = Size.SMALL,
    table: Annotated[bool, typer.Option("--table", help="For people.")] = False,
) -> None:
    """What one worker polls and stores, how late and at what cost, beside other pollers.

    It starts a database, a worker and gateways of its own in a temporary folder; full also fetches
    the ThingsBoard gateway into an environment there.

    Example: pretreat bench poll --size small --table
    """
    rows = bench_poll.rows(bench_poll.SIZES[size.value], told=_tell)
    _print("poll", size, rows, table=table)


def _tell(what: str) -> None:
    print(f"{what} …", file=sys.stderr, flush=True)


def _print(name: str, size: Size, rows: tuple[Row, ...], *, table: bool) -> None:
    if not table:
        print(json.dumps(_report(name, size, rows)))
        return
    heads = ("what", "figure", "unit", "against", "figure", "ratio")
    print_grid(heads, [_shown(row) for row in rows])


def _report(name: str, size: Size, rows: tuple[Row, ...]) -> dict[str, object]:
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
    """Without digits that say nothing."""
    return round(figure) if abs(figure) >= 100 or figure == round(figure) else round(figure, 2)


def _shown(row: Row) -> tuple[str, ...]:
    ours, theirs = (f"{_rounded(each):,}" for each in (row.figure, row.against_figure))
    return (row.what, ours, row.unit, row.against, theirs, f"{row.ratio:.1f}")
