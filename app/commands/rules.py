from __future__ import annotations

import typer

command = typer.Typer()


@command.command("list")
def _list() -> None:
    """x"""


@command.command("show")
def _show(id: str) -> None:
    """x"""
