"""No flow, no discharge: when a run outside a limit is excused because no water went out.

Excused only while a flow channel of good quality is under the point's declared cut-off and its
totalizer stands still, for the whole run and five minutes before it. Anything else, a dead meter
above all, leaves the run judged as usual. Each excuse is listed for a person with its extremes; as
it rests on the flow record alone, a corrected record takes it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import numpy as np

from compliance.model.findings import Excursion
from compliance.model.folds import SILENT_INTERVALS
from compliance.model.readings import Series

BEFORE_US = 300_000_000
"""Water takes a moment to reach the probe: so long before a run it must have been still too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOff:
    """A point's declared flow under which nothing is taken to run: a dated setting.

    flow: in the flow channel's unit; basis: what it rests on, such as the meter's low-flow limit.
    """

    flow: Decimal
    basis: str
    effective: date
    ended: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stillness:
    """Whether a run is excused, why or why not, and what was seen of the flow.

    greatest_flow: in the flow channel's unit; total: where the totalizer stood; both None where
    the record does not cover the run.
    """

    run: Excursion
    is_excused: bool
    why: str
    greatest_flow: float | None = None
    total: float | None = None


def stillness(
    runs: Sequence[Excursion], *, flow: Series | None, total: Series | None, cut_off: CutOff | None
) -> tuple[Stillness, ...]:
    """Each run with what the flow record says of it, in the order given.

    flow, total: every reading with its quality, as stored, some minutes longer than the runs; None
    where the point has no such channel. cut_off: in force on the day; None where none is declared.
    """
    return tuple(_still(run, flow, total, cut_off) for run in runs)


def _still(
    run: Excursion, flow: Series | None, total: Series | None, cut_off: CutOff | None
) -> Stillness:
    if cut_off is None:
        return _judged(run, "no cut-off is declared for this point")
    if flow is None or total is None:
        missing = "flow meter" if flow is None else "totalizer"
        return _judged(run, f"this point has no {missing}")
    start, end = run.starts_us - BEFORE_US, run.ends_us
    rates, counts = _covering(flow, start, end), _covering(total, start, end)
    if rates is None:
        return _judged(run, "the flow is not known, or not of good quality, for all of it")
    if counts is None:
        return _judged(run, "the totalizer is not known, or not of good quality, for all of it")
    greatest, stood = float(rates.value.max()), float(counts.value[0])
    if Decimal(repr(greatest)) >= cut_off.flow:
        return _judged(run, f"flow of {greatest:g} is not under the cut-off of {cut_off.flow}")
    if float(np.ptp(counts.value)) != 0:
        return _judged(run, "the totalizer moved, whatever the flow says")
    return Stillness(
        run=run,
        is_excused=True,
        why=(
            f"flow at most {greatest:g}, under the cut-off of {cut_off.flow} ({cut_off.basis}), "
            f"and the totalizer stood at {stood:g}, from 5 min before it to its end"
        ),
        greatest_flow=greatest,
        total=stood,
    )


def _judged(run: Excursion, why: str) -> Stillness:
    return Stillness(run=run, is_excused=False, why=why)


def _covering(series: Series, start: int, end: int) -> Series | None:
    """The readings from one at or before ``start`` to one at or after ``end``.

    None where one of them is not of entirely good quality, or there is a silence.
    """
    first = int(np.searchsorted(series.at_us, start, side="right")) - 1
    last = int(np.searchsorted(series.at_us, end, side="left"))
    if first < 0 or last >= len(series):
        return None
    mask = np.zeros(len(series), np.bool_)
    mask[first : last + 1] = True
    held = series.where(mask)
    if (held.quality != 0).any() or not np.isfinite(held.value).all():
        return None
    silent = np.diff(held.at_us) > SILENT_INTERVALS * held.interval_us[:-1]
    return None if silent.any() else held
