"""The schema of a register map: where an instrument keeps which value, and how sure we are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from compliance.errors import RuleError
from compliance.model.fields import Fields
from compliance.model.map_checks import check_overlaps, check_printed, check_size, linked
from compliance.model.map_entries import entry as one_entry
from compliance.model.registers import Clock, Entry, Kind, Order, RegisterType, Table
from compliance.model.sites import Instrument
from compliance.model.wire import MOST_REGISTERS, Protocol, Wire, request_size, wire

__all__ = [
    "MOST_REGISTERS",
    "Clock",
    "Entry",
    "Kind",
    "Order",
    "Protocol",
    "RegisterMap",
    "RegisterType",
    "Table",
    "Wire",
    "inherited",
    "register_map",
    "unconfirmed",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterMap:
    """What one instrument model keeps where.

    max_registers: the most it answers in one request, None where no manual says less than 125.
    needs_write: it measures only when told to; we never write, so its values are stale.
    base_open: addresses count from the start of a block that the map does not know.
    """

    name: str
    vendor: str
    model: str
    role: str
    document: str
    sources: tuple[str, ...]
    quirks: tuple[str, ...]
    max_registers: int | None
    needs_write: bool
    entries: Mapping[str, Entry]
    wire: Wire = Wire()
    base_open: bool = False

    @property
    def unverified(self) -> tuple[str, ...]:
        """One sentence for each entry to compare with the instrument's display on site."""
        return tuple(_doubt(entry) for entry in self.entries.values() if entry.verify)

    @property
    def heartbeat(self) -> Entry | None:
        """The register that moves while the instrument measures; None where it has none."""
        beats = (entry for entry in self.entries.values() if entry.kind == Kind.HEARTBEAT)
        return next(beats, None)


def _doubt(entry: Entry) -> str:
    return f"{entry.name}: verify on site, since {' and '.join(_reasons(entry))}"


def _reasons(entry: Entry) -> list[str]:
    reasons = []
    if entry.needs_order and entry.order is None:
        reasons.append("its word order is not in the manual")
    if entry.evidence != "manual":
        reasons.append(f"its evidence is {entry.evidence!r}, not a manual")
    if entry.misprint:
        reasons.append("the manual contradicts itself about its address")
    if entry.note:
        reasons.append(entry.note)
    return reasons or ["the map asks for it"]


def unconfirmed(found: RegisterMap, entry: Entry, instrument: Instrument) -> str:
    """Why a point read by this entry may not count yet, in one sentence; empty when it may.

    An entry that the map marks counts once a person compared the instrument with its display; an
    open order must also have been set then, and a map without a base address never counts.
    """
    where = f"{entry.name} of {found.name}"
    if found.base_open:
        return (
            f"{where}: the map does not know where the instrument's block begins; "
            "give base_address in a map of your own"
        )
    if entry.needs_order and entry.order is None and instrument.order is None:
        return (
            f"{where}: its word order is not in the manual and none is set for the instrument; "
            "read it in all four orders beside the display and set the one that fits"
        )
    if entry.verify and instrument.confirmed_by is None:
        return (
            f"{where}: nobody has compared it with the display on site, "
            f"and {' and '.join(_reasons(entry))}"
        )
    return ""


_KEYS = (
    *("name", "vendor", "model", "role", "document", "sources", "quirks", "link"),
    *("max_registers", "needs_write", "printed_base", "base_address", "entries"),
)


def register_map(document: Mapping[str, object], *, file: str) -> RegisterMap:
    """A register map from its document.

    document: the YAML file as plain mappings and lists, inheritance resolved; file: its name, for
    refusals.
    Raises: RuleError in one sentence for the first thing that cannot be meant.
    """
    top = Fields(place=file, content=document)
    top.expect_only(_KEYS)
    head = {key: top.text(key) for key in ("name", "vendor", "model", "role", "document")}
    of = wire(top)
    most = request_size(top, of)
    base = _base(top)
    most_of_a_value = MOST_REGISTERS if of.split_values else most or MOST_REGISTERS
    entries = _entries(top, wide=of.wide_registers, most=most_of_a_value)
    return RegisterMap(
        **head,
        sources=top.texts("sources"),
        quirks=top.texts("quirks"),
        max_registers=most,
        needs_write=top.flag("needs_write"),
        entries=entries if not base else _moved(entries, base, place=file),
        wire=of,
        base_open=base is None,
    )


def _base(top: Fields) -> int | None:
    """Where the block begins that addresses count from; None where the map leaves it open."""
    if "base_address" not in top.content:
        return 0
    if top.content["base_address"] is None:
        return None
    return top.whole("base_address", low=0, high=65535)


def _moved(entries: Mapping[str, Entry], base: int, *, place: str) -> dict[str, Entry]:
    moved = {n: replace(entry, address=entry.address + base) for n, entry in entries.items()}
    beyond = next((entry for entry in moved.values() if entry.end > 65536), None)
    if beyond is not None:
        raise RuleError(
            f"{place}: base_address is {base}, which puts {beyond.name} at {beyond.address}; "
            "expected one that keeps every entry under 65536"
        )
    return moved


def _entries(top: Fields, *, wide: bool, most: int) -> dict[str, Entry]:
    items = top.content.get("entries")
    if not isinstance(items, list) or not items:
        raise top.fault("entries", "a list of entries")
    base = top.whole("printed_base", low=0, high=1) if "printed_base" in top.content else 1
    entries: dict[str, Entry] = {}
    for index, item in enumerate(items, start=1):
        if not isinstance(item, Mapping):
            raise RuleError(f"{top.place}: entry {index} is {item!r}; expected a mapping")
        fields = Fields(place=f"{top.place}, entry {item.get('name', index)}", content=item)
        entry = one_entry(fields, wide=wide)
        if entry.name in entries:
            raise RuleError(f"{top.place}: entry {entry.name} is there twice; rename one of them")
        check_printed(entry, place=top.place, base=base)
        check_size(entry, place=top.place, most=most)
        entries[entry.name] = entry
    check_overlaps(entries, place=top.place)
    _check_heartbeats(entries, place=top.place)
    return {name: linked(entry, entries, place=top.place) for name, entry in entries.items()}


def _check_heartbeats(entries: Mapping[str, Entry], *, place: str) -> None:
    beats = [entry.name for entry in entries.values() if entry.kind == Kind.HEARTBEAT]
    if len(beats) > 1:
        raise RuleError(f"{place}: {' and '.join(beats)} are both heartbeat; expected one at most")


def inherited(parent: Mapping[str, object], child: Mapping[str, object]) -> dict[str, object]:
    """The document of a map that adds to another's: what it says itself goes before.

    Entries of one name are merged key by key, new ones follow; quirks and sources are joined.
    """
    merged = {**parent, **child}
    merged.pop("inherits", None)
    for key in ("sources", "quirks"):
        if isinstance(parent.get(key), list) and isinstance(child.get(key), list):
            both = [*_list(parent, key), *_list(child, key)]
            merged[key] = list(dict.fromkeys(map(str, both)))
    if isinstance(parent.get("link"), Mapping) and isinstance(child.get("link"), Mapping):
        merged["link"] = {**parent["link"], **child["link"]}  # type: ignore[dict-item]
    merged["entries"] = _merged_entries(_list(parent, "entries"), child)
    return merged


def _list(document: Mapping[str, object], key: str) -> list[object]:
    value = document.get(key)
    return value if isinstance(value, list) else []


def _merged_entries(parents: list[object], child: Mapping[str, object]) -> object:
    own = child.get("entries", [])
    if not isinstance(own, list) or not all(isinstance(item, Mapping) for item in own):
        return own
    added = {item.get("name"): item for item in own}
    kept = [
        {**item, **added.pop(item.get("name"), {})} if isinstance(item, Mapping) else item
        for item in parents
    ]
    return [*kept, *(item for item in own if item.get("name") in added)]
