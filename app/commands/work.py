"""`pretreat work`: the evaluation loop, and one child for webhook deliveries."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

import typer
from sqlalchemy import Engine

from app import deliver, stopping
from app.release import RELEASE
from compliance import settings
from compliance.jobs import loop
from compliance.records import schema
from compliance.records.engine import opened

command = typer.Typer(add_completion=False)


class Part(StrEnum):
    """What one process may do alone, to spread the work over machines."""

    EVALUATE = "evaluate"
    DELIVER = "deliver"


@command.callback(invoke_without_command=True)
def work(
    only: Annotated[Part | None, typer.Option(help="One part alone.")] = None,
) -> None:
    """Judge what is new, and deliver what happened. More workers are more loops.

    Example: pretreat work --only evaluate
    """
    stop = stopping.on_signals()
    configured = settings.load()
    with opened(configured) as engine:
        schema.require(engine)
        if only is Part.DELIVER:
            deliver.run(configured, engine, stop)
            return
        deliveries = None if only else Deliveries(engine)
        also = [loop.Every(timedelta(seconds=2), deliveries.keep)] if deliveries else []
        try:
            loop.run(engine, stop, release=RELEASE, also=also)
        finally:
            if deliveries:
                deliveries.stop()


class Deliveries:
    """The child that delivers: a process of its own, since a slow receiver must not hold up a
    judgment. One that dies is started again, and its death is a fault."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._child = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "app", "work", "--only", "deliver"],
            preexec_fn=stopping.with_parent,  # noqa: PLW1509 - one system call: no orphans
        )

    def keep(self, _: datetime) -> None:
        """Start the child again if it is gone."""
        if (code := self._child.poll()) is not None:
            loop.note(self._engine, f"the delivery process ended with code {code}; started again")
            self._child = self._start()

    def stop(self) -> None:
        """End the child."""
        self._child.terminate()
        self._child.wait(timeout=20)
