"""Reading one instrument once, for who stands before it: every register, raw and named."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from compliance.model.readings import Quality
from compliance.model.register_map import Entry, Kind, Order, RegisterMap, Table
from compliance.model.wire import Wire
from ingest.asking import Asking
from ingest.decode import Decoded
from ingest.errors import UNIT_DOWN, LinkError, NoAnswer, NotConnected, Refused, is_away
from ingest.linked import Words, decode_linked, refuse_open_base, wanted
from ingest.plan import Block

_WHOLE_SPAN = (Decimal(0), Decimal(100))


class Line(Protocol):
    """What is read over: a link of one's own, or the one that a gateway is polled over."""

    @property
    def connected(self) -> bool: ...

    async def connect(self) -> None: ...

    async def read(self, unit: int, block: Block, wire: Wire = ...) -> tuple[int, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One entry as it was read.

    words: as they came, empty where nothing did; decoded: one value for each order it may be in,
    one alone where the order is known; problem: why nothing came.
    """

    entry: Entry
    words: tuple[int, ...] = ()
    decoded: tuple[tuple[Order | None, Decoded], ...] = ()
    problem: str = ""


async def read_unit(
    link: Line, unit: int, register_map: RegisterMap, *, order: Order | None = None
) -> tuple[Shown, ...]:
    """Every entry of a map, read once; an address that the instrument refuses is named.

    order: of values whose order the map leaves open; without it all four are given.
    Raises: LinkError when the unit answers nothing at all; InputError for a map without a base.
    """
    refuse_open_base(register_map)
    entries = [e for e in register_map.entries.values() if e.kind != Kind.COMMAND]
    answers = await Asking(unit, register_map).answers(_Reopened(link), entries, now=0.0)
    words = {name: a for name, a in answers.items() if not isinstance(a, LinkError)}
    problems = {name: str(a) for name, a in answers.items() if isinstance(a, LinkError)}
    away = next((a for a in answers.values() if isinstance(a, LinkError) and is_away(a)), None)
    if not words and away is not None:
        raise away
    return tuple(_shown(register_map, entry, words, problems, order=order) for entry in entries)


class _Reopened:
    """A link that is opened again where a silence or a bad answer closed it."""

    def __init__(self, link: Line) -> None:
        self._link = link

    async def read(self, unit: int, block: Block, wire: Wire) -> tuple[int, ...]:
        if not self._link.connected:
            await self._link.connect()
        return await self._link.read(unit, block, wire)


def _shown(
    of: RegisterMap,
    entry: Entry,
    words: dict[str, tuple[int, ...]],
    problems: dict[str, str],
    *,
    order: Order | None,
) -> Shown:
    found = words.get(entry.name)
    if found is None:
        return Shown(entry=entry, problem=problems.get(entry.name, "not read"))
    is_open = entry.needs_order and entry.order is None and order is None
    orders: Iterable[Order | None] = Order if is_open else (entry.order or order,)
    decoded = []
    for each in orders:
        asked = wanted(of, entry.name, order=each, span=_WHOLE_SPAN if entry.share else None)
        told: dict[str, Words] = {
            e.name: words.get(e.name, Quality.NOT_READ) for e in asked.entries
        }
        decoded.append((each if entry.needs_order else None, decode_linked(asked, told)))
    return Shown(entry=entry, words=found, decoded=tuple(decoded))


async def scan(link: Line, units: Iterable[int]) -> tuple[tuple[int, str], ...]:
    """Which unit ids answer behind a gateway, and what they say to a read of register 0.

    A refusal is an answer too; only silence and the gateway's own words mean that nobody is there.
    """
    found = []
    for unit in units:
        says = await _probe(link, unit)
        if says is not None:
            found.append((unit, says))
    return tuple(found)


async def _probe(link: Line, unit: int) -> str | None:
    try:
        try:
            words = await _register_0(link, unit)
        except NotConnected:  # some gateways close after each answer
            words = await _register_0(link, unit)
    except Refused as error:
        return None if error.code in UNIT_DOWN else str(error)
    except (NoAnswer, NotConnected):
        if not link.connected:
            await link.connect()  # one that is gone altogether is told as such
        return None
    except LinkError as error:
        return str(error)
    return f"holding register 0 is {words[0]}"


async def _register_0(link: Line, unit: int) -> tuple[int, ...]:
    if not link.connected:
        await link.connect()
    return await link.read(unit, Block(table=Table.HOLDING, address=0, count=1, entries=()))
