"""Times and numbers as nearly every export writes them, read as arrays; whatever else is left."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compliance.model.periods import FIRST_YEAR, LAST_YEAR

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_NUMBERS = re.compile(r"(?: {0,4}-?[0-9]{1,15}(?:\.[0-9]{0,15})? {0,4}\n)*", re.ASCII)
_ZERO, _T, _SPACE, _DASH, _COLON, _DOT, _Z, _PLUS = (ord(sign) for sign in "0T -:.Z+")
_DATE_ENDS, _MINUTE_ENDS, _SECOND_ENDS, _LONGEST = 10, 16, 19, 32
_FINEST = 6
_SECOND_US = 1_000_000
_DAY_US = 86_400 * _SECOND_US


def numbers(texts: Sequence[str]) -> NDArray[np.float64] | None:
    """Texts that are all plain decimals as the floats nearest to them; None where one is not.

    A plain decimal has at most 15 digits on either side of its point, and no exponent: no such
    number is too large or too small for an instrument.
    """
    lines = "\n".join([*texts, ""])
    if lines.count("\n") != len(texts) or not _NUMBERS.fullmatch(lines):
        return None
    return np.fromiter(map(float, texts), np.float64, len(texts))


def times(texts: NDArray[np.object_]) -> tuple[Ints, Mask, Mask]:
    """Microseconds since 1970, whether there was no offset, and which were read at all.

    Read is ``2026-03-01T08:00``, with seconds and up to six places of them or without, with ``Z``
    or an offset such as ``-06:00`` or without; a ``T`` or one blank between. All other texts, and
    dates that do not exist, are left to whoever reads any form.
    """
    us = np.zeros(len(texts), np.int64)
    naive, read = np.zeros(len(texts), np.bool_), np.zeros(len(texts), np.bool_)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    for length in np.unique(lengths):
        if not _MINUTE_ENDS <= length <= _LONGEST:
            continue
        at = np.flatnonzero(lengths == length)
        packed = _packed(texts[at], int(length))
        if packed is not None:
            us[at], naive[at], read[at] = _of_one_length(packed)
    return us, naive, read


def _packed(texts: NDArray[np.object_], length: int) -> Bytes | None:
    """Texts of one length as rows of bytes; None where one is not ASCII."""
    joined = "".join(texts)
    if not joined.isascii():
        return None
    return np.frombuffer(joined.encode(), np.uint8).reshape(len(texts), length)


def _of_one_length(signs: Bytes) -> tuple[Ints, Mask, Mask]:
    date_us, good = _date(signs)
    clock_us, end, fine = _clock(signs)
    offset_us, naive, known = _offset(signs[:, end:])
    return date_us + clock_us - offset_us, naive, good & fine & known


def _date(signs: Bytes) -> tuple[Ints, Mask]:
    year, month, day = (_digits(signs[:, a:b]) for a, b in ((0, 4), (5, 7), (8, 10)))
    good = (signs[:, 4] == _DASH) & (signs[:, 7] == _DASH)
    good &= (year >= FIRST_YEAR) & (year <= LAST_YEAR) & (month >= 1) & (month <= 12) & (day >= 1)
    months = np.where(good, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
    first = months.astype("datetime64[D]").astype(np.int64)
    following = (months + 1).astype("datetime64[D]").astype(np.int64)
    good &= day <= following - first
    return (first + day - 1) * _DAY_US, good


def _clock(signs: Bytes) -> tuple[Ints, int, Mask]:
    """The time of day, at which sign it ends, and whether it is one."""
    hour, minute = _digits(signs[:, 11:13]), _digits(signs[:, 14:16])
    good = ((signs[:, 10] == _T) | (signs[:, 10] == _SPACE)) & (signs[:, 13] == _COLON)
    good &= (hour >= 0) & (hour < 24) & (minute >= 0) & (minute < 60)
    us, end = (hour * 60 + minute) * 60 * _SECOND_US, _MINUTE_ENDS
    if signs.shape[1] >= _SECOND_ENDS and signs[0, end] == _COLON:
        second = _digits(signs[:, 17:19])
        good &= (signs[:, end] == _COLON) & (second >= 0) & (second < 60)
        us, end = us + second * _SECOND_US, _SECOND_ENDS
    places = _places(signs, end)
    if end == _SECOND_ENDS and places:
        part = _digits(signs[:, end + 1 : end + 1 + places])
        good &= (signs[:, end] == _DOT) & (part >= 0)
        us, end = us + part * 10 ** (_FINEST - places), end + 1 + places
    return us, end, good


def _places(signs: Bytes, end: int) -> int:
    """How many digits of a second the first row has; the others have as many or are not read."""
    if signs.shape[1] <= end or signs[0, end] != _DOT:
        return 0
    rest = bytes(signs[0, end + 1 :])
    return min(len(rest) - len(rest.lstrip(b"0123456789")), _FINEST)


def _offset(signs: Bytes) -> tuple[Ints, Mask, Mask]:
    """Microseconds east of Greenwich, whether nothing is said of it, and whether it is one."""
    rows, width = signs.shape
    none, all_of_them = np.zeros(rows, np.bool_), np.ones(rows, np.bool_)
    nothing = np.zeros(rows, np.int64)
    if width == 0:
        return nothing, all_of_them, all_of_them
    if width == 1:
        return nothing, none, signs[:, 0] == _Z
    if width != len("+00:00"):
        return nothing, none, none
    hours, minutes = _digits(signs[:, 1:3]), _digits(signs[:, 4:6])
    good = ((signs[:, 0] == _PLUS) | (signs[:, 0] == _DASH)) & (signs[:, 3] == _COLON)
    good &= (hours >= 0) & (hours < 24) & (minutes >= 0) & (minutes < 60)
    sign = np.where(signs[:, 0] == _DASH, -1, 1)
    return sign * (hours * 60 + minutes) * 60 * _SECOND_US, none, good


def _digits(signs: Bytes) -> Ints:
    """Rows of digits as numbers; -1 where one sign is none."""
    found = signs.astype(np.int64) - _ZERO
    value: Any = np.zeros(len(signs), np.int64)
    for column in range(signs.shape[1]):
        value = value * 10 + found[:, column]
    good = ((found >= 0) & (found <= 9)).all(axis=1)
    return np.where(good, value, -1)
