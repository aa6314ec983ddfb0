"""``pretreat rules diff A B``: two rulebooks side by side."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from app.commands.paper import paper
from compliance.errors import InputError
from compliance.rules import book
from compliance.rules.book import RuleBook
from compliance.rules.differing import Change, Difference, FieldChange, differences

SHOWN_OF_A_NEW_RULE = ("says", "citation", "at_least", "at_most", "days", "hours", "strength")


def diff(
    before: Annotated[str, typer.Argument(metavar="A", help="A rulebook's name, or a file.")],
    after: Annotated[str, typer.Argument(metavar="B", help="Another, or a changed file.")],
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Rules added, gone and changed, with fields, dates, and since when they judge otherwise.

    Example: pretreat rules diff prescott amended.yaml
    """
    old, new = rulebook(before), rulebook(after)
    found = differences(old, new)
    if as_json:
        shown = [_told(one) for one in found]
        told = {"before": old.name, "after": new.name, "differences": shown}
        print(json.dumps(told, ensure_ascii=False, indent=1))
        return
    if not found:
        print(f"{before} and {after} say the same in {len(old.rules)} rules")
        return
    table = Table("rule", "", "field", "before", "after", "judges otherwise")
    for one in found:
        _add(table, one)
    paper().print(table)


def rulebook(name_or_file: str) -> RuleBook:
    """A rulebook of this release by name, or one read from a file.

    Raises: InputError, RuleError in one sentence.
    """
    if name_or_file in book.books():
        return book.book(name_or_file)
    file = Path(name_or_file)
    if not file.exists() and file.suffix not in (".yaml", ".yml"):
        known = ", ".join(sorted(book.books()))
        raise InputError(f"{name_or_file} is no rulebook and no file; expected {known}, or a file")
    return book.parse(text_of(file), file.name)


def text_of(file: Path) -> str:
    """The text of a file in UTF-8. Raises: InputError."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not text in UTF-8"
        raise InputError(f"{file} cannot be read ({why}); expected text in UTF-8") from None


def _told(one: Difference) -> dict[str, Any]:
    return {
        "rule": one.name,
        "change": one.change.value,
        "judges_otherwise_from": _since(one.judges_from),
        "fields": [
            {"field": f.field, "since": f.since, "before": f.before, "after": f.after}
            for f in one.fields
        ],
    }


def _since(day: date | None) -> str | None:
    if day is None:
        return None
    return "the beginning" if day == date.min else day.isoformat()


def _add(table: Table, one: Difference) -> None:
    since = _since(one.judges_from)
    judges = "no, only words" if since is None else f"from {since}"
    shown: list[FieldChange] = [
        field
        for field in one.fields
        if one.change is Change.CHANGED or field.field in SHOWN_OF_A_NEW_RULE
    ]
    for row, field in enumerate(shown):
        name = f"{field.field} ({field.since})" if field.since else field.field
        first = row == 0
        table.add_row(
            one.name if first else "",
            one.change.value if first else "",
            name,
            _plain(field.before),
            _plain(field.after),
            judges if first else "",
        )


def _plain(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return "" if value is None else str(value)
