"""A stored total over a span, as steps: with the notes of meters exchanged."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from sqlalchemy import Connection

from compliance.errors import InputError
from compliance.model.counting import Tally, counts, tally
from compliance.model.periods import from_us
from compliance.model.readings import Series
from compliance.model.sites import Channel
from compliance.model.thinning import PIECE_US, thinned
from compliance.model.totals import Counter
from compliance.records import meters
from compliance.records.around import around

ENDLESS = Decimal(10) ** 18
"""The modulus of a total whose modulus nobody gave: it never turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTotal:
    """Steps of a total from a little before a span to a little after it.

    problem: why notes of a meter exchanged are left out of them; empty where they are not.
    """

    steps: Tally
    notes: tuple[meters.MeterEvent, ...]
    problem: str = ""


def counter(of: Channel) -> Counter:
    """How a channel's total counts, in the channel's unit."""
    return Counter(
        modulus=Decimal(of.modulus) if of.modulus else ENDLESS,
        max_per_second=Decimal(of.max_per_second) if of.max_per_second else None,
        resolution=Decimal(of.resolution),
    )


def stored_total(
    db: Connection, of: Channel, *, since: datetime, until: datetime, piece_us: int = PIECE_US
) -> StoredTotal:
    """The steps of a channel's total over a span, readings on either side of it included.

    piece_us: how coarsely it may be thinned.
    """
    series = around(db, [of.id], since=since, until=until)[of.id]
    return tallied(db, of, thinned(series, counter(of), piece_us=piece_us))


def tallied(db: Connection, of: Channel, series: Series) -> StoredTotal:
    """The steps of readings of a total, with what people noted of its meter in that time."""
    read = counts(series, resolution=of.resolution)
    if not read:
        return StoredTotal(steps=tally([], counter(of)), notes=())
    first, last = from_us(read[0].at_us), from_us(read[-1].at_us) + timedelta(microseconds=1)
    notes = meters.events(db, [of.id], since=first, until=last)
    standing = [note.replacement for note in notes if note.withdrawn_at is None]
    try:
        return StoredTotal(steps=tally(read, counter(of), standing), notes=notes)
    except InputError as error:
        return StoredTotal(steps=tally(read, counter(of)), notes=notes, problem=str(error))
