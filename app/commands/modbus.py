"""`pretreat modbus`: simulate, scan, read, maps and decode, without a database."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Coroutine
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console

from app.commands.modbus_maps import maps, print_doubts, print_grid, unit_of
from app.commands.modbus_totalize import totalize
from compliance import settings
from compliance.errors import InputError
from compliance.model.endpoints import parse
from compliance.model.faults import brief
from compliance.model.periods import FIRST_YEAR, LAST_YEAR
from compliance.model.readings import reasons
from compliance.model.register_map import Entry, Order, RegisterType
from ingest import commission, library, scenario, simulator
from ingest.client import Link
from ingest.commission import Shown
from ingest.decode import Decoded, decode

command = typer.Typer(no_args_is_help=True, add_completion=False)
command.command("totalize")(totalize)
command.command("maps")(maps)

T = TypeVar("T")
_LARGEST_POWER = 30
_LONGEST_WORD = 600  # of decimal digits: a register string of 125 words has as many
_DIGITS_SHOWN = 12
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]
Address = Annotated[
    str,
    typer.Argument(
        metavar="HOST[:PORT]",
        help="Or rtu+tcp://HOST:PORT, ascii+tcp://…, serial:/dev/ttyUSB0?baud=9600&parity=E.",
    ),
]
Seconds = Annotated[
    float, typer.Option("--timeout", help="Seconds to wait for an answer.", min=0.05)
]


@command.callback()
def modbus() -> None:
    """Instruments and their registers: simulate, scan, read, maps, decode, totalize.

    Example: pretreat modbus decode --type float32 --order CDAB 0x8000 0x4336
    """


@command.command("simulate")
def simulate(
    file: Annotated[str, typer.Argument(metavar="SCENARIO.yaml", help="A file, or: demo.")],
    port_base: Annotated[
        int | None, typer.Option(help="First of consecutive ports.", min=1, max=65500)
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="Instant with offset from which live events count.")
    ] = None,
) -> None:
    """Control manholes that answer Modbus TCP until Ctrl-C.

    Example: pretreat modbus simulate demo --port-base 15021
    """
    loaded = scenario.load(scenario.find(file), settings.load().home).moved(port_base)
    started_at = _now() if start is None else _instant(start)

    def ready() -> None:
        for manhole in loaded.manholes:
            units = ", ".join(f"unit {u.unit} {u.map.name} {u.order}" for u in manhole.units)
            print(f"{manhole.point} at {manhole.host}:{manhole.port}: {units}", flush=True)

    _run(simulator.serve(loaded, started_at=started_at, clock=_now, ready=ready))


@command.command("scan")
def scan(
    address: Address,
    unit: Annotated[
        int | None, typer.Option(help="Only this unit id; else 1 to 16.", min=0, max=255)
    ] = None,
    timeout: Seconds = 0.5,
    as_json: AsJson = False,
) -> None:
    """Which unit ids answer behind a gateway.

    Example: pretreat modbus scan 192.0.2.10:502 --unit 3
    """
    units = range(1, 17) if unit is None else (unit,)

    async def ask() -> tuple[tuple[int, str], ...]:
        async with Link(parse(address), timeout) as link:
            return await commission.scan(link, units)

    found = _run(ask())
    if as_json:
        print(json.dumps([{"unit": number, "says": says} for number, says in found]))
        return
    print_grid(("unit", "says"), [(str(number), says) for number, says in found])
    if not found:
        print(f"no unit from {units[0]} to {units[-1]} answers at {address}")


@command.command("read")
def read(
    address: Address,
    map_name: Annotated[str, typer.Option("--map", metavar="NAME", help="See: modbus maps.")],
    unit: Annotated[int, typer.Option(help="Unit id behind the gateway.", min=0, max=255)],
    order: Annotated[
        Order | None, typer.Option(help="Where the map leaves it open; else all four are shown.")
    ] = None,
    timeout: Seconds = 2.0,
    as_json: AsJson = False,
) -> None:
    """Read an instrument once: every register named, raw words beside values.

    Example: pretreat modbus read --map siemens-mag6000 127.0.0.1:15021 --unit 1 --order CDAB
    """
    found = library.load(map_name, settings.load().home)

    async def ask() -> tuple[Shown, ...]:
        async with Link(parse(address), timeout, pause=found.wire.pause_ms / 1000) as link:
            return await commission.read_unit(link, unit, found, order=order)

    shown = _run(ask())
    if as_json:
        print(json.dumps({"map": found.name, "entries": [_as_json(each) for each in shown]}))
        return
    rows = [row for each in shown for row in _rows(each)]
    print_grid(("register", "address", "words", "value", "unit", "order", "says"), rows)
    print_doubts(found)


@command.command("decode", context_settings={"ignore_unknown_options": True})
def decode_words(
    words: Annotated[list[str], typer.Argument(metavar="WORD...")],
    register_type: Annotated[RegisterType, typer.Option("--type", help="How words make a value.")],
    order: Annotated[Order, typer.Option(help="Byte and word order.")] = Order.ABCD,
    scale: Annotated[str, typer.Option(help="value = raw x SCALE + OFFSET")] = "1",
    offset: Annotated[str, typer.Option(help="value = raw x SCALE + OFFSET")] = "0",
    missing: Annotated[
        list[str] | None, typer.Option(metavar="MARK", help="Raw value that means: no value.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What registers say: a value, or why there is none.

    Example: pretreat modbus decode --type float32 --order CDAB 0x8000 0x4336
    """
    decoded = decode(
        [_word(text, what="WORD") for text in words],
        register_type,
        order=order,
        scale=_decimal(scale, "--scale"),
        offset=_decimal(offset, "--offset"),
        missing=[_word(text, what="--missing") for text in missing or ()],
    )
    if as_json or not Console().is_terminal:
        print(json.dumps(_decoded_json(decoded)))
    else:
        row = (_for_people(decoded), decoded.grade.value, decoded.reason)
        print_grid(("value", "quality", "reason"), [row])


def _run(work: Coroutine[Any, Any, T]) -> T:
    logging.getLogger("pymodbus").setLevel(logging.CRITICAL)  # our errors say it in one sentence
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


def _now() -> datetime:
    return datetime.now(UTC)


def _instant(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        instant = None
    is_usable = instant and instant.tzinfo and FIRST_YEAR <= instant.year <= LAST_YEAR
    if instant is None or not is_usable:
        raise InputError(
            f"--start is {brief(text)!r}; expected an instant with offset from {FIRST_YEAR} to "
            f"{LAST_YEAR}, such as 2026-03-01T08:00-06:00"
        )
    return instant


def _word(text: str, *, what: str) -> int:
    if len(text) <= _LONGEST_WORD and re.fullmatch(r"[0-9]+", text):
        return int(text)
    if len(text) <= _LONGEST_WORD and re.fullmatch(r"0[xX][0-9a-fA-F]+", text):
        return int(text, 16)
    raise InputError(
        f"{what} is {brief(text)!r}; expected a decimal or 0x hexadecimal number, unsigned"
    )


def _decimal(text: str, what: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or abs(_power(number)) > _LARGEST_POWER:
        raise InputError(
            f"{what} is {brief(text)!r}; expected a number such as 0.1, from "
            f"1e-{_LARGEST_POWER} to 1e{_LARGEST_POWER}"
        )
    return number


def _power(number: Decimal) -> int:
    """The power of ten of a number; of a zero, the one it is written with."""
    return int(number.as_tuple().exponent) if number.is_zero() else number.adjusted()


def _plain(value: Decimal | None) -> str | None:
    return None if value is None else f"{value:f}"


def _decoded_json(decoded: Decoded) -> dict[str, str | None]:
    value = _plain(decoded.value) if decoded.value is not None else decoded.text or None
    return {"value": value, "quality": decoded.grade.value, "reason": decoded.reason}


def _for_people(decoded: Decoded) -> str:
    """A value short enough for a table: one read in a wrong order may have forty digits."""
    text = _plain(decoded.value) if decoded.value is not None else decoded.text
    if decoded.value is not None and text and len(text) > _DIGITS_SHOWN:
        return f"{decoded.value:.8g}"
    return text or "no value"


def _as_json(shown: Shown) -> dict[str, object]:
    entry = shown.entry
    return {
        "entry": entry.name,
        "table": entry.table.value,
        "address": entry.address,
        "printed": entry.printed,
        "unit": unit_of(entry),
        "words": list(shown.words),
        "values": [
            {"order": order and order.value, **_decoded_json(decoded)}
            for order, decoded in shown.decoded
        ],
        "verify_on_site": entry.verify,
        "problem": shown.problem,
    }


def _rows(shown: Shown) -> list[tuple[str, ...]]:
    entry = shown.entry
    place = f"{entry.table.value} {entry.address} ({entry.printed})"
    if not shown.decoded:
        return [(entry.name, place, "", "no value", "", "", shown.problem)]
    words = " ".join(f"{word:04X}" for word in shown.words[:8])
    return [
        (entry.name, place, words, _for_people(decoded), unit_of(entry), order or "", says)
        for order, decoded in shown.decoded
        for says in [_says(entry, decoded)]
    ]


def _says(entry: Entry, decoded: Decoded) -> str:
    code = decoded.text if decoded.value is not None else ""
    parts = (code, decoded.reason or reasons(decoded.quality), entry.verify and "verify on site")
    return "; ".join(part for part in parts if part)
