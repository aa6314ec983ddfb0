"""Numbers to words, the inverse of decoding: for simulator and tests, never for writing."""

from __future__ import annotations

import struct
from decimal import Decimal

from compliance.errors import InputError
from compliance.model.register_map import Entry, Order, RegisterType
from ingest.decode import EXACT, REVERSED, SWAPPED, order_of


def encode(
    value: Decimal | float | str, entry: Entry, order: Order | None = None
) -> tuple[int, ...]:
    """The registers that hold a value of an entry; a share is given as a share.

    value: in the entry's unit, a text for strings; order: that of the instrument, used where the
    map leaves it open. Whole numbers are rounded to the nearest raw step.
    Raises: InputError for a value that the registers cannot hold.
    """
    if isinstance(value, str):
        raw = value.encode("latin-1", "replace")[: 2 * entry.words].ljust(2 * entry.words, b"\0")
    elif entry.type in (RegisterType.FLOAT32, RegisterType.FLOAT64):
        raw = _float(float(_unscaled(value, entry)), entry)
    else:
        raw = _whole(int(_unscaled(value, entry).to_integral_value()), entry)
    return to_words(raw, order_of(entry, order), text=entry.type is RegisterType.STRING)


def to_words(raw: bytes, order: Order, *, text: bool = False) -> tuple[int, ...]:
    """Bytes, most significant first, as registers in an order."""
    ends = "<" if order in SWAPPED else ">"
    words: tuple[int, ...] = struct.unpack(f"{ends}{len(raw) // 2}H", raw)
    return words[::-1] if order in REVERSED and not text else words


def _unscaled(value: Decimal | float, entry: Entry) -> Decimal:
    exact = value if isinstance(value, Decimal) else Decimal(repr(float(value)))
    return EXACT.divide(EXACT.subtract(exact, entry.offset), entry.scale)


def _float(number: float, entry: Entry) -> bytes:
    try:
        return struct.pack(">f" if entry.words == 2 else ">d", number)
    except OverflowError:
        raise InputError(f"{number} does not fit {entry.name}, a {entry.type.value}") from None


def _whole(number: int, entry: Entry) -> bytes:
    length = 2 * entry.words
    try:
        if entry.type in (RegisterType.BCD16, RegisterType.BCD32):
            if not 0 <= number < 10 ** (2 * length):
                raise OverflowError
            return bytes.fromhex(f"{number:0{2 * length}d}")
        if entry.type is RegisterType.MOD10K:
            return _mod10k(number, entry.words)
        signed = entry.type.value.startswith("int")
        return number.to_bytes(length, signed=signed)
    except (OverflowError, ValueError):
        raise InputError(
            f"{number} does not fit {entry.name}, a {entry.type.value} of {entry.words} register(s)"
        ) from None


def _mod10k(number: int, words: int) -> bytes:
    if not 0 <= number < 10_000**words:
        raise OverflowError
    digits = [number // 10_000**place % 10_000 for place in reversed(range(words))]
    return struct.pack(f">{words}H", *digits)
