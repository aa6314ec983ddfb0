"""`pretreat …`: one file a command, each a Typer app named ``command``; the composition root.

A command is imported when it is called, so that ``pretreat check`` starts without a web server.
"""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import suppress
from typing import Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from compliance.errors import ComplianceError

COMMANDS = {
    "demo": "everything from nothing, with two sample cities and simulated manholes",
    "serve": "the web process",
    "work": "the evaluation loop, queued jobs and webhook deliveries",
    "ingest": "one worker that polls its share of the gateways",
    "token": "what remote sites show at the door: add, list, revoke",
    "migrate": "bring the database schema up to date",
    "import": "a site or permits (YAML), or history from exports (READINGS.csv …)",
    "user": "people who may sign in",
    "audit": "what people changed: verify, list",
    "backup": "the whole database into one file that can prove itself",
    "restore": "such a file into an empty database, compared with what was saved",
    "prune": "destroy what the records schedule lets go; --dry-run says what, and why not",
    "check": "what the rulebooks find in a historian export",
    "snc": "results against limits, counted for significant noncompliance",
    "rules": "rulebooks: list, show",
    "explain": "why a finding is one, judged again from the record; its evidence as one file",
    "capacity": "how much of a plant's design one user takes: the 10 % test on a file of days",
    "billing": "bill runs over accounts",
    "lab": "what an upload of a laboratory file would do",
    "modbus": "simulate, scan, read, decode, totalize, maps: instruments and their registers",
    "sampler": "let a sampler run or stop it, by one write; off unless it is allowed",
    "faults": "kill, starve and mislead a real installation, and count what is lost",
    "bench": "measured speed beside a peer, in the same run",
}

HIDDEN = {"seed": "fill a fresh database with the demo's history"}
SITE_DOCUMENT = (".yaml", ".yml")

UNUSABLE, INTERRUPTED, CLOSED_PIPE = 2, 130, 141
_LONGEST_REASON = 300


def _module(command: str) -> str:
    """Where a command lies: ``import`` reads a site document, or a historian's exports."""
    if command != "import":
        return command
    is_site = any(word.endswith(SITE_DOCUMENT) for word in sys.argv[2:])
    return "import_site" if is_site else "import_history"


class Lazy(TyperGroup):
    """Finds a subcommand's module when it is asked for."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command; where nobody reads what it prints any more, end as others do then."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _close_output()
            raise typer.Exit(CLOSED_PIPE) from None

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return list(COMMANDS)

    def get_command(self, ctx: typer.Context, cmd_name: str) -> TyperGroup | TyperCommand | None:  # type: ignore[override]
        if cmd_name not in COMMANDS | HIDDEN:
            return None
        module = importlib.import_module(f"app.commands.{_module(cmd_name)}")
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
    """Run a command; whatever goes wrong is one sentence and exit code 2.

    A fault of our own is told as such; its traceback is printed where PRETREAT_TRACEBACK is 1.
    """
    try:
        try:
            pretreat(prog_name="pretreat")
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except ComplianceError as error:
        _end(str(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _close_output()
        sys.exit(CLOSED_PIPE)
    except Exception as error:
        # The outermost frame of a process: nothing passes it but a sentence.
        if os.environ.get("PRETREAT_TRACEBACK") == "1":
            raise
        if isinstance(error, OSError):
            _close_output()  # what a full disk did not take is not tried again
        _end(_fault(error))


def _fault(error: Exception) -> str:
    name = sys.argv[1] if len(sys.argv) > 1 and sys.argv[1] in COMMANDS | HIDDEN else ""
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    if len(reason) > _LONGEST_REASON:
        reason = f"{reason[:_LONGEST_REASON]}…"
    return (
        f"an unexpected fault in pretreat {name}".rstrip() + f" ({reason}); please report it with "
        "the command and the file (PRETREAT_TRACEBACK=1 shows where it arose)"
    )


def _end(sentence: str) -> None:
    print(f"pretreat: {sentence}", file=sys.stderr)
    sys.exit(UNUSABLE)


def _close_output() -> None:
    """Let the interpreter flush into nothing when it ends."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
