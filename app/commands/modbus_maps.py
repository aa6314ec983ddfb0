"""`pretreat modbus maps`: the register maps there are, and all that one of them says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from compliance import settings
from compliance.model.register_map import Entry, RegisterMap, Wire
from compliance.records.maps import content, sha256
from ingest import library

_WIDTH_OF_A_FILE = 160


def maps(
    name: Annotated[str | None, typer.Argument(help="One map: its entries and doubts.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """The register maps there are, or all that one of them says.

    Example: pretreat modbus maps siemens-mag6000
    """
    home = settings.load().home
    if name is None:
        _list([library.load(each, home) for each in library.names(home)], as_json=as_json)
        return
    found = library.load(name, home)
    if as_json:
        print(json.dumps({**content(found), "verify_on_site": found.unverified}))
    else:
        _show(found)


def _list(found: list[RegisterMap], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([_summary(each) for each in found]))
        return
    heads = ("name", "instrument", "role", "speaks", "entries", "verify on site")
    rows = [
        (
            each.name,
            f"{each.vendor} {each.model}",
            each.role,
            _protocols(each.wire),
            str(len(each.entries)),
            str(len(each.unverified)),
        )
        for each in found
    ]
    print_grid(heads, rows)


def _summary(each: RegisterMap) -> dict[str, object]:
    return {
        "name": each.name,
        "vendor": each.vendor,
        "model": each.model,
        "role": each.role,
        "protocols": [protocol.value for protocol in each.wire.protocols],
        "needs_write": each.needs_write,
        "entries": len(each.entries),
        "verify_on_site": len(each.unverified),
        "sha256": sha256(each),
    }


def _show(found: RegisterMap) -> None:
    print(f"{found.vendor} {found.model} ({found.role})")
    print(f"document: {found.document}")
    for source in found.sources:
        print(f"  {source}")
    print(f"link: {link_in_words(found)}")
    if found.needs_write:
        print("It measures only when told to; this program never writes, so its values are stale.")
    if found.base_open:
        print("Its block begins where the slot is; give base_address in a map of your own.")
    print("quirks:")
    for quirk in found.quirks:
        print(f"- {quirk}")
    heads = (
        "entry",
        "table",
        "address",
        "printed",
        "type",
        "order",
        "unit",
        "with",
        "evidence",
        "",
    )
    print_grid(heads, [_row(entry) for entry in found.entries.values()])
    count = len(found.unverified)
    print(f"to verify on site: {count} of {len(found.entries)}")
    print_doubts(found)


def link_in_words(found: RegisterMap) -> str:
    """How the instrument wants to be spoken to, in one line."""
    wire = found.wire
    delivered = [str(part) for part in (wire.default_baud, wire.default_parity) if part]
    parts = [
        _protocols(wire),
        wire.baud and f"{', '.join(map(str, wire.baud))} baud",
        wire.parity and ", ".join(wire.parity),
        delivered and f"as delivered {' '.join(delivered)}",
        found.max_registers and f"at most {found.max_registers} registers a request",
        *_habits(wire),
    ]
    return "; ".join(str(part) for part in parts if part)


def _habits(wire: Wire) -> list[str]:
    told = {
        f"answers within {wire.timeout_ms} ms": wire.timeout_ms,
        f"{wire.pause_ms} ms between requests": wire.pause_ms,
        f"sleeps after {wire.wake_up_s} s, and the first request is lost": wire.wake_up_s,
        f"requests of a multiple of {wire.multiple_of} registers": wire.multiple_of > 1,
        "one request for each entry": wire.one_request_per_entry,
        "answers under another unit id": wire.accept_unit_mismatch,
        "answers under another transaction id": wire.ignore_transaction_id,
        "four bytes for each register": wire.wide_registers,
        "values read word by word": wire.split_values,
    }
    return [text for text, is_so in told.items() if is_so]


def _protocols(wire: Wire) -> str:
    named = [protocol.value for protocol in wire.protocols]
    return ", ".join(named) or "protocol not in our sources"


def _row(entry: Entry) -> tuple[str, ...]:
    order = entry.order or ("open" if entry.needs_order else "")
    verify = "verify on site" if entry.verify else ""
    place = (entry.name, entry.table.value, str(entry.address), entry.printed)
    said = (entry.type.value, order, unit_of(entry), _links(entry), entry.evidence, verify)
    return (*place, *said)


def _links(entry: Entry) -> str:
    """The entries that this one is decoded by, or told together with."""
    found = asdict(entry)
    keys = [key for key in found if key == "status" or key.endswith("_register")]
    return ", ".join(str(found[key]) for key in keys if found[key])


def unit_of(entry: Entry) -> str:
    """The unit of an entry as its map words it."""
    return "% of span" if entry.share else entry.unit_text


def print_doubts(found: RegisterMap) -> None:
    """One line for each entry to compare with the display on site."""
    for sentence in found.unverified:
        print(sentence)


def print_grid(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """A readable table, wide enough for a file where nobody looks on."""
    grid = Grid(box=None, pad_edge=False)
    for head in heads:
        grid.add_column(head, overflow="fold", no_wrap=head in ("register", "entry", "name"))
    for row in rows:
        grid.add_row(*(escape(cell) for cell in row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH_OF_A_FILE)
    console.print(grid)
