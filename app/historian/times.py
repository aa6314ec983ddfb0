"""The ``at`` column of a historian export: instants, local times, and the hour that comes twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from app.historian import plain
from compliance.model.periods import FIRST_YEAR, LAST_YEAR, to_us

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_FORM = (  # written out as [0-9]: \d knows the digits of every script
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?"
    r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)
_OFFSET = r".*(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)$"
_NEVER, _LAST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Each row's instant, and what stands in its way.

    first_us, second_us: the instant in microseconds; they differ only in the repeated hour of a
    time without an offset. local_us: such a time as if it were UTC.
    """

    first_us: Ints
    second_us: Ints
    local_us: Ints
    malformed: Mask  # not a date with a time
    distant: Mask  # in a year of no record
    impossible: Mask  # 30 February, 25:00
    skipped: Mask  # does not exist where the clock goes forward
    later: Mask  # after the last instant that a reading can have
    naive: Mask  # without an offset

    @property
    def repeated(self) -> Mask:
        """Rows whose time comes twice that day and that do not say which."""
        twice: Mask = self.naive & ~self.bad & (self.first_us != self.second_us)
        return twice

    @property
    def bad(self) -> Mask:
        bad: Mask = self.malformed | self.distant | self.impossible | self.skipped | self.later
        return bad


def read_times(column: pd.Series[str], zone: ZoneInfo, *, until: datetime | None = None) -> Times:
    """Every time of a column; one without an offset is read in ``zone``.

    until: the last instant that a reading can have; None where any may come.
    """
    last_us = _LAST if until is None else to_us(until)
    codes, distinct = pd.factorize(column)
    found = _of_texts(np.asarray(distinct, object))
    local = found.us.copy()
    at = np.flatnonzero(found.naive & (local != _NEVER))
    first, second = local.copy(), local.copy()
    first[at], second[at] = (_localized(local[at], zone, first=choice) for choice in (True, False))
    missing = (local == _NEVER) & found.formed & ~found.distant
    return Times(
        first_us=first[codes],
        second_us=second[codes],
        local_us=local[codes],
        malformed=~found.formed[codes],
        distant=found.distant[codes],
        impossible=missing[codes],
        skipped=((first == _NEVER) & found.naive & ~missing)[codes],
        later=(first > last_us)[codes],
        naive=found.naive[codes],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """Distinct texts as times: as if in UTC, ``_NEVER`` for what is none."""

    us: Ints
    formed: Mask
    distant: Mask
    naive: Mask


def _of_texts(texts: NDArray[np.object_]) -> _Read:
    """The usual form all at once, any other one by one."""
    us, naive, read = plain.times(texts)
    found = _Read(us=us, formed=read.copy(), distant=np.zeros(len(us), np.bool_), naive=naive)
    rest = np.flatnonzero(~read)
    if len(rest):
        other = _of_any_form(texts[rest])
        for name in ("us", "formed", "distant", "naive"):
            getattr(found, name)[rest] = getattr(other, name)
    return found


def _of_any_form(distinct: NDArray[np.object_]) -> _Read:
    texts = pd.Series(distinct, dtype="object").astype("str").str.strip()
    texts = texts.str.replace(r"\s+(?=[Z+-])", "", regex=True).str.replace("z", "Z", regex=False)
    formed = texts.str.fullmatch(_FORM).to_numpy(bool)
    years = texts[formed].str.slice(0, 4).astype("int64").to_numpy()
    distant = np.zeros(len(texts), np.bool_)
    distant[formed] = (years < FIRST_YEAR) | (years > LAST_YEAR)
    read = formed & ~distant
    naive = read & ~texts.str.slice(10).str.fullmatch(_OFFSET).to_numpy(bool)
    us = np.full(len(texts), _NEVER)
    us[read] = _us(pd.to_datetime(texts[read], format="ISO8601", utc=True, errors="coerce"))
    return _Read(us=us, formed=formed, distant=distant, naive=naive)


def _us(times: pd.Series[pd.Timestamp]) -> Ints:
    found: Ints = np.asarray(times.dt.as_unit("us").astype("int64"), np.int64)
    return found


def _localized(local_us: Ints, zone: ZoneInfo, *, first: bool) -> Ints:
    if not len(local_us):
        return local_us.copy()
    naive = pd.Series(local_us.astype("datetime64[us]"))
    placed = naive.dt.tz_localize(zone, ambiguous=np.full(len(naive), first), nonexistent="NaT")
    return _us(placed)


def second_pass(local_us: Ints, repeated: Mask) -> Iterator[tuple[NDArray[np.intp], Mask]]:
    """Where one series, in the order of the file, passes a repeated hour exactly twice.

    local_us, repeated: of the rows of one series in file order. Yields, for each such hour, the
    positions of its rows and which of them belong to the second pass; hours that are passed once,
    or in no order, are left out: there the order cannot tell.
    """
    falling = np.sign(np.diff(local_us)).sum() < 0
    days = local_us // 86_400_000_000
    for day in np.unique(days[repeated]):
        at = np.flatnonzero(repeated & (days == day))
        if at[-1] - at[0] + 1 != len(at):
            continue
        steps = np.diff(local_us[at])
        turns = np.flatnonzero(steps >= 0 if falling else steps <= 0)
        if len(turns) == 1:
            after = np.arange(len(at)) > turns[0]
            yield at, ~after if falling else after
