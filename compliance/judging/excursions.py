"""The fold: judged readings in time order to excursions beyond a limit, in any number of pieces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from compliance.model.findings import Excursion, Side
from compliance.model.folds import IDLE, SILENT_INTERVALS, FoldState
from compliance.model.readings import SUSPECT, Series, Times, Values

Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejoin:
    """When an excursion is settled: the rejoin time, and up to where readings are known.

    until_us: every reading before this instant has been seen; None: the series ends here.
    """

    rejoin_us: int
    until_us: int | None

    def settles(self, found: Excursion, state: FoldState) -> bool:
        """Whether no later reading can lengthen or join ``found``."""
        if self.until_us is None or state.silent_until(self.until_us):
            return True
        return not found.open_ended and self.until_us - found.ends_us >= self.rejoin_us


def step(
    state: FoldState | None,
    series: Series,
    *,
    at_least: float | None,
    at_most: float | None,
    rejoin_us: int,
    until_us: int | None,
) -> tuple[FoldState, tuple[Excursion, ...]]:
    """Fold the next readings of one channel; returns the new state and the excursions that changed.

    series: judged, in the limit's own unit, later than all that was folded before and earlier than
    ``until_us``. until_us: every reading before it has been seen (the watermark); None when the
    series ends here: then all settles, and a run that has not ended is ``open_ended``. An excursion
    still running is returned unsettled and ``open_ended``: it ends, so far, one interval after its
    last reading beyond. Touching a bound complies.
    """
    state = state or IDLE
    below = _beyond(series.value, at_least, Side.BELOW)
    above = _beyond(series.value, at_most, Side.ABOVE)
    if state.is_idle and not len(below) and not len(above):
        return IDLE, ()
    rejoin = Rejoin(rejoin_us=rejoin_us, until_us=until_us)
    silences = _silences(series)
    last = _last(state, series)
    kept: dict[str, Excursion | None] = {}
    changed: list[Excursion] = []
    for side, carried, beyond in (
        (Side.BELOW, state.below, below),
        (Side.ABOVE, state.above, above),
    ):
        found = _groups(series, beyond, silences, side=side, rejoin_us=rejoin_us)
        found = _carry(state, carried, series, found, silences, rejoin_us)
        if found and not found[-1].settled and rejoin.settles(found[-1], last):
            found[-1] = replace(found[-1], settled=True)
        kept[side] = found[-1] if found and not found[-1].settled else None
        changed += [excursion for excursion in found if excursion != carried]
    changed.sort(key=lambda excursion: (excursion.starts_us, excursion.side))
    after = replace(last, below=kept["below"], above=kept["above"])
    return (IDLE if after.is_idle else after), tuple(changed)


def step_many(
    states: Mapping[int, FoldState],
    bundle: Mapping[int, Series],
    *,
    at_least: float | None,
    at_most: float | None,
    rejoin_us: int,
    until_us: int | None,
) -> tuple[dict[int, FoldState], dict[int, tuple[Excursion, ...]]]:
    """``step`` for many channels under one limit; channels where nothing is open stay vectorised.

    Returns the states of all channels named in either argument (``IDLE`` where nothing is open) and
    the excursions that changed, by channel, only where some did.
    """
    channels = list(bundle)
    after = dict.fromkeys([*channels, *states], IDLE)
    changed: dict[int, tuple[Excursion, ...]] = {}
    busy = {channel for channel, state in states.items() if not state.is_idle}
    busy |= _with_something_beyond(channels, bundle, at_least, at_most)
    for channel in busy:
        after[channel], found = step(
            states.get(channel),
            bundle.get(channel, NOTHING),
            at_least=at_least,
            at_most=at_most,
            rejoin_us=rejoin_us,
            until_us=until_us,
        )
        if found:
            changed[channel] = found
    return after, changed


_NO_TIMES = np.empty(0, np.int64)
NOTHING = Series(
    at_us=_NO_TIMES, value=np.empty(0), quality=_NO_TIMES.copy(), interval_us=_NO_TIMES.copy()
)
"""A series without a reading: only the watermark moves."""


def _with_something_beyond(
    channels: list[int], bundle: Mapping[int, Series], at_least: float | None, at_most: float | None
) -> set[int]:
    if not channels:
        return set()
    ends = np.cumsum([len(bundle[channel]) for channel in channels])
    values = np.concatenate([bundle[channel].value for channel in channels])
    beyond = np.concatenate(
        [_beyond(values, at_least, Side.BELOW), _beyond(values, at_most, Side.ABOVE)]
    )
    return {channels[at] for at in np.unique(np.searchsorted(ends, beyond, side="right"))}


def _beyond(values: Values, bound: float | None, side: Side) -> Indices:
    if bound is None:
        return np.empty(0, np.intp)
    return np.flatnonzero(values < bound if side is Side.BELOW else values > bound)


def _silences(series: Series) -> Indices:
    """Positions of the readings that come after a silence, by the cadence of the one before."""
    at, interval = series.at_us, series.interval_us
    return np.flatnonzero(at[1:] - at[:-1] > SILENT_INTERVALS * interval[:-1]) + 1


def _last(state: FoldState, series: Series) -> FoldState:
    if not len(series):
        return state
    return FoldState(last_us=int(series.at_us[-1]), interval_us=int(series.interval_us[-1]))


def _groups(
    series: Series, beyond: Indices, silences: Indices, *, side: Side, rejoin_us: int
) -> list[Excursion]:
    """The excursions inside one array, joined; settled where this array itself shows it."""
    if not len(beyond):
        return []
    quiet = np.searchsorted(silences, beyond, side="right")  # silences up to each reading beyond
    cut = np.flatnonzero((np.diff(beyond) != 1) | (np.diff(quiet) != 0)) + 1
    first = np.concatenate([[0], cut])  # positions in ``beyond``: run by run
    last = np.concatenate([cut, [len(beyond)]]) - 1
    starts = series.at_us[beyond[first]]
    ends, complied = _ends(series, beyond[last], silences)
    joined = complied[:-1] & (starts[1:] - ends[:-1] < rejoin_us)
    joined &= quiet[first[1:]] == quiet[last[:-1]]
    heads = np.concatenate([[0], np.flatnonzero(~joined) + 1, [len(first)]])
    lengths = np.add.reduceat(ends - starts, heads[:-1])
    found = []
    for (head, tail), beyond_us in zip(pairwise(heads), lengths, strict=True):
        inside = beyond[first[head] : last[tail - 1] + 1]
        worst = _worst(series, inside, side)
        is_last = tail == len(first)
        silent_after = len(silences) > quiet[last[tail - 1]]
        found.append(
            Excursion(
                side=side,
                starts_us=int(starts[head]),
                ends_us=int(ends[tail - 1]),
                beyond_us=int(beyond_us),
                runs=int(tail - head),
                readings=len(inside),
                worst=float(series.value[worst]),
                worst_us=int(series.at_us[worst]),
                open_ended=not complied[tail - 1],
                review=bool(np.any(series.quality[inside] & SUSPECT)),
                settled=not is_last or bool(silent_after),
            )
        )
    return found


def _ends(series: Series, last: Indices, silences: Indices) -> tuple[Times, NDArray[np.bool_]]:
    """When each run ends, by its last reading beyond, and whether a complying reading ended it."""
    following = np.minimum(last + 1, len(series) - 1)
    complied = (last + 1 < len(series)) & ~np.isin(last + 1, silences)
    held = series.at_us[last] + series.interval_us[last]
    return np.where(complied, series.at_us[following], held), complied


def _worst(series: Series, inside: Indices, side: Side) -> int:
    values = series.value[inside]
    return int(inside[np.argmin(values) if side is Side.BELOW else np.argmax(values)])


def _carry(
    state: FoldState,
    carried: Excursion | None,
    series: Series,
    found: list[Excursion],
    silences: Indices,
    rejoin_us: int,
) -> list[Excursion]:
    """Let the excursion left open by earlier pieces end, go on, or join the first one here."""
    if carried is None or not len(series):
        return found if carried is None else [carried]
    began = int(series.at_us[0])
    if state.silent_until(began):
        return [replace(carried, settled=True), *found]
    goes_on = bool(found) and found[0].starts_us == began
    if carried.open_ended and goes_on:
        return [_continued(carried, found[0]), *found[1:]]
    if carried.open_ended:
        carried = replace(
            carried,
            ends_us=began,
            beyond_us=carried.beyond_us + began - carried.ends_us,
            open_ended=False,
        )
    broken_us = int(series.at_us[silences[0]]) if len(silences) else None
    if not found:
        return [replace(carried, settled=broken_us is not None)]
    starts = found[0].starts_us
    if starts - carried.ends_us < rejoin_us and (broken_us is None or starts < broken_us):
        return [_joined(carried, found[0]), *found[1:]]
    return [replace(carried, settled=True), *found]


def _joined(first: Excursion, second: Excursion) -> Excursion:
    """Two excursions of one side as one; the first worst of equals is kept."""
    sign = 1 if first.side is Side.BELOW else -1
    worse = second if sign * second.worst < sign * first.worst else first
    return replace(
        second,
        starts_us=first.starts_us,
        beyond_us=first.beyond_us + second.beyond_us,
        runs=first.runs + second.runs,
        readings=first.readings + second.readings,
        worst=worse.worst,
        worst_us=worse.worst_us,
        review=first.review or second.review,
    )


def _continued(running: Excursion, rest: Excursion) -> Excursion:
    """One run cut by the edge of a piece: the time up to the edge was held, not measured."""
    both = _joined(running, rest)
    edge_us = rest.starts_us - running.ends_us
    return replace(both, beyond_us=both.beyond_us + edge_us, runs=both.runs - 1)
