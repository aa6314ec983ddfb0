"""What came of a fault: accepted against stored, and whether each missing slot has its reason."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from sqlalchemy import Connection, Engine

from app.faults.ledger import Entries, Ledger, entries
from compliance.model.periods import to_us
from compliance.model.readings import Series
from compliance.records import gaps, readings, sites


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table. All but the first three and ``longest`` count readings or slots.

    twice: stored under one key twice; lost: accepted, not stored; changed: stored with another
    value; invented: stored, never accepted; poisoned: a liar's word, or one answer under two slots;
    missing: slots without a reading; unexplained: those of them without a gap either; longest: the
    longest time without any reading of a channel, in seconds.
    """

    fault: str
    times: int
    seconds: float
    accepted: int
    stored: int
    twice: int
    lost: int
    changed: int
    invented: int
    poisoned: int
    missing: int
    unexplained: int
    longest: float

    @property
    def is_sound(self) -> bool:
        """Whether nothing was lost, changed, invented or left unexplained."""
        bad = (self.twice, self.lost, self.changed, self.invented, self.poisoned, self.unexplained)
        return self.accepted > 0 and not any(bad)

    def plain(self) -> dict[str, object]:
        """As JSON has it."""
        return {**asdict(self), "sound": self.is_sound}


def drained(engine: Engine, ledger: Ledger, *, since: datetime, until: datetime) -> bool:
    """Whether everything accepted of a span is stored."""
    with engine.connect() as db:
        stored = _stored(db, since=since, until=until)[0]
    accepted = ledger.accepted().between(to_us(since), to_us(until))
    return len(np.setdiff1d(accepted.unique, stored.unique)) == 0


def judge(  # noqa: PLR0913 - what happened, and when
    engine: Engine,
    ledger: Ledger,
    fault: str,
    *,
    times: int,
    since: datetime,
    until: datetime,
    poison: float,
) -> Row:
    """The line of one fault over the slots of ``[since, until)``."""
    accepted = ledger.accepted().between(to_us(since), to_us(until))
    with engine.connect() as db:
        intervals = {c.id: c.interval_ms for c in sites.channels(db)}
        stored, series = _stored(db, since=since, until=until)
        unexplained = gaps.unexplained(db, intervals, since=since, until=until)
    slots = sum((until - since) // timedelta(milliseconds=i) for i in intervals.values())
    return Row(
        fault=fault,
        times=times,
        seconds=round((until - since).total_seconds(), 1),
        accepted=len(accepted.unique),
        stored=len(stored.keys),
        twice=len(stored.keys) - len(stored.unique),
        lost=len(np.setdiff1d(accepted.unique, stored.unique)),
        changed=_changed(accepted, stored),
        invented=len(np.setdiff1d(stored.unique, accepted.unique)),
        poisoned=sum(_poisoned(one, poison) for one in series.values()),
        missing=max(0, slots - len(stored.keys)),
        unexplained=sum(map(len, unexplained.values())),
        longest=round(
            max((_longest(one, since, until) for one in series.values()), default=0.0), 1
        ),
    )


def _stored(
    db: Connection, *, since: datetime, until: datetime
) -> tuple[Entries, dict[int, Series]]:
    ids = [c.id for c in sites.channels(db)]
    series = readings.usable(db, ids, since=since, until=until)
    channels = [channel for channel, one in series.items() for _ in range(len(one))]
    slots = [int(at) for one in series.values() for at in one.at_us]
    values = [float(value) for one in series.values() for value in one.value]
    return entries(channels, slots, values), series


def _changed(accepted: Entries, stored: Entries) -> int:
    known = set(zip(accepted.keys.tolist(), accepted.values.tolist(), strict=True))
    pairs = set(zip(stored.keys.tolist(), stored.values.tolist(), strict=True))
    keys = set(accepted.unique.tolist())
    return sum(key in keys for key, _ in pairs - known)


def _poisoned(series: Series, poison: float) -> int:
    """A liar's words, and answers that came under two slots: a value must always be a later one."""
    values = series.value[~np.isnan(series.value)]
    lies = int(np.sum(values >= poison))
    return lies + int(np.sum(np.diff(values[values < poison]) <= 0))


def _longest(series: Series, since: datetime, until: datetime) -> float:
    """Seconds without a reading, the edges of the span included."""
    edges = np.concatenate([[to_us(since)], series.at_us, [to_us(until)]])
    return float(np.max(np.diff(edges))) / 1e6


def now() -> datetime:
    """The present, as slots are named."""
    return datetime.now(UTC)
