"""`pretreat …`: one file a command, each a Typer app named ``command``; the composition root.

A command is imported when it is called, so that ``pretreat check`` starts without a web server.
"""

from __future__ import annotations

import importlib
import sys

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from compliance.errors import ComplianceError

COMMANDS = {
    "demo": "everything from nothing, with two sample cities and simulated manholes",
    "serve": "the web process",
    "work": "the evaluation loop, queued jobs and webhook deliveries",
    "ingest": "one worker that polls gateways",
    "token": "what remote sites show at the door: add, list, revoke",
    "migrate": "bring the database schema up to date",
    "import": "write cities, users, points and instruments from a site document",
    "check": "what the rulebooks find in a historian export",
    "rules": "rulebooks: list, show",
    "billing": "bill runs over accounts",
    "lab": "what an upload of a laboratory file would do",
    "modbus": "simulate, read, decode, maps: instruments and their registers",
    "faults": "kill, starve and mislead a real installation, and count what is lost",
    "bench": "measured speed beside a peer, in the same run",
}

HIDDEN = {"seed": "fill a fresh database with the demo's history"}
MODULES = {"import": "import_site"}
"""Where a module cannot bear its command's name."""


class Lazy(TyperGroup):
    """Finds a subcommand's module when it is asked for."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return list(COMMANDS)

    def get_command(self, ctx: typer.Context, cmd_name: str) -> TyperGroup | TyperCommand | None:  # type: ignore[override]
        if cmd_name not in COMMANDS | HIDDEN:
            return None
        module = importlib.import_module(f"app.commands.{MODULES.get(cmd_name, cmd_name)}")
        command: TyperGroup | TyperCommand = typer.main.get_command(module.command)  # type: ignore[assignment]
        command.name = cmd_name
        command.help = command.help or (COMMANDS | HIDDEN)[cmd_name]
        return command


pretreat = typer.Typer(
    cls=Lazy, add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True
)


@pretreat.callback()
def _root() -> None:
    """Watches what industries discharge to the public sewer.

    Example: pretreat check readings.csv --ordinance prescott
    """


def main() -> None:
    """Run a command; whatever goes wrong is one sentence and exit code 2."""
    try:
        pretreat(prog_name="pretreat")
    except ComplianceError as error:
        print(f"pretreat: {error}", file=sys.stderr)
        sys.exit(2)
