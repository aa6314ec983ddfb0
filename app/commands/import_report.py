"""What an import shows: its progress while it runs, and what became of every row after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from compliance.model.history import Rejected
from compliance.model.periods import from_us
from compliance.records.present import Differing
from compliance.records.sites import Place
from ingest.history.aside import Aside
from ingest.history.run import ChannelRun, Summary

LISTED = 100
"""So many rejected rows and conflicts stand in the report; the files have all."""
SHOWN = 20
"""So many files stand in the table."""
_COUNTS = ("rows", "readings", "new", "present", "repeated", "conflicts", "rejected")


class Watch:
    """Shows how far a run is, where somebody looks, and sets apart what it cannot take."""

    def __init__(
        self, places: Mapping[int, Place], rejects: Aside, conflicts: Aside, *, is_quiet: bool
    ) -> None:
        self._places, self.rejects, self.conflicts = places, rejects, conflicts
        self.rejected: list[dict[str, Any]] = []
        self.differing: list[tuple[str, Differing]] = []
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[rows]:,} rows"),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=is_quiet or not console.is_terminal,
        )
        self._rows = 0

    def __enter__(self) -> Watch:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def stage(self, name: str, *, size: int) -> None:
        """Begin to show a new stage of so many bytes."""
        self._rows = 0
        self._task = self._progress.add_task(name, total=size, rows=0)

    def advance(self, *, position: int, rows: int) -> None:
        """Show that the files are read up to here."""
        self._rows += rows
        self._progress.update(self._task, completed=position, rows=self._rows)

    def reject(self, file: str, rejected: Sequence[Rejected]) -> None:
        """Set bad rows of a file apart."""
        for one in rejected:
            fault = one.fault
            said = (fault.row, fault.column, fault.found, fault.expected, fault.repair)
            self.rejects.add([(file, *said, one.line)])
            if len(self.rejected) < LISTED:
                keys = ("file", "row", "column", "found", "expected", "repair")
                self.rejected.append(dict(zip(keys, (file, *said), strict=True)))

    def differ(self, file: str, differing: Sequence[Differing]) -> None:
        """Set values of a file apart that differ from what is stored."""
        for one in differing:
            place = self._places[one.channel_id]
            names = (place.point, place.parameter.value, place.entry, place.unit.value)
            values = (_number(one.stored), _number(one.found))
            self.conflicts.add([(file, one.read_at.isoformat(), *names, *values)])
        self.differing += [(file, one) for one in differing[: LISTED - len(self.differing)]]

    def conflict(self, file: str, one: Differing, zone: ZoneInfo) -> dict[str, Any]:
        """A value that was not taken, as the report has it."""
        place = self._places[one.channel_id]
        return {
            "file": file,
            "at": one.read_at.astimezone(zone).isoformat(),
            "point": place.point,
            "parameter": place.parameter.value,
            "entry": place.entry,
            "unit": place.unit.value,
            "stored": _number(one.stored),
            "found": _number(one.found),
        }


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value!r}".removesuffix(".0")


def report(found: Summary, watch: Watch, *, zone: ZoneInfo, dry: bool) -> dict[str, Any]:
    """What a run did, or would do: plain values, instants in ``zone``."""
    totals = {name: found.total("differing" if name == "conflicts" else name) for name in _COUNTS}
    return {
        "dry_run": dry,
        **totals,
        "files": [
            {
                "file": file.name,
                "sha256": file.sha256,
                "layout": file.layout,
                "rows": file.rows,
                "readings": file.readings,
                "new": file.new,
                "present": file.present,
                "repeated": file.repeated,
                "conflicts": file.differing,
                "rejected": file.rejected,
            }
            for file in found.files
        ],
        "channels": [_channel(one, zone) for one in found.channels],
        "rejected_rows": watch.rejected,
        "rejects_file": str(watch.rejects.path) if watch.rejects.rows else None,
        "conflicting": [watch.conflict(file, one, zone) for file, one in watch.differing],
        "conflicts_file": str(watch.conflicts.path) if watch.conflicts.rows else None,
        "warnings": found.warnings,
    }


def _channel(one: ChannelRun, zone: ZoneInfo) -> dict[str, Any]:
    return {
        "point": one.place.point,
        "parameter": one.place.parameter.value,
        "entry": one.place.entry,
        "unit": one.place.unit.value,
        "readings": one.run.readings,
        "from": from_us(one.run.first_us).astimezone(zone).isoformat()
        if one.run.readings
        else None,
        "to": from_us(one.run.last_us).astimezone(zone).isoformat() if one.run.readings else None,
        "interval_seconds": None if one.interval_ms is None else f"{one.interval_ms / 1000:g}",
        "cadence": one.cadence,
    }


def print_report(content: Mapping[str, Any]) -> None:
    """The report for people."""
    console = Console(soft_wrap=True)
    _print_files(console, content)
    channels = Table(title="Channels", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("channel", "readings", "from", "to", "each", "cadence"):
        channels.add_column(heading, no_wrap=True)
    for row in content["channels"]:
        each = "" if row["interval_seconds"] is None else f"{row['interval_seconds']} s"
        channels.add_row(
            escape(f"{row['point']}:{row['parameter']}"),
            str(row["readings"]),
            _minute(row["from"]),
            _minute(row["to"]),
            each,
            row["cadence"],
        )
    console.print(channels)
    _print_aside(console, content)
    done = "Dry run: nothing was stored. It would be" if content["dry_run"] else "Stored:"
    console.print(
        f"{done} {content['new']} new readings; {content['present']} were there already.",
        highlight=False,
    )


def _print_files(console: Console, content: Mapping[str, Any]) -> None:
    files = Table(title="Files", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    names = ("rows", "new", "present", "repeated", "conflicts", "rejected")
    for heading in ("file", *names):
        files.add_column(heading, no_wrap=True)
    for row in content["files"][:SHOWN]:
        files.add_row(escape(row["file"]), *(str(row[name]) for name in names))
    console.print(files)
    if len(content["files"]) > SHOWN:
        console.print(f"and {len(content['files']) - SHOWN} more files; --json has all")


def _minute(instant: str | None) -> str:
    """An instant short enough for a table: its offset is that of --tz."""
    return "" if instant is None else instant[:16].replace("T", " ")


def _print_aside(console: Console, content: Mapping[str, Any]) -> None:
    for what, rows, path in (
        ("rejected rows", content["rejected"], content["rejects_file"]),
        ("values that differ from what is there, not taken", content["conflicts"],
         content["conflicts_file"]),
    ):  # fmt: skip
        if path:
            console.print(f"{rows} {what}: {path}", markup=False, highlight=False)
    for warning in content["warnings"]:
        console.print(f"Warning: {warning}", markup=False, highlight=False)
