"""Entries to values, pure: what the registers say, and why it may not be relied on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache
from math import isfinite, lcm

from compliance.errors import InputError
from compliance.model.readings import Quality
from compliance.model.register_map import Entry, Order, RegisterType
from compliance.model.units import Unit, as_decimal, linear
from ingest.clock import device_time
from ingest.raw import EXACT, REVERSED, SWAPPED, Decoded, decode, joined, shortest

__all__ = [
    "EXACT",
    "REVERSED",
    "SWAPPED",
    "Decoded",
    "as_float",
    "decode",
    "decode_entry",
    "joined",
    "meaning",
    "order_of",
    "shortest",
    "status_quality",
]

_MOST_DIGITS = 40  # a larger value, read in a wrong order, has no step of any resolution
_HUNDRED = Decimal(100)
_QUOTIENTS = Context(prec=60, rounding=ROUND_HALF_UP)  # of what has at most 60 digits itself


def decode_entry(
    entry: Entry,
    words: Sequence[int],
    *,
    order: Order | None = None,
    status_word: int | None = None,
    resolution: Decimal | None = None,
    span: tuple[Decimal, Decimal] | None = None,
    unit: Unit | None = None,
) -> Decoded:
    """One entry's value as its channel wants it, rounded once, with the quality of its status.

    order: that of the instrument, used where the map leaves it open. status_word: what its status
    register said, None where it has none. span: the channel's range, for entries that give a share
    of it. unit: the channel's unit, if the entry's is another. resolution: the step to round to,
    half up; None leaves every digit.
    The text is what its codes mean, what a text register holds, or an instrument's own time.
    Raises: InputError for words that do not fit, or a share without a span.
    """
    if entry.clock is not None:
        return _time(entry, words, order_of(entry, order))
    decoded = decode(
        words,
        entry.type,
        order=order_of(entry, order),
        scale=entry.scale,
        offset=entry.offset,
        missing=entry.missing,
    )
    value, quality, reason = decoded.value, decoded.quality, decoded.reason
    if value is not None:
        outside = _outside(entry, value)
        if outside:
            quality, reason = quality | Quality.OUT_OF_RANGE, outside
        value = _engineering(entry, value, span)
        value = _stepped(_in_unit(value, entry.unit, unit), resolution)
    text = decoded.text or meaning(entry, decoded.value)
    made = Decoded(value=value, quality=quality, reason=reason, text=text)
    return made if status_word is None else _qualified(made, entry, status_word)


def _qualified(decoded: Decoded, entry: Entry, status_word: int) -> Decoded:
    """A value with what the instrument's status register says of it."""
    said = status_quality(entry, status_word)
    if not said:
        return decoded
    reason = f"{entry.status or 'status'} is {status_word}"
    return replace(
        decoded,
        value=None if said & Quality.MISSING_MARK else decoded.value,
        quality=decoded.quality | said,
        reason=f"{decoded.reason}; {reason}" if decoded.reason else reason,
    )


def _time(entry: Entry, words: Sequence[int], order: Order) -> Decoded:
    told = device_time(entry, words, order)
    if told is None:
        reason = "the registers hold no date and time"
        return Decoded(value=None, quality=Quality.NOT_FINITE, reason=reason)
    return Decoded(value=None, text=told.isoformat())


def meaning(entry: Entry, value: Decimal | None) -> str:
    """What a code means, or the names of the bits that are set; empty where the map has none."""
    if value is None or not entry.codes or value != value.to_integral_value():
        return ""
    code = int(value)
    if entry.type is not RegisterType.BITS:
        return entry.codes.get(code, "")
    return ", ".join(text for bit, text in sorted(entry.codes.items()) if code >> bit & 1)


def as_float(decoded: Decoded) -> tuple[float | None, Quality]:
    """What is stored of a value: a finite float or None, never an infinity, never minus zero."""
    if decoded.value is None:
        return None, decoded.quality
    value = float(decoded.value)
    if not isfinite(value):
        return None, decoded.quality | Quality.NOT_FINITE
    return value + 0.0, decoded.quality


def order_of(entry: Entry, order: Order | None) -> Order:
    """The order an entry is read in: the map's, else the instrument's; one word has none."""
    if entry.order is not None:
        return entry.order
    return order if order is not None and entry.needs_order else Order.ABCD


def _outside(entry: Entry, value: Decimal) -> str:
    """In words, by which end a value lies outside the instrument's range; empty inside."""
    if entry.low is not None and value < entry.low:
        return f"{value} is under {entry.low}, outside the instrument's range"
    if entry.high is not None and value > entry.high:
        return f"{value} is over {entry.high}, outside the instrument's range"
    return ""


def _engineering(entry: Entry, value: Decimal, span: tuple[Decimal, Decimal] | None) -> Decimal:
    if not entry.share:
        return value
    if span is None:
        raise InputError(
            f"{entry.name} gives a share of the instrument's span, and its channel has none; "
            "set the channel's span_low and span_high as on the instrument"
        )
    return EXACT.fma(value, EXACT.divide(EXACT.subtract(span[1], span[0]), _HUNDRED), span[0])


def _in_unit(value: Decimal, source: Unit | None, target: Unit | None) -> Decimal:
    if source is None or target is None or source is target:
        return value
    factor, offset, divisor = _conversion(source, target)
    converted = EXACT.fma(value, factor, offset)
    if divisor == 1:
        return converted
    is_short = _QUOTIENTS.plus(converted) == converted
    return (_QUOTIENTS if is_short else EXACT).divide(converted, divisor)


@cache
def _conversion(source: Unit, target: Unit) -> tuple[Decimal, Decimal, Decimal]:
    """``(factor, offset, divisor)``: (value × factor + offset) ÷ divisor, so that 6 in is 0.5 ft.

    The divisor is 1 where factor and offset are decimals themselves.
    """
    factor, offset = linear(source, target)
    bottom = lcm(factor.denominator, offset.denominator)
    scale = next((10**n for n in range(_MOST_DIGITS) if 10**n % bottom == 0), None)
    if scale is not None:
        return as_decimal(factor), as_decimal(offset), Decimal(1)
    return Decimal(int(factor * bottom)), Decimal(int(offset * bottom)), Decimal(bottom)


def _stepped(value: Decimal, resolution: Decimal | None) -> Decimal:
    """A value to the nearest step, half up; without a step or far above one it is left alone."""
    if resolution is None or value.adjusted() - resolution.adjusted() > _MOST_DIGITS:
        stepped = value
    elif resolution.as_tuple().digits == (1,):  # a power of ten, as nearly always: one operation
        stepped = value.quantize(resolution, context=EXACT)
    else:
        steps = EXACT.divide(value, resolution).to_integral_value(ROUND_HALF_UP)
        stepped = EXACT.multiply(steps, resolution)
    return stepped if stepped else stepped.copy_abs()  # a calm flow is 0.0, not -0.0


def status_quality(entry: Entry, status_word: int) -> Quality:
    """What a status register says of the entry it qualifies; codes the map has not are others."""
    if not entry.status_by_bit:
        return entry.status_codes.get(status_word, entry.status_other)
    quality = Quality.GOOD
    for bit in range(status_word.bit_length()):
        if status_word >> bit & 1:
            quality |= entry.status_codes.get(bit, entry.status_other)
    return quality
