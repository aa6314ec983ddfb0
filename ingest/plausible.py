"""Whether a total can have moved as two polls say, pure: words of two instants show themselves.

Both words of a value always come in one answer, and still an instrument can have updated one of
them between copying the two. The upper word is then one too low or one too high: a step of 65536.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from compliance.model.register_map import Entry, Order, RegisterType
from ingest.decode import decode, joined, order_of

_BCD = (RegisterType.BCD16, RegisterType.BCD32)


def torn(
    entry: Entry,
    before: Sequence[int],
    now: Sequence[int],
    *,
    most: Decimal,
    order: Order | None = None,
) -> str:
    """Why a total's words look like those of two instants; empty when they do not.

    before, now: its words at two polls, as they came. most: what can have passed in between, in the
    entry's unit. A step that is wrong in another way is left to the arithmetic of totals.
    Raises: InputError for words that do not fit.
    """
    first, last = (_upright(entry, words, order) for words in (before, now))
    start, end = _value(entry, first), _value(entry, last)
    if start is None or end is None or _can_be(entry, end - start, most):
        return ""
    for other in _with_another_carry(entry, last):
        value = _value(entry, other)
        if value is not None and _can_be(entry, value - start, most):
            return (
                f"{entry.name} went from {start} to {end}; with its upper word one step further it "
                f"would be {value}: its words are of two instants"
            )
    return ""


def _upright(entry: Entry, words: Sequence[int], order: Order | None) -> tuple[int, ...]:
    """Words with the most significant first."""
    raw = joined(words, entry.type, order_of(entry, order))
    return tuple(int.from_bytes(raw[at : at + 2]) for at in range(0, len(raw), 2))


def _value(entry: Entry, words: Sequence[int]) -> Decimal | None:
    decoded = decode(words, entry.type, scale=entry.scale, offset=entry.offset)
    return decoded.value


def _can_be(entry: Entry, step: Decimal, most: Decimal) -> bool:
    if step < 0 and entry.modulus is not None:
        step += entry.modulus
    return 0 <= step <= most


def _with_another_carry(entry: Entry, words: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The same words with one of the upper ones a step higher or lower."""
    for at in range(len(words) - 1):
        for by in (1, -1):
            yield (*words[:at], _moved(entry, words[at], by), *words[at + 1 :])


def _moved(entry: Entry, word: int, by: int) -> int:
    """A word one step on; after the last comes the first, as when a total begins again."""
    if entry.type in _BCD:
        return int(f"{(int(f'{word:04x}') + by) % 10_000:04d}", 16)
    return (word + by) % (10_000 if entry.type is RegisterType.MOD10K else 65536)
