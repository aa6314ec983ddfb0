"""One entry of a register map's document, read with refusals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from enum import StrEnum

from compliance.model.fields import Fields, whole_number
from compliance.model.readings import Quality
from compliance.model.registers import Clock, Entry, Kind, Order, RegisterType, Table
from compliance.model.units import Unit
from compliance.model.wire import MOST_REGISTERS

LINKS = (
    *("status", "unit_register", "temperature_register", "exponent_register"),
    *("multiplier_register", "rollover_register", "time_register", "alternative_to"),
)
"""Keys that name another entry of the same map."""

_KEYS = (
    *("name", "table", "address", "printed", "type", "words", "order", "scale", "offset", "unit"),
    *("unit_text", "kind", "missing", "quality", "codes", "clock", "share", "low", "high"),
    *(
        "enables",
        "disables",
        "modulus",
        "resolution",
        "evidence",
        "misprint",
        "verify",
        "note",
        *LINKS,
    ),
)
_MOST_WORDS = {RegisterType.BITS: 4, RegisterType.MOD10K: 4}
_COUNTED = (Kind.TOTAL, Kind.COUNTER, Kind.HEARTBEAT)


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


def entry(fields: Fields, *, wide: bool) -> Entry:
    """An entry, its links by name only.

    wide: each register number of this instrument answers with four bytes.
    Raises: RuleError in one sentence for the first thing that cannot be meant.
    """
    fields.expect_only(_KEYS)
    kind = fields.required("type", RegisterType)
    clock = fields.choice("clock", Clock)
    words = _words(fields, kind, clock)
    by_code, other = _status_codes(fields)
    made = Entry(
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
        status_codes=by_code,
        status_other=other,
        status_by_bit=kind is RegisterType.BITS,
        says_quality="quality" in fields.content,
        codes=_codes(fields),
        clock=clock,
        share=fields.flag("share"),
        enables=_written(fields, "enables"),
        disables=_written(fields, "disables"),
        modulus=_above_zero(fields, "modulus"),
        resolution=_above_zero(fields, "resolution"),
        wide=wide,
        evidence=fields.text("evidence"),
        misprint=fields.flag("misprint"),
        note=fields.text("note", ""),
    )
    made = _checked(fields, _doubted(fields, _linked(fields, _ranged(fields, made))))
    if made.is_enabling and not _writable(made):
        raise fields.fault(
            "enables", "none but on kind: command, for one coil or one holding register of 16 bits"
        )
    return made


def _ranged(fields: Fields, made: Entry) -> Entry:
    low, high = fields.decimal("low"), fields.decimal("high")
    if low is not None and high is not None and low >= high:
        raise fields.fault("low", f"a number under high, which is {high}")
    return replace(made, low=low, high=high)


def _linked(fields: Fields, made: Entry) -> Entry:
    names = {key: fields.text(key, "") or None for key in LINKS}
    own = next((key for key, name in names.items() if name == made.name), None)
    if own is not None:
        raise fields.fault(own, "the name of another entry")
    return replace(made, **names)  # type: ignore[arg-type]


def _doubted(fields: Fields, made: Entry) -> Entry:
    """Marked to be verified where the map asks for it or cannot settle it."""
    is_open = made.needs_order and made.order is None
    doubtful = fields.flag("verify") or is_open or made.misprint or made.evidence != "manual"
    return replace(made, verify=doubtful)


def _checked(fields: Fields, made: Entry) -> Entry:
    """The same entry, its fields compared with one another."""
    if made.table in (Table.COIL, Table.DISCRETE) and (made.type, made.words) != (
        RegisterType.BITS,
        1,
    ):
        raise fields.fault("type", f"bits, since a {made.table.value} is one bit")
    if made.wide and made.words % 2:
        raise fields.fault(
            "type", "one of 32 or 64 bits, since link says wide_registers: four bytes each"
        )
    if made.share and made.unit is not None:
        raise fields.fault("unit", "none beside share: true; the channel's span has the unit")
    if made.modulus is not None and made.kind not in _COUNTED:
        raise fields.fault("modulus", f"none for a {made.kind}; only what counts up starts again")
    if (made.kind == Kind.TIME) != (made.clock is not None):
        raise fields.fault("clock", "one of the two ways to write a time, with kind: time alone")
    return made


def _writable(made: Entry) -> bool:
    """Whether an entry is one coil, or one register whose value is a plain number."""
    values = [value for value in (made.enables, made.disables) if value is not None]
    if made.kind != Kind.COMMAND or made.enables is None or made.words != 1:
        return False
    if made.table is Table.COIL:
        return all(value in (0, 1) for value in values)
    return made.table is Table.HOLDING and made.type in (RegisterType.UINT16, RegisterType.BITS)


def _written(fields: Fields, key: str) -> int | None:
    return fields.whole(key, low=0, high=65535) if key in fields.content else None


def _scale(fields: Fields) -> Decimal:
    scale = fields.decimal("scale", Decimal(1))
    if scale is None or scale == 0:
        raise fields.fault("scale", "a number other than 0, or no scale")
    return scale


def _above_zero(fields: Fields, key: str) -> Decimal | None:
    number = fields.decimal(key)
    if number is not None and number <= 0:
        raise fields.fault(key, "a number over 0")
    return number


def _words(fields: Fields, kind: RegisterType, clock: Clock | None) -> int:
    fixed = kind.words if clock is None else clock.words or kind.words
    if clock is not None and clock.words is not None and kind is not RegisterType.BITS:
        raise fields.fault("type", "bits for a time in six registers")
    if "words" not in fields.content:
        if fixed is None and kind is not RegisterType.BITS:
            raise fields.fault("words", f"how many registers this {kind.value} takes")
        return fixed or 1
    most = fixed or _MOST_WORDS.get(kind, MOST_REGISTERS)
    words = fields.whole("words", low=1, high=max(most, 4))
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
