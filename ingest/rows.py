"""Rows of registers to values, for entries that were made ready together (``ingest.columns``)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from compliance.model.readings import Quality
from compliance.model.register_map import RegisterType
from ingest.columns import Floats, Group, Raw, number_dtype, unsigned
from ingest.steps import Flags, settled, shortest_of, stepped

_BCD = (RegisterType.BCD16, RegisterType.BCD32)
_INFINITE = {RegisterType.FLOAT32: 0x7F800000, RegisterType.FLOAT64: 0x7FF0000000000000}
_SMALLEST = {RegisterType.FLOAT32: 0x00800000, RegisterType.FLOAT64: 0x0010000000000000}
_FLOAT = {RegisterType.FLOAT32: np.float32, RegisterType.FLOAT64: np.float64}
_Flaw = tuple[Flags, Quality]


def decoded(of: Group, rows: NDArray[np.uint16]) -> tuple[Floats, NDArray[np.int16], Flags | None]:
    """Values and quality, one row an entry, and which of them decimals must settle, if any.

    rows: one row a register, one column an instrument. A value is NaN where there is none.
    """
    words = [_unswapped(rows[at], of) for at in of.words]
    raw = _joined(words)
    numbers, flaws = _numbers(of, raw, words)
    wide = numbers.astype(np.float64, copy=False)
    values, unsure = stepped(of, wide)
    quality = np.zeros(values.shape, np.int16)
    outside = _outside(of, numbers)
    if outside is not None and outside.any():
        quality[outside] = Quality.OUT_OF_RANGE
    for flaw, said in (*flaws, *_marked(of, raw)):
        if flaw.any():
            quality[flaw], values[flaw] = said, np.nan
            unsure &= ~flaw
    return values, quality, _settle(of, wide, raw, values, unsure) if unsure.any() else None


def _settle(of: Group, wide: Floats, raw: Raw, values: Floats, unsure: Flags) -> Flags | None:
    """Write the values that a closer look settles; what is left is for decimals."""
    at, columns = np.nonzero(unsure)
    decimals = wide[at, columns]
    left = np.zeros(len(at), bool)
    if of.type is RegisterType.FLOAT32:
        decimals, left = shortest_of(raw[at, columns].view(np.float32))
        left &= wide[at, columns] != 0
    values[at, columns], still = settled(of, decimals, at)
    unsure[at, columns] = left | still
    return unsure if unsure.any() else None


def _unswapped(words: NDArray[np.uint16], of: Group) -> NDArray[np.uint16]:
    return words.byteswap() if of.swapped else words


def _joined(words: list[NDArray[np.uint16]]) -> Raw:
    """All words of an entry as one unsigned number; the first of the list is the lowest."""
    if len(words) == 1:
        return words[0]
    raw = words[-1].astype(unsigned(len(words)))
    for word in words[-2::-1]:
        raw <<= 16
        raw |= word
    return raw


def _numbers(of: Group, raw: Raw, words: list[NDArray[np.uint16]]) -> tuple[Raw, tuple[_Flaw, ...]]:
    """The raw numbers of a type, and where the registers hold none."""
    if of.type in _FLOAT:
        return _floats(of, raw)
    if of.type in _BCD:
        return _bcd(raw)
    if of.type is RegisterType.MOD10K:
        return _mod10k(words)
    return raw.view(number_dtype(of.type, len(words))), ()


def _floats(of: Group, raw: Raw) -> tuple[Raw, tuple[_Flaw, ...]]:
    kind = raw.dtype.type
    size = raw & kind(2 ** (8 * raw.itemsize - 1) - 1)
    infinite = size >= kind(_INFINITE[of.type])
    size -= kind(1)  # zero becomes the largest number, and is no denormal
    denormal = size < kind(_SMALLEST[of.type] - 1)
    found = raw.view(_FLOAT[of.type]).astype(np.float64, copy=False)
    return found, ((infinite, Quality.NOT_FINITE), (denormal, Quality.DENORMAL))


def _bcd(raw: Raw) -> tuple[Raw, tuple[_Flaw, ...]]:
    """Four bits a digit: digits to pairs, pairs to fours, fours to the number."""
    kind, bits = raw.dtype.type, 8 * raw.itemsize
    ones = kind(int("1" * (bits // 4), 16))
    wrong = raw >> kind(3) & (raw >> kind(2) | raw >> kind(1)) & ones != 0
    number, shift, base = raw, 4, 10
    while shift < bits:
        mask = kind(sum((2**shift - 1) << at for at in range(0, bits, 2 * shift)))
        number = (number & mask) + (number >> kind(shift) & mask) * kind(base)
        shift, base = shift * 2, base * base
    return number, ((wrong, Quality.NOT_FINITE),)


def _mod10k(words: list[NDArray[np.uint16]]) -> tuple[Raw, tuple[_Flaw, ...]]:
    dtype = unsigned(len(words))
    number = np.zeros(words[0].shape, dtype)
    wrong = np.zeros(words[0].shape, bool)
    for word in reversed(words):
        number = number * dtype.type(10_000) + word
        wrong |= word > 9999
    return number, ((wrong, Quality.NOT_FINITE),)


def _outside(of: Group, numbers: Raw) -> Flags | None:
    if of.lowest is None or of.highest is None:
        return None
    found: Flags = numbers < of.lowest
    found |= numbers > of.highest
    return found


def _marked(of: Group, raw: Raw) -> Iterator[_Flaw]:
    for mark, has in of.marks:
        yield (raw == mark) & has, Quality.MISSING_MARK
