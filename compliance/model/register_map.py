"""The schema of a register map: where an instrument keeps which value, and how sure we are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum

from compliance.errors import RuleError
from compliance.model.fields import Fields, whole_number
from compliance.model.readings import Quality
from compliance.model.units import Unit


class Table(StrEnum):
    """The four address spaces of Modbus."""

    HOLDING = "holding"
    INPUT = "input"
    COIL = "coil"
    DISCRETE = "discrete"

    @property
    def function(self) -> int:
        """The function code that reads it."""
        return _FUNCTION[self]

    @property
    def digit(self) -> str:
        """The first digit of a printed address such as 40108."""
        return _DIGIT[self]


_FUNCTION = {Table.HOLDING: 3, Table.INPUT: 4, Table.COIL: 1, Table.DISCRETE: 2}
_DIGIT = {Table.HOLDING: "4", Table.INPUT: "3", Table.COIL: "0", Table.DISCRETE: "1"}


class RegisterType(StrEnum):
    """How words make a value."""

    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BCD16 = "bcd16"
    BCD32 = "bcd32"
    MOD10K = "mod10k"
    BITS = "bits"
    STRING = "string"

    @property
    def words(self) -> int | None:
        """How many registers one value takes; None where the entry says it."""
        digits = self.value[-2:]
        return int(digits) // 16 if digits.isdigit() else None


class Order(StrEnum):
    """In which order the bytes of a value of several words arrive; ABCD is big-endian.

    In 64 bits CDAB reverses the words, BADC swaps the bytes in each word, DCBA does both.
    """

    ABCD = "ABCD"
    CDAB = "CDAB"
    BADC = "BADC"
    DCBA = "DCBA"


class Kind(StrEnum):
    """What an entry is good for."""

    GAUGE = "gauge"
    TOTAL = "total"
    COUNTER = "counter"
    STATUS = "status"
    UNIT_CODE = "unit_code"
    CONFIG = "config"
    IDENTITY = "identity"
    DIAGNOSTIC = "diagnostic"
    HEARTBEAT = "heartbeat"
    COMMAND = "command"


class _Says(StrEnum):
    """How a map words the quality that a status code stands for."""

    GOOD = "good"
    UNCERTAIN = "uncertain"
    BAD = "bad"
    MISSING = "missing"


_QUALITY = {
    _Says.GOOD: Quality.GOOD,
    _Says.UNCERTAIN: Quality.STATUS_UNCERTAIN,
    _Says.BAD: Quality.STATUS_BAD,
    _Says.MISSING: Quality.MISSING_MARK,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One value of an instrument.

    address: zero-based, as on the wire; printed: as the manual prints it. order: None where the
    manual leaves it open (always so for one word). missing: the instrument's marks for no value,
    all words in order joined, unsigned, compared before sign and scale. status: the entry that
    qualifies this one, status_codes what its codes (bits, if status_by_bit) mean, status_other
    what the unlisted mean. share: the value is a share of the channel's span. low, high: the
    instrument's range, in the unit. verify: to be compared with the display on site.
    """

    name: str
    table: Table
    address: int
    printed: str
    type: RegisterType
    words: int
    order: Order | None = None
    scale: Decimal = Decimal(1)
    offset: Decimal = Decimal(0)
    unit: Unit | None = None
    unit_text: str = ""
    kind: str = Kind.GAUGE
    missing: tuple[int, ...] = ()
    status: str | None = None
    status_codes: Mapping[int, Quality] = field(default_factory=dict)
    status_other: Quality = Quality.STATUS_UNCERTAIN
    status_by_bit: bool = False
    unit_register: str | None = None
    codes: Mapping[int, str] = field(default_factory=dict)
    share: bool = False
    low: Decimal | None = None
    high: Decimal | None = None
    modulus: Decimal | None = None
    resolution: Decimal | None = None
    evidence: str = "manual"
    verify: bool = False
    note: str = ""

    @property
    def end(self) -> int:
        """The first address after it."""
        return self.address + self.words

    @property
    def needs_order(self) -> bool:
        """Whether its value depends on a byte and word order."""
        return self.words > 1 and self.type not in (RegisterType.STRING, RegisterType.BITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterMap:
    """What one instrument model keeps where.

    max_registers: the most it answers in one request, None where no manual says less than 125.
    needs_write: it measures only when told to; we never write, so its values are stale.
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

    @property
    def unverified(self) -> tuple[str, ...]:
        """One sentence for each entry to compare with the instrument's display on site."""
        return tuple(_doubt(entry) for entry in self.entries.values() if entry.verify)


def _doubt(entry: Entry) -> str:
    reasons = []
    if entry.needs_order and entry.order is None:
        reasons.append("its word order is not in the manual")
    if entry.evidence != "manual":
        reasons.append(f"its evidence is {entry.evidence!r}, not a manual")
    if entry.note:
        reasons.append(entry.note)
    return f"{entry.name}: verify on site, since {' and '.join(reasons or ['the map asks for it'])}"


_MAP_KEYS = (
    *("name", "vendor", "model", "role", "document", "sources", "quirks"),
    *("max_registers", "needs_write", "printed_base", "entries"),
)
_ENTRY_KEYS = (
    *("name", "table", "address", "printed", "type", "words", "order", "scale", "offset", "unit"),
    *("unit_text", "kind", "missing", "status", "quality", "unit_register", "codes", "share"),
    *("low", "high", "modulus", "resolution", "evidence", "verify", "note"),
)
_MOST_WORDS = 125


def register_map(document: Mapping[str, object], *, file: str) -> RegisterMap:
    """A register map from its document.

    document: the YAML file as plain mappings and lists; file: its name, for refusals.
    Raises: RuleError in one sentence for the first thing that cannot be meant.
    """
    top = Fields(place=file, content=document)
    top.expect_only(_MAP_KEYS)
    base = top.whole("printed_base", low=0, high=1) if "printed_base" in document else 1
    limit = document.get("max_registers")
    return RegisterMap(
        name=top.text("name"),
        vendor=top.text("vendor"),
        model=top.text("model"),
        role=top.text("role"),
        document=top.text("document"),
        sources=top.texts("sources"),
        quirks=top.texts("quirks"),
        max_registers=None
        if limit is None
        else top.whole("max_registers", low=1, high=_MOST_WORDS),
        needs_write=top.flag("needs_write"),
        entries=_entries(top, base=base),
    )


def _entries(top: Fields, *, base: int) -> dict[str, Entry]:
    items = top.content.get("entries")
    if not isinstance(items, list) or not items:
        raise top.fault("entries", "a list of entries")
    entries: dict[str, Entry] = {}
    for index, item in enumerate(items, start=1):
        if not isinstance(item, Mapping):
            raise RuleError(f"{top.place}: entry {index} is {item!r}; expected a mapping")
        entry = _entry(Fields(place=f"{top.place}, entry {item.get('name', index)}", content=item))
        if entry.name in entries:
            raise RuleError(f"{top.place}: entry {entry.name} is there twice; rename one of them")
        _check_printed(entry, place=top.place, base=base)
        entries[entry.name] = entry
    _check_overlaps(entries, place=top.place)
    return {name: _linked(entry, entries, place=top.place) for name, entry in entries.items()}


def _entry(fields: Fields) -> Entry:
    fields.expect_only(_ENTRY_KEYS)
    kind = fields.required("type", RegisterType)
    words = _words(fields, kind)
    by_code, other = _status_codes(fields)
    entry = Entry(
        name=fields.text("name"),
        table=fields.required("table", Table),
        address=fields.whole("address", low=0, high=65536 - words),
        printed=fields.text("printed"),
        type=kind,
        words=words,
        order=fields.choice("order", Order),
        scale=_scale(fields),
        offset=fields.decimal("offset") or Decimal(0),
        unit=fields.choice("unit", Unit),
        unit_text=fields.text("unit_text", str(fields.content.get("unit") or "")),
        kind=fields.choice("kind", Kind) or Kind.GAUGE,
        missing=_marks(fields, words),
        status=fields.text("status", "") or None,
        status_codes=by_code,
        status_other=other,
        status_by_bit=kind is RegisterType.BITS,
        unit_register=fields.text("unit_register", "") or None,
        codes=_codes(fields),
        share=fields.flag("share"),
        low=fields.decimal("low"),
        high=fields.decimal("high"),
        modulus=fields.decimal("modulus"),
        resolution=fields.decimal("resolution"),
        evidence=fields.text("evidence"),
        note=fields.text("note", ""),
    )
    open_order = entry.needs_order and entry.order is None
    doubtful = fields.flag("verify") or open_order or entry.evidence != "manual"
    return replace(entry, verify=doubtful)


def _scale(fields: Fields) -> Decimal:
    scale = fields.decimal("scale", Decimal(1))
    if scale is None or scale == 0:
        raise fields.fault("scale", "a number other than 0, or no scale")
    return scale


def _words(fields: Fields, kind: RegisterType) -> int:
    fixed = kind.words
    if "words" not in fields.content:
        if fixed is None and kind is not RegisterType.BITS:
            raise fields.fault("words", f"how many registers this {kind.value} takes")
        return fixed or 1
    words = fields.whole("words", low=1, high=_MOST_WORDS)
    if fixed is not None and words != fixed:
        raise fields.fault("words", f"{fixed}, which a {kind.value} takes (or leave it out)")
    return words


def _marks(fields: Fields, words: int) -> tuple[int, ...]:
    listed = fields.content.get("missing") or []
    marks = [whole_number(mark) for mark in listed] if isinstance(listed, list) else [None]
    if any(mark is None or not 0 <= mark < 1 << 16 * words for mark in marks):
        raise fields.fault("missing", f"a list of unsigned numbers that fit {words} register(s)")
    return tuple(mark for mark in marks if mark is not None)


def _codes(fields: Fields) -> dict[int, str]:
    codes = fields.content.get("codes") or {}
    if not isinstance(codes, Mapping) or not all(
        isinstance(code, int) and isinstance(text, str) for code, text in codes.items()
    ):
        raise fields.fault("codes", "a mapping from whole numbers to words")
    return {int(code): str(text) for code, text in codes.items()}


def _status_codes(fields: Fields) -> tuple[dict[int, Quality], Quality]:
    listed = fields.content.get("quality") or {}
    expected = "a mapping from codes (or 'other') to good, uncertain, bad or missing"
    if not isinstance(listed, Mapping):
        raise fields.fault("quality", expected)
    by_code: dict[int, Quality] = {}
    other = Quality.STATUS_UNCERTAIN
    for code, word in listed.items():
        says = next((_QUALITY[member] for member in _Says if member.value == word), None)
        if says is None or not (code == "other" or isinstance(code, int)):
            raise fields.fault("quality", expected)
        if code == "other":
            other = says
        else:
            by_code[int(code)] = says
    return by_code, other


def _check_printed(entry: Entry, *, place: str, base: int) -> None:
    """A printed address of the 4xxxx kind must be the wire address counted from ``base``."""
    digits = re.sub(r"[,:RX ]", "", re.split(r"[-&]", entry.printed)[0])
    if not re.fullmatch(r"[0-4]\d{4,5}", digits):
        return
    if digits[0] != entry.table.digit or int(digits[1:]) - base != entry.address:
        raise RuleError(
            f"{place}, entry {entry.name}: printed {entry.printed!r} and {entry.table.value} "
            f"address {entry.address} disagree; expected "
            f"{entry.table.digit}{entry.address + base:0{len(digits) - 1}d} for that address"
        )


def _check_overlaps(entries: Mapping[str, Entry], *, place: str) -> None:
    ordered = sorted(entries.values(), key=lambda entry: (entry.table, entry.address))
    for before, after in zip(ordered, ordered[1:], strict=False):
        if before.table is after.table and after.address < before.end:
            raise RuleError(
                f"{place}: entries {before.name} and {after.name} overlap at {after.table.value} "
                f"address {after.address}; correct an address or a type"
            )


def _linked(entry: Entry, entries: Mapping[str, Entry], *, place: str) -> Entry:
    """The entry with what its status register's codes mean."""
    for key, name in (("status", entry.status), ("unit_register", entry.unit_register)):
        if name is not None and name not in entries:
            raise RuleError(
                f"{place}, entry {entry.name}: {key} is {name!r}, which is no entry of this map"
            )
    if entry.status is None:
        return entry
    source = entries[entry.status]
    if source.words != 1:
        raise RuleError(f"{place}, entry {entry.name}: status {source.name} is not one register")
    return replace(
        entry,
        status_codes=source.status_codes,
        status_other=source.status_other,
        status_by_bit=source.status_by_bit,
    )
