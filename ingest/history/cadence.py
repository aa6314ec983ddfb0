"""The cadence of imported history: declared for its span, and what was in force goes on after it.

Silence is told by the cadence in force. History of every five minutes, judged by the two seconds of
today's polling, would be nothing but silences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from compliance.model.periods import from_us
from compliance.records import cadences

LEFT = "left as it is"
Known = Sequence[tuple[datetime, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Readings from ``first`` to ``last``, one each ``interval_ms``."""

    first: datetime
    last: datetime
    interval_ms: int

    @classmethod
    def of(cls, first_us: int, last_us: int, interval_ms: int) -> Span:
        return cls(first=from_us(first_us), last=from_us(last_us), interval_ms=interval_ms)

    @property
    def end(self) -> datetime:
        """One interval after the last reading: from here on the span says nothing."""
        return self.last + timedelta(milliseconds=self.interval_ms)


def declare(db: Connection, channel_id: int, span: Span, *, firmly: bool) -> str:
    """Let the cadence of a span be in force in it; what became of it, in words.

    firmly: a person said so. Otherwise a channel that has readings in the span already keeps the
    shorter interval it has: a longer one would hide their silences. A later cadence stays.
    """
    known = cadences.known(db, channel_id)
    void = {
        since
        for since, _ in known
        if span.first < since < span.end and _is_void(db, channel_id, since, known, span)
    }
    standing = [pair for pair in known if pair[0] not in void]
    if not firmly and _would_hide(db, channel_id, standing, span):
        return LEFT
    added = changes(standing, span, after=in_force(known, span.end))
    cadences.write(db, channel_id, removed=void, added=added)
    return "declared" if added or void else "in force"


def _would_hide(db: Connection, channel_id: int, known: Known, span: Span) -> bool:
    """Whether readings that come more often stand where the span's interval would be in force."""
    now = in_force(known, span.first)
    if now is None or now >= span.interval_ms:
        return False
    until = min([span.end, *(since for since, _ in known if since > span.first)])
    return cadences.is_read_in(db, channel_id, since=span.first, until=until)


def changes(known: Known, span: Span, *, after: int | None) -> list[tuple[datetime, int]]:
    """What must be added so that the span's interval is in force in it.

    known: declared cadences in time order; after: the interval to go on with at the span's end,
    None where none was ever declared. A later one that begins inside the span holds from there.
    """
    found = []
    if in_force(known, span.first) != span.interval_ms:
        found.append((span.first, span.interval_ms))
    later = any(span.first < since <= span.end for since, _ in known)
    if not later and after not in (None, span.interval_ms):
        found.append((span.end, after or 0))
    return found


def in_force(known: Known, at: datetime) -> int | None:
    """The interval declared last at or before an instant; None where none was."""
    return next((interval_ms for since, interval_ms in reversed(known) if since <= at), None)


def _is_void(db: Connection, channel_id: int, since: datetime, known: Known, span: Span) -> bool:
    """Whether a cadence only gives back the old one after an import, and nothing was read by it.

    Such a one gives back the interval before the import's, stands one interval of the import
    after a reading, and has no reading of its own up to the end of this span.
    """
    at = [begun for begun, _ in known].index(since)
    imported = known[at - 1][1] if at else None
    older = [interval_ms for _, interval_ms in known[:at] if interval_ms != imported]
    if imported is None or not older or older[-1] != known[at][1]:
        return False
    step = timedelta(milliseconds=imported)
    until = min([span.end, *(begun for begun, _ in known[at + 1 : at + 2])])
    instant = timedelta(microseconds=1)
    last = since - step
    return cadences.is_read_in(
        db, channel_id, since=last, until=last + instant
    ) and not cadences.is_read_in(db, channel_id, since=since, until=until)
