"""`pretreat bench`: measured speed beside a peer, in the same run."""

from __future__ import annotations

import json
import os
import platform
from enum import StrEnum
from typing import Annotated

import typer

from app.commands.modbus_maps import print_grid
from ingest import bench_decode

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
    if not table:
        print(json.dumps(_report("decode", size, rows)))
        return
    heads = ("what", "values/s", "peer", "values/s", "ratio")
    print_grid(heads, [_shown(row) for row in rows])


def _report(name: str, size: Size, rows: tuple[bench_decode.Row, ...]) -> dict[str, object]:
    return {
        "bench": name,
        "size": size.value,
        "machine": ", ".join(
            (platform.machine(), f"{os.cpu_count()} cores", f"Python {platform.python_version()}")
        ),
        "rows": [
            {
                "what": row.what,
                "figure": round(row.figure),
                "unit": row.unit,
                "against": row.against,
                "against_figure": round(row.against_figure),
                "ratio": round(row.ratio, 2),
            }
            for row in rows
        ],
    }


def _shown(row: bench_decode.Row) -> tuple[str, ...]:
    figures = (f"{row.figure:,.0f}", row.against, f"{row.against_figure:,.0f}")
    return (row.what, *figures, f"{row.ratio:.0f}")
