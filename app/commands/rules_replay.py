"""``pretreat rules replay``: the past under an amended rulebook, before and after, by user."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from app.commands.paper import paper
from app.commands.progress import tell, told
from app.explaining import fact
from compliance import settings
from compliance.errors import InputError
from compliance.jobs import replay as jobs
from compliance.jobs.replay import AtPoint, Replayed
from compliance.judging.replay import Becomes, Compared, counts
from compliance.model.findings import Exceedance
from compliance.records import schema
from compliance.records.engine import opened, reading
from compliance.rules.book import parse

MARK = "what-if, no finding"


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE.yaml", help="The amended rulebook.")],
    since: Annotated[str, typer.Option(metavar="DATE", help="From this civil day on.")],
    city: Annotated[
        str | None, typer.Option(metavar="NAME", help="One city by its short name; else all.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """What an amended ordinance would have found: what-if, no finding; nothing is stored.

    The readings and results on record are judged under the file, and under the rulebook of the
    same name that is in force, by the same functions. Rules that judge as before are not judged
    again. Exit code 0, whatever comes out: nobody is accused by it.

    Example: pretreat rules replay amended.yaml --since 2025-01-01 --city prescott
    """
    amended = parse(_text(file), file.name)
    day = _day(since)
    with opened(settings.load()) as engine, told():
        schema.require(engine)
        with reading(engine) as db:
            done = jobs.run(db, amended, since=day, now=datetime.now(UTC), city=city, tell=tell)
    if as_json:
        print(json.dumps(to_json(done), ensure_ascii=False, indent=1))
    else:
        _print(done)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not text in UTF-8"
        raise InputError(f"{file} cannot be read ({why}); expected a rulebook in YAML") from None


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(f"--since is {text!r}, expected a day such as 2025-01-01") from None


def to_json(done: Replayed) -> dict[str, Any]:
    """A replay as data: by user, and of each rule what differs."""
    zone = done.book.zone
    return {
        "mark": MARK,
        "rulebook": done.book.name,
        "sha256": done.book.sha256,
        "cities": list(done.cities),
        "since": done.since.isoformat(),
        "until": done.until.astimezone(zone).isoformat(),
        "readings": done.readings,
        "results": done.results,
        "rules_changed": [pair.rule_id for pair in done.changes.judged],
        "rules_unchanged": list(done.changes.same),
        "not_replayed": [
            {"rule": rule, "reason": why} for rule, why in done.changes.not_replayed.items()
        ],
        "destroyed": list(done.destroyed),
        "users": [
            {"city": city, "industrial_user": user, "rules": [_rule(one, zone) for one in found]}
            for (city, user), found in _by_user(done)
        ],
    }


def _by_user(done: Replayed) -> list[tuple[tuple[str, str], list[AtPoint]]]:
    def whose(one: AtPoint) -> tuple[str, str]:
        return one.city, one.industrial_user

    found = sorted(done.found, key=lambda one: (*whose(one), one.rule_id, one.point))
    return [(key, list(group)) for key, group in groupby(found, key=whose)]


def _rule(one: AtPoint, zone: ZoneInfo) -> dict[str, Any]:
    became = counts(one.events)
    return {
        "rule": one.rule_id,
        "point": one.point,
        "before": _side([event.before for event in one.events]),
        "after": _side([event.after for event in one.events]),
        **{kind.value: became[kind] for kind in Becomes},
        "events": [
            _event(event, zone) for event in one.events if event.becomes is not Becomes.SAME
        ],
    }


def _side(facts: list[Exceedance | None]) -> dict[str, int]:
    found = [one for one in facts if one is not None]
    return {"events": len(found), "seconds_beyond": sum(one.seconds_beyond for one in found)}


def _event(event: Compared, zone: ZoneInfo) -> dict[str, Any]:
    return {
        "becomes": event.becomes.value,
        "before": fact(event.before, zone) if event.before else None,
        "after": fact(event.after, zone) if event.after else None,
    }


def _print(done: Replayed) -> None:
    console = paper()
    title = f"{MARK}: {done.book.name} as amended, since {done.since}, {', '.join(done.cities)}"
    console.print(title, soft_wrap=True)
    if not done.changes.judged:
        console.print("The file judges readings and results as the rulebook in force does.")
    table = Table(box=SIMPLE_HEAD)
    for heading in ("user", "point", "rule", "before", "after", "new", "gone", "changed"):
        table.add_column(heading, overflow="fold")
    for (_, user), found in _by_user(done):
        for row in (_rule(one, done.book.zone) for one in found):
            sides = [_said(row[side]) for side in ("before", "after")]
            became = [str(row[kind]) for kind in ("new", "gone", "changed")]
            table.add_row(user, row["point"], row["rule"], *sides, *became)
    if table.row_count:
        console.print(table)
    elif done.changes.judged:
        console.print("No reading or result on record since then is judged by what changes.")
    _print_rest(done)


def _print_rest(done: Replayed) -> None:
    """What was not judged, and how much was."""
    console = paper()
    for rule, why in done.changes.not_replayed.items():
        console.print(f"Not replayed: {rule}: {why}", soft_wrap=True)
    for point in done.destroyed:
        console.print(
            f"{point}: readings were destroyed under a records schedule; that part is not judged",
            soft_wrap=True,
        )
    console.print(
        f"{done.readings:,} readings and {done.results:,} results judged; nothing was written."
    )


def _said(side: dict[str, int]) -> str:
    events = "1 event" if side["events"] == 1 else f"{side['events']} events"
    return f"{events}, {side['seconds_beyond']:,} s beyond"
