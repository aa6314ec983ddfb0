"""What must hold between the entries of a register map, and between an address and its print."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from compliance.errors import InputError, RuleError
from compliance.model.map_entries import LINKS
from compliance.model.registers import Entry, Kind, RegisterType
from compliance.model.units import dimension, unit

_PREFIXED = re.compile(r"[R ]*([0-4])[:X]?(\d,\d{3}|\d{4,5})(?![\d,])")
_PLAIN = re.compile(r"(?:register |address |\+)?(\d+)(?:[-,/& ].*)?")
_HEX = re.compile(r"0x([0-9a-fA-F]+)(?:[-,/& ].*)?")
_NO_NUMBER = (RegisterType.STRING, RegisterType.BITS)


def check_printed(entry: Entry, *, place: str, base: int) -> None:
    """The printed address and the one on the wire must mean the same register.

    base: 1 where the manual counts 40001, 40002 …, 0 where it counts from 40000. Bare and
    hexadecimal numbers may be either count.
    Raises: RuleError naming both.
    """
    if entry.misprint:
        return
    said = _disagreement(entry, base)
    if said:
        raise RuleError(
            f"{place}, entry {entry.name}: printed {entry.printed!r} and {entry.table.value} "
            f"address {entry.address} disagree; expected {said} for that address"
        )


def _disagreement(entry: Entry, base: int) -> str:
    """What should be printed for an entry's address; empty where that is what is printed."""
    if found := _HEX.fullmatch(entry.printed):
        both = (entry.address, entry.address + base)
        return "" if int(found[1], 16) in both else f"0x{entry.address:04X}"
    if found := _PREFIXED.match(entry.printed):
        digits = found[2].replace(",", "")
        right = found[1] == entry.table.digit and int(digits) - base == entry.address
        return "" if right else f"{entry.table.digit}{entry.address + base:0{len(digits)}d}"
    if found := _PLAIN.fullmatch(entry.printed):
        both = (entry.address, entry.address + base)
        return "" if int(found[1]) in both else f"{both[0]} or {both[1]}"
    return ""


def check_overlaps(entries: Mapping[str, Entry], *, place: str) -> None:
    """No two entries may share a register, save where one is declared the other's alternative.

    Raises: RuleError naming both.
    """
    ordered = sorted(entries.values(), key=lambda entry: (entry.table, entry.address))
    for index, before in enumerate(ordered):
        for after in ordered[index + 1 :]:
            if after.table is not before.table or after.address >= before.end:
                break
            if not _alternatives(before, after):
                raise RuleError(
                    f"{place}: entries {before.name} and {after.name} overlap at "
                    f"{after.table.value} address {after.address}; correct an address or a type"
                )


def _alternatives(one: Entry, other: Entry) -> bool:
    declared = one.name == other.alternative_to or other.name == one.alternative_to
    return declared and (one.address, one.words) == (other.address, other.words)


def check_size(entry: Entry, *, place: str, most: int) -> None:
    """A value must fit one request, or its words would come from two instants.

    Raises: RuleError.
    """
    if entry.registers > most:
        raise RuleError(
            f"{place}, entry {entry.name}: a {entry.type.value} takes {entry.registers} registers "
            f"and max_registers is {most}, which would tear it; expected max_registers of at "
            f"least {entry.registers}, entries that fit, or split_values: true in the link"
        )


def linked(entry: Entry, entries: Mapping[str, Entry], *, place: str) -> Entry:
    """The entry with what its status register's codes mean.

    Raises: RuleError for a link to an entry that is absent or cannot serve.
    """
    for key in LINKS:
        name = getattr(entry, key)
        if name is None:
            continue
        if name not in entries:
            raise RuleError(
                f"{place}, entry {entry.name}: {key} is {name!r}, which is no entry of this map"
            )
        expected = _EXPECTED.get(key)
        if expected is not None and not expected[0](entries[name]):
            raise RuleError(
                f"{place}, entry {entry.name}: {key} is {name!r}; expected {expected[1]}"
            )
    if entry.status is None:
        return entry
    source = entries[entry.status]
    return replace(
        entry,
        status_codes=source.status_codes,
        status_other=source.status_other,
        status_by_bit=source.status_by_bit,
    )


def _is_register(entry: Entry) -> bool:
    return entry.words == 1 and entry.type is not RegisterType.STRING


def _is_number(entry: Entry) -> bool:
    free = entry.multiplier_register is None and entry.exponent_register is None
    return free and not entry.share and entry.type not in _NO_NUMBER


def _is_exponent(entry: Entry) -> bool:
    return entry.type is RegisterType.INT16 and entry.scale == 1 and _is_number(entry)


def _is_rollover(entry: Entry) -> bool:
    return entry.kind == Kind.COUNTER and "int" in entry.type.value


def _names_temperatures(entry: Entry) -> bool:
    try:
        units = [unit(text) for text in entry.codes.values()]
    except InputError:
        return False
    return _is_register(entry) and bool(units) and {*map(dimension, units)} == {"temperature"}


_EXPECTED: dict[str, tuple[Callable[[Entry], bool], str]] = {
    "status": (
        lambda e: e.words == 1 and e.says_quality,
        "an entry of one register with a quality for its codes",
    ),
    "unit_register": (_is_register, "an entry of one register"),
    "temperature_register": (
        _names_temperatures,
        "an entry of one register whose codes are degC, degF or K",
    ),
    "exponent_register": (_is_exponent, "an int16 without a scale: a power of ten, with its sign"),
    "multiplier_register": (_is_number, "a number that no other register multiplies"),
    "rollover_register": (_is_rollover, "a whole number of kind counter"),
    "time_register": (lambda e: e.kind == Kind.TIME, "an entry of kind time"),
}
