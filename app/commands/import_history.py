"""`pretreat import READINGS.csv …`: history from a historian's exports into the database."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer
from sqlalchemy import Engine

from app.commands.acting import operator
from app.commands.import_report import Watch, print_report, report
from app.historian import history, tags
from app.historian.clocks import Order
from app.historian.targets import Targets
from compliance import settings
from compliance.errors import InputError
from compliance.records import audit, schema, sites
from compliance.records.engine import opened
from ingest.history.aside import CONFLICTS, REJECTS, Aside
from ingest.history.run import Manner, Summary, run

command = typer.Typer(add_completion=False)

AHEAD = timedelta(minutes=5)
"""So far may the clock of a historian be ahead of ours; a later reading cannot have been read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a person asks of an import; each as the option of its name."""

    tz: str = "America/Chicago"
    fold: str | None = None
    dates: str | None = None
    tags: Path | None = None
    interval: float | None = None
    skip_bad_rows: bool = False
    dry_run: bool = False
    rejects: Path | None = None
    conflicts: Path | None = None
    as_json: bool = False


@command.command()
def import_files(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="CSV, gzip or not; a folder; - is stdin.")
    ],
    tz: Annotated[
        str, typer.Option(help="The zone of times without an offset, or -06:00 all year.")
    ] = "America/Chicago",
    fold: Annotated[
        str | None, typer.Option(help="Which pass of the repeated hour: first or second.")
    ] = None,
    dates: Annotated[
        str | None, typer.Option(help="What comes first in 03/04/2026: month or day.")
    ] = None,
    tag_file: Annotated[
        Path | None, typer.Option("--tags", help="What each tag is; remembered for next time.")
    ] = None,
    interval: Annotated[
        float | None, typer.Option(help="Seconds between readings; else each channel's usual step.")
    ] = None,
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Set bad rows apart and store the others.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen, and store nothing.")
    ] = False,
    rejects: Annotated[
        Path | None, typer.Option(help="Where bad rows go; else beside the first file.")
    ] = None,
    conflicts: Annotated[
        Path | None, typer.Option(help="Where values not taken go; else beside the first file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Store what historians exported; a reading that is there already is left as it is.

    Columns at, point, parameter, value, unit and perhaps quality; or $DATE,$TIME and tags. Run it
    again after whatever stopped it: nothing is stored twice. Exit code 0: all rows are in; 1: rows
    were rejected, or differ from what is there; 2: a file cannot be used, nothing was stored.

    Example: pretreat import readings.csv 2026-*.csv.gz --skip-bad-rows --json
    """
    wanted = Wanted(
        tz=tz,
        fold=fold,
        dates=dates,
        tags=tag_file,
        interval=interval,
        skip_bad_rows=skip_bad_rows,
        dry_run=dry_run,
        rejects=rejects,
        conflicts=conflicts,
        as_json=as_json,
    )
    raise typer.Exit(import_history(files, wanted))


def import_history(files: Sequence[Path], wanted: Wanted) -> int:
    """Import exports and print what became of them; 1 where rows were rejected or differ, else 0.

    Raises: InputError where a file cannot be used: then nothing is stored.
    """
    zone, fold, order = _zone(wanted.tz), _fold(wanted.fold), _order(wanted.dates)
    manner = Manner(
        interval_ms=_milliseconds(wanted.interval),
        skip_bad_rows=wanted.skip_bad_rows,
        dry=wanted.dry_run,
    )
    own = settings.load()
    known, news = _tags(own.home, wanted.tags)
    until = datetime.now(UTC) + AHEAD
    reading = history.Reading(zone=zone, fold=fold, order=order, tags=known, until=until)
    with (
        _plain_files(files) as paths,
        Aside(_beside(wanted.rejects, files, "rejects"), REJECTS, option="--rejects") as rejects,
        Aside(
            _beside(wanted.conflicts, files, "conflicts"), CONFLICTS, option="--conflicts"
        ) as conflicts,
        opened(own) as engine,
    ):
        schema.require(engine)
        with engine.connect() as db:
            places = sites.places(db)
        exports, warnings = history.opened(paths, Targets(places.values()), reading)
        with Watch(places, rejects, conflicts, is_quiet=wanted.as_json) as watch:
            found = run(engine, exports, manner, places=places, watcher=watch)
        if not wanted.dry_run:
            _note(engine, files, found)
        found.warnings[:0] = [*news, *warnings]
    if wanted.tags is not None and not wanted.dry_run:
        tags.remember(own.home, known)
    _print(found, watch, wanted)
    return 1 if found.total("rejected") or found.total("differing") else 0


def _note(engine: Engine, files: Sequence[Path], found: Summary) -> None:
    detail = {name: found.total(name) for name in ("rows", "new", "rejected", "differing")}
    names = ", ".join(file.name for file in files)
    with engine.begin() as db:
        audit.note(db, by=operator(), act="import history", subject=names, detail=detail)


def _print(found: Summary, watch: Watch, wanted: Wanted) -> None:
    content = report(found, watch, zone=_zone(wanted.tz), dry=wanted.dry_run)
    if wanted.as_json:
        print(json.dumps(content, ensure_ascii=False, indent=1))
    else:
        print_report(content)


def _tags(home: Path, given: Path | None) -> tuple[tags.Tags, list[str]]:
    """The tags of earlier imports under those given now, and which of them changed."""
    older = tags.remembered(home)
    if given is None:
        return older, []
    new = tags.read(given)
    changed = [
        f"the tag {tag} was {older.texts[tag]!r} in earlier imports and is {text!r} now"
        for tag, text in new.texts.items()
        if older.texts.get(tag, text) != text
    ]
    return new.over(older), changed


@contextmanager
def _plain_files(files: Sequence[Path]) -> Iterator[list[Path]]:
    """The files themselves; standard input is copied to one, for it is read twice."""
    if Path("-") not in files:
        yield list(files)
        return
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder) / "standard input"
        with copied.open("wb") as target:
            shutil.copyfileobj(sys.stdin.buffer, target)
        yield [copied if file == Path("-") else file for file in files]


def _beside(given: Path | None, files: Sequence[Path], kind: str) -> Path:
    if given is not None:
        return given
    first = files[0]
    if first == Path("-"):
        return Path(f"standard-input.{kind}.csv")
    if first.is_dir():
        return first / f"all.{kind}.csv"
    return first.with_name(f"{Path(first.name.removesuffix('.gz')).stem}.{kind}.csv")


def _zone(name: str) -> ZoneInfo:
    """A zone by its name, or one that keeps an offset of whole hours all year."""
    hours = name[1:3] if len(name) == 6 and name[0] in "+-" and name[3:] == ":00" else ""
    if hours.isdecimal():
        name = f"Etc/GMT{'-' if name[0] == '+' else '+'}{int(hours)}"
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InputError(
            f"--tz is {name!r}; expected the name of a time zone such as America/Chicago, or an "
            "offset of whole hours such as -06:00"
        ) from None


def _fold(text: str | None) -> str | None:
    if text not in (None, "first", "second"):
        raise InputError(f"--fold is {text!r}; expected first or second")
    return text


def _order(text: str | None) -> Order | None:
    try:
        return None if text is None else Order(text)
    except ValueError:
        raise InputError(f"--dates is {text!r}; expected month or day") from None


def _milliseconds(seconds: float | None) -> int | None:
    if seconds is None:
        return None
    if not 0.001 <= seconds <= 2_000_000:
        raise InputError(f"--interval is {seconds:g}; expected a number of seconds from 0.001 on")
    return round(seconds * 1000)
