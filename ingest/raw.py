"""Words to raw numbers, pure: types, byte orders, marks, and what is no number at all."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np

from compliance.errors import InputError
from compliance.model.readings import Grade, Quality, grade
from compliance.model.register_map import Order, RegisterType

EXACT = Context(prec=800, rounding=ROUND_HALF_UP)
"""Wide enough for the sum of the largest and the smallest float: nothing is rounded on the way."""

_ONE, _ZERO = Decimal(1), Decimal(0)
_SMALLEST = {RegisterType.FLOAT32: 2.0**-126, RegisterType.FLOAT64: 2.0**-1022}
_FLOAT = {RegisterType.FLOAT32: struct.Struct(">f"), RegisterType.FLOAT64: struct.Struct(">d")}
_SIGNED = (RegisterType.INT16, RegisterType.INT32, RegisterType.INT64)
_WORDS_ALLOWED = {
    RegisterType.MOD10K: range(1, 5),
    RegisterType.BITS: range(1, 5),
    RegisterType.STRING: range(1, 126),
}
REVERSED = (Order.CDAB, Order.DCBA)
SWAPPED = (Order.BADC, Order.DCBA)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """A value or None, and why it may not be relied on; ``text`` for registers that hold words."""

    value: Decimal | None
    quality: Quality = Quality.GOOD
    reason: str = ""
    text: str = ""

    @property
    def grade(self) -> Grade:
        """Good, suspect, bad, missing or maintenance."""
        return grade(self.quality)


def decode(
    words: Sequence[int],
    type: RegisterType,  # noqa: A002
    *,
    order: Order | None = None,
    scale: Decimal = _ONE,
    offset: Decimal = _ZERO,
    missing: Sequence[int] = (),
) -> Decoded:
    """The value of registers: raw × scale + offset.

    missing: marks, compared with all words in order joined, unsigned, before sign and scale.
    A denormal float gives no value: it is nearly always another word order, and would pass for a
    calm zero.
    Raises: InputError for the wrong number of words or one over 65535.
    """
    raw = joined(words, type, order or Order.ABCD)
    if missing and (mark := int.from_bytes(raw)) in missing:
        return _without(Quality.MISSING_MARK, f"{mark:#x} is the instrument's mark for no value")
    decoded = _DECODERS[type](raw, type)
    if decoded.value is None or (scale == _ONE and offset == _ZERO):
        return decoded
    return replace(decoded, value=EXACT.fma(decoded.value, scale, offset))


def joined(words: Sequence[int], type: RegisterType, order: Order) -> bytes:  # noqa: A002
    """The bytes of registers, most significant first.

    Raises: InputError for the wrong number of words or one over 65535.
    """
    _check_count(len(words), type)
    if order in REVERSED and type is not RegisterType.STRING:
        words = words[::-1]
    ends = "<" if order in SWAPPED else ">"
    try:
        return struct.pack(f"{ends}{len(words)}H", *words)
    except struct.error:
        worst = next(word for word in words if not 0 <= word <= 0xFFFF)
        raise InputError(
            f"word {worst} does not fit a register; expected a number from 0 to 65535"
        ) from None


def _check_count(found: int, type: RegisterType) -> None:  # noqa: A002
    allowed = _WORDS_ALLOWED.get(type)
    if allowed is None:
        if found != type.words:
            raise InputError(f"{found} word(s) for {type.value}; expected exactly {type.words}")
    elif found not in allowed:
        raise InputError(
            f"{found} word(s) for {type.value}; expected {allowed.start} to {allowed.stop - 1}"
        )


def _without(quality: Quality, reason: str) -> Decoded:
    return Decoded(value=None, quality=quality, reason=reason)


def _integer(raw: bytes, type: RegisterType) -> Decoded:  # noqa: A002
    return Decoded(value=Decimal(int.from_bytes(raw, signed=type in _SIGNED)))


def _float(raw: bytes, type: RegisterType) -> Decoded:  # noqa: A002
    number: float = _FLOAT[type].unpack(raw)[0]
    if number == 0:
        return Decoded(value=_ZERO)
    if not np.isfinite(number):
        return _without(Quality.NOT_FINITE, f"the register holds {number}, which is no number")
    if abs(number) < _SMALLEST[type]:
        return _without(Quality.DENORMAL, f"{number:.3g} is a denormal float: check the word order")
    return Decoded(value=shortest(number, type))


def shortest(number: float, type: RegisterType) -> Decimal:  # noqa: A002
    """The shortest decimal that means this float: 182.5, not its binary expansion."""
    text = str(np.float32(number)) if type is RegisterType.FLOAT32 else repr(number)
    return Decimal(text.removesuffix(".0"))


def _bcd(raw: bytes, type: RegisterType) -> Decoded:  # noqa: A002
    text = raw.hex()
    if not text.isdecimal():
        return _without(
            Quality.NOT_FINITE, f"0x{text} has a digit over 9, so it is no {type.value}"
        )
    return Decoded(value=Decimal(int(text)))


def _mod10k(raw: bytes, _type: RegisterType) -> Decoded:
    total = 0
    for at in range(0, len(raw), 2):
        word = int.from_bytes(raw[at : at + 2])
        if word > 9999:
            return _without(
                Quality.NOT_FINITE, f"word {word} is over 9999, which mod10k never holds"
            )
        total = total * 10_000 + word
    return Decoded(value=Decimal(total))


def _string(raw: bytes, _type: RegisterType) -> Decoded:
    text = raw.split(b"\0")[0].decode("latin-1").strip()
    return Decoded(value=None, text="".join(c if c.isprintable() else "?" for c in text))


_DECODERS: dict[RegisterType, Callable[[bytes, RegisterType], Decoded]] = {
    **{kind: _integer for kind in RegisterType if "int" in kind.value},
    RegisterType.FLOAT32: _float,
    RegisterType.FLOAT64: _float,
    RegisterType.BCD16: _bcd,
    RegisterType.BCD32: _bcd,
    RegisterType.MOD10K: _mod10k,
    RegisterType.BITS: _integer,
    RegisterType.STRING: _string,
}
