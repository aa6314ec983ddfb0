"""Raw numbers to steps of a resolution in floats, and which of them floats cannot settle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ingest.columns import ROUNDING, Floats, Group, Places

Flags = NDArray[np.bool_]

_EXACT = 2.0**-53 + ROUNDING
_MOST_WHOLE = 1e15  # fifteen digits are told from their neighbours by the float next to them
_NO_STEP = 1e18  # of a number so many steps long every digit is whole steps
_MOST_PLACES = 22
_POWERS = np.array([float(10**n) for n in range(_MOST_PLACES + 1)])
_MOST_EXACT = 12  # 24 bits times 10¹² are still exact in 53
_MANTISSA = np.uint32(0x7FFFFF)
_BELOW_FLOAT32 = np.uint64(0x1FFFFFFF)  # the bits of a float64 that a float32 has not
_MIDDLE = np.uint64(0x10000000)


def stepped(of: Group, numbers: Floats) -> tuple[Floats, Flags]:
    """Values rounded half up to their resolution, and which of them are not sure.

    numbers: raw, one row an entry, one column an instrument.
    """
    z = numbers * of.a
    if of.b.any():
        z += of.b
    size = np.abs(z)
    off = size * of.relative
    off += of.absolute
    size += 0.5
    steps = np.floor(size)
    size -= steps
    size -= 0.5
    np.abs(size, out=size)
    off += size
    values = np.copysign(steps, z, out=steps)
    if (of.up != 1).any():
        values *= of.up
    if (of.down != 1).any():
        values /= of.down
    values += 0.0  # no minus zero
    return values, ~(off < 0.5)


def settled(of: Group, decimals: Floats, rows: Places) -> tuple[Floats, Flags]:
    """Values of raw numbers at or near the middle of two steps, and which are still not sure.

    A middle that is a short decimal is told from its neighbours by the float next to it: the number
    is that decimal when it is that float. decimals: the floats next to the raw numbers as decimals;
    rows: the entry of each.
    """
    a, b, up = (column[rows, 0] for column in (of.a, of.b, of.up))
    z = decimals * a + b
    size = np.abs(z)
    steps = np.floor(size + 0.5)
    off = np.maximum(_EXACT, up * 2.0**-52) * (size + 2 * np.abs(b))
    sure = np.abs(size + 0.5 - steps - 0.5) + off < 0.5
    at_middle, known = _at_middle(of, decimals, rows, z)
    known &= off < 0.25
    steps = np.where(sure, steps, at_middle)
    values = np.copysign(steps, z) * up / of.down[rows, 0] + 0.0
    counted = np.isfinite(of.relative[rows, 0])
    plain = (of.plain[rows, 0] == 1) & (~counted | ((size > _NO_STEP) & (up == 1)))
    return np.where(plain, decimals + 0.0, values), ~(plain | (counted & (sure | known)))


def _at_middle(of: Group, decimals: Floats, rows: Places, z: Floats) -> tuple[Floats, Flags]:
    """The step, its sign left out, that numbers near a middle are rounded to."""
    tie, shift, power = (column[rows, 0] for column in (of.tie, of.shift, of.power))
    size, sign = np.abs(z), np.where(z < 0, -1.0, 1.0)
    below = np.floor(size)
    whole = sign * (2 * below + 1) * tie - shift
    middle = whole / _POWERS[power.astype(np.intp)]
    known = (tie != 0) & (np.abs(whole) <= _MOST_WHOLE) & (np.abs(size - below - 0.5) < 0.25)
    over = (decimals > middle) == (sign * of.a[rows, 0] > 0)
    return below + ((decimals == middle) | over), known


def shortest_of(numbers: NDArray[np.float32]) -> tuple[Floats, Flags]:
    """The float64 next to the shortest decimal of each float32, and which are not sure.

    The shortest decimal is the first of six to nine digits that reads back as the same float.
    Zeros, denormals and what is not finite are not sure.
    """
    wide = numbers.astype(np.float64)
    size = np.abs(wide)
    decimals = np.zeros_like(size)
    unsure = ~((size > 1e-30) & (size < 1e30))
    size[unsure] = 1.0
    places = 5 - np.floor(np.log10(size)).astype(np.int64)
    left = np.arange(len(size))  # those whose digits are not found yet
    for more in range(4):
        found, doubt = _rounded(size[left], places[left] + more)
        fits = found.astype(np.float32) == np.abs(numbers[left])
        decimals[left[fits]] = found[fits]
        unsure[left[fits & doubt]] = True
        left = left[~fits]
        if not len(left):
            break
    unsure[left] = True
    lopsided = numbers.view(np.uint32) & _MANTISSA == 0  # a power of two: its lower side is near
    unsure |= lopsided & (decimals != size)
    return np.copysign(decimals, wide), unsure


def _rounded(size: Floats, places: NDArray[np.int64]) -> tuple[Floats, Flags]:
    """Numbers to so many decimals, each the float64 next to it, and where that is not certain."""
    power = _POWERS[np.minimum(np.abs(places), _MOST_PLACES)]
    scaled = np.where(places >= 0, size * power, size / power)
    whole = np.rint(scaled)
    found = np.where(places >= 0, whole / power, whole * power)
    doubt = np.abs(np.abs(scaled - whole) - 0.5) < 1e-5
    doubt &= (places < 0) | (places > _MOST_EXACT)  # between, a middle is one, and goes to even
    doubt |= np.abs(places) > _MOST_PLACES
    doubt |= found.view(np.uint64) & _BELOW_FLOAT32 == _MIDDLE
    return found, doubt
