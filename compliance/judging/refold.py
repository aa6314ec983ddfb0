"""The fold of one channel under one limit through time: onward, or anew from where data changed.

A state is kept after the last folded reading and at each full hour where something is open; where
none is kept, nothing was. What came in order goes on from the last state. What came late, was
corrected, excluded or is judged by another rule makes hours dirty: they are folded from the state
at the first one's start, hour after hour, until a new state equals the kept one and no later hour
is dirty. Whatever the order in which readings came, the facts are those of one pass over them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

import numpy as np

from compliance.judging import judge
from compliance.judging.excursions import step
from compliance.model.findings import Excursion, Side
from compliance.model.folds import IDLE, FoldState, Kept
from compliance.model.readings import Flags, Series, Times
from compliance.model.units import Unit
from compliance.rules.schema import LimitRule, LimitVersion

HOUR_US = 3_600_000_000
REJOIN_US = 300_000_000
"""Two excursions of one side nearer than this are one event (``contracts.md``, ``--rejoin``)."""
_FIRST_LOOK, _LONGEST_LOOK = HOUR_US, 7 * 24 * HOUR_US

Read = Callable[[int, int], Series]
"""The usable readings of the channel from one instant up to another, in the channel's unit."""
Key = tuple[str, Side, int]
"""An excursion: the day its version took effect, its side, its start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dirty:
    """Where readings are new or changed: from ``since_us``, in hours that begin at ``hours``."""

    since_us: int
    hours: Sequence[int]

    @property
    def hours_us(self) -> int:
        """From the start of the first hour to the end of the last."""
        return self.hours[-1] - self.hours[0] + HOUR_US if self.hours else 0

    def next(self, at: int) -> int | None:
        """The first such hour at or after an instant."""
        return next((hour for hour in self.hours if hour >= at), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Under:
    """A limit as one channel meets it; zone: whose civil days cut versions; unit: the channel's."""

    rule: LimitRule
    zone: ZoneInfo
    unit: Unit


@dataclass(slots=True, kw_only=True)
class Refolded:
    """What a fold found.

    spans: what was folded; every fact that begins there and is not in ``still`` is no longer found.
    changed: excursions to be written. hours: the states at full hours inside the spans, all others
    there being idle. kept: the last state, None where the one that was kept still holds.
    """

    spans: list[tuple[int, int]] = field(default_factory=list)
    changed: dict[Key, tuple[LimitVersion, Excursion]] = field(default_factory=dict)
    still: dict[Key, tuple[LimitVersion, Excursion]] = field(default_factory=dict)
    hours: dict[int, FoldState] = field(default_factory=dict)
    kept: Kept | None = None

    def found(self, version: LimitVersion, excursions: Sequence[Excursion]) -> None:
        """Note excursions; what a later hour says of one stands."""
        for each in excursions:
            key = (str(version.effective), each.side, each.starts_us)
            self.changed[key] = self.still[key] = (version, each)

    def leave(self, state: FoldState) -> None:
        """What goes on unchanged beyond a span is known already, with all of its length."""
        for key, (_, excursion) in list(self.changed.items()):
            if excursion in (state.below, state.above):
                del self.changed[key]


def hour_of(at_us: int) -> int:
    """The start of the hour that holds an instant."""
    return at_us // HOUR_US * HOUR_US


def refold(under: Under, kept: Kept, dirty: Dirty, *, read: Read, until_us: int) -> Refolded:
    """Fold what is dirty, and whatever follows from it.

    until_us: every reading before it that will come in order has come.
    """
    done = Refolded()
    at, state = _start(kept, dirty)
    begun, ahead = at, _Ahead(under, read, until_us, look_us=dirty.hours_us)
    while at < until_us:
        stop = _leap(ahead, dirty, at, state)
        if stop == at:
            stop = min(hour_of(at) + HOUR_US, until_us)
            state = _advance(done, ahead.pieces(at, stop), state, stop)
        at = stop
        if at == hour_of(at) and not state.is_idle:
            done.hours[at] = state
        later = dirty.next(at)
        if at == until_us or state != kept.at(at) or later == at:
            continue
        done.leave(state)
        done.spans.append((begun, at))
        if later is None:
            return _settled(done, kept, at)
        begun, state = _jump(kept, at, later)
        at = begun
    return _finished(done, kept, (begun, until_us), state)


def _leap(ahead: _Ahead, dirty: Dirty, at: int, state: FoldState) -> int:
    """Where the full dirty hours end in which nothing is open and nothing lies beyond."""
    if not state.is_idle:
        return at
    calm = ahead.calm_until(at)
    while hour_of(at) + HOUR_US <= calm and hour_of(at) in dirty.hours:
        at = hour_of(at) + HOUR_US
    return at


def _finished(done: Refolded, kept: Kept, span: tuple[int, int], state: FoldState) -> Refolded:
    """A fold that came to the end of what is known."""
    if span[0] < span[1]:
        done.spans.append(span)
    if done.still or not state.is_idle or kept.folded_us is not None:
        done.kept = Kept(folded_us=max(span[1], kept.folded_us or 0), state=state)
    return done


def _start(kept: Kept, dirty: Dirty) -> tuple[int, FoldState]:
    """From where to fold, with the state there."""
    if kept.folded_us is None or (dirty.since_us >= kept.folded_us and kept.state.is_idle):
        return dirty.since_us, IDLE
    if dirty.since_us >= kept.folded_us:
        return kept.folded_us, kept.state
    hour = hour_of(dirty.since_us)
    return hour, kept.at(hour)


def _jump(kept: Kept, at: int, later: int) -> tuple[int, FoldState]:
    """Where to go on after a stretch that stands as it was, with the state there."""
    if kept.folded_us is not None and at < kept.folded_us <= later:
        return kept.folded_us, kept.state
    return later, kept.at(later)


def _settled(done: Refolded, kept: Kept, at: int) -> Refolded:
    """A fold that met what was kept before it came to the last state."""
    is_news = bool(done.still) or not kept.state.is_idle
    if is_news and (kept.folded_us is None or kept.folded_us < at):
        done.kept = Kept(folded_us=at, state=kept.at(at))
    return done


def through(
    under: Under, since_us: int, until_us: int, *, read: Read
) -> dict[Key, tuple[LimitVersion, Excursion]]:
    """All that one pass over a time finds, by what tells one excursion from another.

    since_us: where nothing is open yet. until_us: every reading before it is known. Readings are
    asked for a week at a time, so that years need no more memory than that.
    """
    done, state, at = Refolded(), IDLE, since_us
    while at < until_us:
        stop = min(at + _LONGEST_LOOK, until_us)
        state = _advance(done, _pieces(under, read(at, stop), at, stop), state, stop)
        at = stop
    return done.still


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """Readings in the limit's unit under one version; ends: whether the version ends with it."""

    start_us: int
    end_us: int
    version: LimitVersion
    series: Series
    ends: bool

    def between(self, start_us: int, end_us: int) -> _Piece:
        """The part of it inside a time."""
        start, end = max(start_us, self.start_us), min(end_us, self.end_us)
        lo, hi = np.searchsorted(self.series.at_us, [start, end])
        return _Piece(
            start_us=start,
            end_us=end,
            version=self.version,
            series=judge.part(self.series, int(lo), int(hi)),
            ends=self.ends and end == self.end_us,
        )

    def beyond_us(self) -> Times:
        """The instants of the readings that do not comply."""
        at_least, at_most = judge.bounds(self.version)
        beyond = np.zeros(len(self.series), np.bool_)
        if at_least is not None:
            beyond |= self.series.value < at_least
        if at_most is not None:
            beyond |= self.series.value > at_most
        return self.series.at_us[beyond]


def _pieces(under: Under, series: Series, since_us: int, until_us: int) -> Iterator[_Piece]:
    """Readings of a time, in order, cut where the limit's version changes."""
    for cut in judge.cuts(under.rule, under.zone, since_us, until_us - 1):
        if cut.version is None:
            continue
        start, end = max(cut.start_us, since_us), min(cut.end_us, until_us)
        lo, hi = np.searchsorted(series.at_us, [start, end])
        yield _Piece(
            start_us=start,
            end_us=end,
            version=cut.version,
            series=judge.convert(
                judge.part(series, int(lo), int(hi)),
                under.unit,
                under.rule.unit,
                near=judge.edges(cut.version),
            ),
            ends=judge.ends_at(cut.version, under.zone) == end,
        )


def _advance(
    done: Refolded, pieces: Iterator[_Piece], state: FoldState, until_us: int
) -> FoldState:
    """Fold the pieces of one hour; a version that ends settles whatever is open under it."""
    for piece in pieces:
        at_least, at_most = judge.bounds(piece.version)
        state, excursions = step(
            state,
            piece.series,
            at_least=at_least,
            at_most=at_most,
            rejoin_us=REJOIN_US,
            until_us=None if piece.ends else until_us,
        )
        done.found(piece.version, excursions)
    return state


class _Ahead:
    """Readings read ahead in ever longer stretches: most folds need an hour, some need years."""

    def __init__(self, under: Under, read: Read, until_us: int, *, look_us: int) -> None:
        self._under, self._read, self._until = under, read, until_us
        self._from = self._to = 0
        self._look = min(max(look_us, _FIRST_LOOK), _LONGEST_LOOK)
        self._held: tuple[_Piece, ...] = ()
        self._beyond: Times = np.empty(0, np.int64)

    def pieces(self, at: int, stop: int) -> Iterator[_Piece]:
        """The readings from ``at`` up to ``stop``, in one hour."""
        self._look_from(at)
        for piece in self._held:
            if piece.start_us < stop and at < piece.end_us:
                yield piece.between(at, stop)

    def calm_until(self, at: int) -> int:
        """Up to where all readings comply, as far as is seen from ``at``."""
        self._look_from(at)
        place = int(np.searchsorted(self._beyond, at))
        return int(self._beyond[place]) if place < len(self._beyond) else self._to

    def _look_from(self, at: int) -> None:
        if self._from <= at < self._to:
            return
        self._from, self._to = at, min(hour_of(at + self._look), self._until)
        self._look = min(2 * self._look, _LONGEST_LOOK)
        series = self._read(self._from, self._to)
        self._held = tuple(_pieces(self._under, series, self._from, self._to))
        if self._held:
            self._beyond = np.concatenate([piece.beyond_us() for piece in self._held])
        else:
            self._beyond = np.empty(0, np.int64)


def quiet(under: Under, series: Series) -> bool:
    """Whether no reading lies beyond the limit, by whatever version covers it.

    series: in the channel's unit, in any order: of several channels too.
    """
    if not len(series):
        return True
    first, last = int(series.at_us.min()), int(series.at_us.max())
    if len(cuts := tuple(judge.cuts(under.rule, under.zone, first, last))) == 1:
        return cuts[0].version is None or not len(_whole(under, cuts[0].version, series))
    return not any(
        len(_whole(under, cut.version, series.where(_within(series, cut))))
        for cut in cuts
        if cut.version is not None
    )


def _within(series: Series, cut: judge.Cut) -> Flags:
    return (series.at_us >= cut.start_us) & (series.at_us < cut.end_us)


def _whole(under: Under, version: LimitVersion, series: Series) -> Times:
    """The instants of readings beyond one version, whatever their order."""
    edges = judge.edges(version)
    piece = _Piece(
        start_us=0,
        end_us=0,
        version=version,
        series=judge.convert(series, under.unit, under.rule.unit, near=edges),
        ends=False,
    )
    return piece.beyond_us()
