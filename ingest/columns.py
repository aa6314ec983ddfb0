"""Entries of one type made ready to be decoded together: their arithmetic as arrays of constants.

The result must be the very float that decimal arithmetic gives, rounded half up once. In floats
a raw number x becomes z = x × a + b, counted in steps of the resolution, and is rounded; how far z
can be from the exact number is known, so the few values that lie near the middle of two steps are
told apart and settled exactly (``ingest.steps``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compliance.model.register_map import Entry, RegisterType
from compliance.model.units import linear
from ingest.decode import EXACT, REVERSED, SWAPPED, order_of, shortest
from ingest.linked import Wanted

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Raw = NDArray[Any]

FLOATS = (RegisterType.FLOAT32, RegisterType.FLOAT64)
_SIGNED = (RegisterType.INT16, RegisterType.INT32, RegisterType.INT64)
_HALF_ULP = {RegisterType.FLOAT32: 2.0**-24, RegisterType.FLOAT64: 2.0**-53}
ROUNDING = 2.0**-50
"""Five operations, each off by at most 2⁻⁵³ of the result, and room."""

_MOST_PLACES = 22  # 10²² is the last power of ten that a float holds exactly


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Entries of one type and byte order.

    at: their places in the result. words: the rows of their words, the least significant first.
    a, b: z = x × a + b; relative, absolute: how far z may be off, as a share of z and at least;
    up, down: value = steps × up ÷ down. tie, shift, power: the middle between step n and the next
    is ((2n+1) × tie − shift) ÷ 10^power in raw numbers, where that is exact (tie 0: nowhere).
    plain: 1 where the value is the raw number itself, save for rounding. lowest, highest: the raw
    numbers inside the instrument's range, None where no entry has one. marks: rows of raw marks,
    and which entries have them. All but at and words have one column.
    """

    type: RegisterType
    swapped: bool
    at: Places
    words: tuple[Places, ...]
    a: Floats
    b: Floats
    relative: Floats
    absolute: Floats
    up: Floats
    down: Floats
    tie: Floats
    shift: Floats
    power: Floats
    plain: Floats
    lowest: Raw | None
    highest: Raw | None
    marks: tuple[tuple[Raw, NDArray[np.bool_]], ...]


def key(of: Wanted) -> tuple[RegisterType, int, bool]:
    """What entries must have in common to be decoded together."""
    return of.entry.type, of.entry.words, order_of(of.entry, of.order) in SWAPPED


def group(members: Sequence[tuple[int, Wanted, int]]) -> Group:
    """The constants of entries with one ``key``.

    members: for each its place in the result, how it is wanted, and the row of its first word.
    """
    kind, count, swapped = key(members[0][1])
    made = [_affine(of) for _, of, _ in members]
    rows = [_rows(of, start) for _, of, start in members]
    bounds = [_bounds(of.entry) for _, of, _ in members]
    lowest, highest = _edges(kind, count, bounds)
    return Group(
        type=kind,
        swapped=swapped,
        at=np.array([place for place, _, _ in members], np.intp),
        words=tuple(np.array([row[n] for row in rows], np.intp) for n in range(count)),
        **{name: _column([getattr(one, name) for one in made]) for name in _Affine.__slots__},
        lowest=lowest,
        highest=highest,
        marks=_marks([of.entry.missing for _, of, _ in members], count),
    )


def _column(values: Sequence[float]) -> Floats:
    return np.array(values, np.float64)[:, None]


def _rows(of: Wanted, start: int) -> list[int]:
    """The rows of an entry's words, the least significant first."""
    rows = list(range(start, start + of.entry.words))
    return rows if order_of(of.entry, of.order) in REVERSED else rows[::-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Affine:
    a: float
    b: float
    relative: float
    absolute: float
    up: float
    down: float
    tie: float
    shift: float
    power: float
    plain: float = 0.0


_NEVER_SURE = _Affine(
    a=1, b=0, relative=np.inf, absolute=np.inf, up=1, down=1, tie=0, shift=0, power=0
)


def _affine(of: Wanted) -> _Affine:
    """The arithmetic of one entry; where floats cannot do it, every value is left to decimals."""
    factor, offset = _exact(of)
    plain = factor == 1 and offset == 0
    step = Fraction(of.resolution) if of.resolution is not None else _own_step(of, factor, offset)
    places = None if step is None else _places(step)
    if step is None or places is None or step * 10**places >= 2**50:
        return replace(_NEVER_SURE, plain=float(of.resolution is None and plain))
    up = float(step * 10**places)
    b = float(offset / step)
    relative = max(_HALF_ULP.get(of.entry.type, 2.0**-53) + ROUNDING, up * 2.0**-52)
    tie, shift, power = _middle(step / (2 * factor), offset / factor)
    return _Affine(
        a=float(factor / step),
        b=b,
        relative=relative,
        absolute=2 * relative * abs(b),
        up=up,
        down=10.0**places,
        tie=tie,
        shift=shift,
        power=power,
        plain=float(plain),
    )


def _exact(of: Wanted) -> tuple[Fraction, Fraction]:
    """``(factor, offset)`` from the raw number to the channel's value."""
    factor, offset = Fraction(of.entry.scale), Fraction(of.entry.offset)
    if of.entry.share and of.span is not None:
        low, high = (Fraction(end) for end in of.span)
        factor, offset = factor * (high - low) / 100, offset * (high - low) / 100 + low
    if of.entry.unit is not None and of.unit is not None and of.entry.unit is not of.unit:
        by, plus = linear(of.entry.unit, of.unit)
        factor, offset = factor * by, offset * by + plus
    return factor, offset


def _own_step(of: Wanted, factor: Fraction, offset: Fraction) -> Fraction | None:
    """The step that the values of whole registers have by themselves."""
    places = [_places(factor), _places(offset)]
    if of.entry.type in FLOATS or None in places:
        return None
    return Fraction(1, 10 ** max(place or 0 for place in places))


def _places(number: Fraction) -> int | None:
    """How many decimals a number has; None for more than a float can count."""
    return next((n for n in range(_MOST_PLACES + 1) if (number * 10**n).denominator == 1), None)


def _middle(tie: Fraction, shift: Fraction) -> tuple[float, float, float]:
    """``(tie, shift, power)`` as whole numbers; zeros where the middles are no short decimals."""
    power = next(
        (
            n
            for n in range(_MOST_PLACES + 1)
            if (tie * 10**n).denominator == 1 == (shift * 10**n).denominator
        ),
        None,
    )
    if power is None or max(abs(tie), abs(shift)) * 10**power >= 2**50:
        return 0.0, 0.0, 0.0
    return float(tie * 10**power), float(shift * 10**power), float(power)


def _marks(
    marks: Sequence[tuple[int, ...]], words: int
) -> tuple[tuple[Raw, NDArray[np.bool_]], ...]:
    dtype = unsigned(words)
    found = []
    for n in range(max(map(len, marks))):
        column = np.array([each[n] if n < len(each) else 0 for each in marks], dtype)
        found.append((column[:, None], np.array([n < len(each) for each in marks])[:, None]))
    return tuple(found)


def unsigned(words: int) -> np.dtype[Any]:
    """What holds so many registers."""
    return np.dtype({1: np.uint16, 2: np.uint32}.get(words, np.uint64))


def number_dtype(kind: RegisterType, words: int) -> np.dtype[Any]:
    """What the raw numbers of a type are compared in."""
    if kind in FLOATS:
        return np.dtype(np.float64)
    if kind in _SIGNED:
        return np.dtype({1: np.int16, 2: np.int32}.get(words, np.int64))
    return unsigned(words)


_Bounds = tuple[float | int | None, float | int | None]


def _edges(
    kind: RegisterType, words: int, bounds: Sequence[_Bounds | None]
) -> tuple[Raw | None, Raw | None]:
    if not any(bounds):
        return None, None
    dtype = number_dtype(kind, words)
    least, most = _limits(kind, dtype)
    lowest = [least if b is None else most if b[0] is None else b[0] for b in bounds]
    highest = [most if b is None else least if b[1] is None else b[1] for b in bounds]
    return np.array(lowest, dtype)[:, None], np.array(highest, dtype)[:, None]


def _limits(kind: RegisterType, dtype: np.dtype[Any]) -> tuple[float | int, float | int]:
    if kind in FLOATS:
        return -np.inf, np.inf
    about = np.iinfo(dtype)
    return int(about.min), int(about.max)


def _bounds(entry: Entry) -> _Bounds | None:
    """The first and the last raw number inside the instrument's range; None where it has none.

    They are searched for by the decimals themselves, so that comparing raw numbers is exact.
    """
    if entry.low is None and entry.high is None:
        return None
    number, least, most = _line(entry)

    def under(at: int) -> bool:
        return entry.low is not None and _value(entry, number(at)) < entry.low

    def over(at: int) -> bool:
        return entry.high is not None and _value(entry, number(at)) > entry.high

    before, after = (under, over) if entry.scale > 0 else (over, under)
    first = _first(lambda at: not before(at), least, most)
    beyond = _first(after, least, most)
    inside = first < beyond
    return (number(first), number(beyond - 1)) if inside else (None, None)


def _value(entry: Entry, number: float | int) -> Decimal:
    exact = shortest(number, entry.type) if isinstance(number, float) else Decimal(number)
    return EXACT.fma(exact, entry.scale, entry.offset)


def _first(holds: Callable[[int], bool], least: int, most: int) -> int:
    """The first place from which a claim holds; ``most + 1`` where it never does."""
    low, high = least, most + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _line(entry: Entry) -> tuple[Callable[[int], float | int], int, int]:
    """The raw numbers of a type in order: the number at each place, the first and last place."""
    if entry.type not in FLOATS:
        least, most = _limits(entry.type, number_dtype(entry.type, entry.words))
        return int, int(least), int(most)
    narrow = entry.type is RegisterType.FLOAT32
    code, most = (">f", 0x7F7FFFFF) if narrow else (">d", 0x7FEFFFFFFFFFFFFF)
    size = 4 if narrow else 8

    def number(at: int) -> float:
        found: float = struct.unpack(code, abs(at).to_bytes(size))[0]
        return found if at >= 0 else -found

    return number, -most, most
