"""What an instrument's own clock registers say, as it shows it: in which zone, nobody wrote."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from compliance.model.register_map import Clock, Entry, Order, RegisterType
from ingest.raw import decode, joined

_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_CENTURY = 2000


def device_time(entry: Entry, words: Sequence[int], order: Order) -> datetime | None:
    """The date and time that a clock entry tells, naive; None for what is no date.

    A year of two digits is one of this century. A clock that was never set (zero) tells no time.
    Raises: InputError for the wrong number of words.
    """
    if entry.clock is Clock.FIELDS:
        return _from_fields(words, order)
    seconds = decode(words, entry.type, order=order, scale=entry.scale, offset=entry.offset).value
    if not seconds:
        return None
    try:
        return (_FIRST + timedelta(seconds=float(seconds))).replace(tzinfo=None)
    except OverflowError:
        return None


def _from_fields(words: Sequence[int], order: Order) -> datetime | None:
    second, minute, hour, day, month, year = (_word(word, order) for word in words)
    try:
        return datetime(  # noqa: DTZ001
            year if year >= 100 else _CENTURY + year, month, day, hour, minute, second
        )
    except ValueError:
        return None


def _word(word: int, order: Order) -> int:
    return int.from_bytes(joined((word,), RegisterType.UINT16, order))
