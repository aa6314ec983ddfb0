"""`pretreat import`: write a site document into the database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from compliance import settings
from compliance.errors import InputError
from compliance.jobs import site
from compliance.records import schema
from compliance.records.engine import opened

command = typer.Typer()


@command.callback(invoke_without_command=True)
def import_site(
    file: Annotated[Path, typer.Argument(metavar="SITE.yaml")],
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Write cities, users, points, gateways, instruments and channels: all of it or nothing.

    Example: pretreat import site.yaml
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from None
    document = site.parse(text, file=str(file))
    with opened(settings.load()) as engine:
        schema.require(engine)
        count = site.store(engine, document)
    if as_json:
        print(json.dumps(count))
    else:
        print(", ".join(f"{number} {what}" for what, number in count.items()))
