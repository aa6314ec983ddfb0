"""The fold: sentences of the contract as tables, and the law that pieces equal the whole."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compliance.judging.excursions import NOTHING, step, step_many
from compliance.model.findings import Excursion, Side
from compliance.model.folds import IDLE, FoldState
from compliance.model.readings import Quality, Series

S = 1_000_000
LOW, HIGH = 6.0, 9.0
PH = {"at_least": LOW, "at_most": HIGH, "rejoin_us": 300 * S}


def series(
    *points: tuple[float, float], interval: int = 60, suspect: tuple[int, ...] = ()
) -> Series:
    """(seconds, value) pairs as judged readings."""
    quality = [int(Quality.DECLARED_SUSPECT) if i in suspect else 0 for i in range(len(points))]
    return Series(
        at_us=np.array([int(at * S) for at, _ in points], np.int64),
        value=np.array([value for _, value in points], float),
        quality=np.array(quality, np.int64),
        interval_us=np.full(len(points), interval * S, np.int64),
    )


def minutes(*values: float) -> Series:
    return series(*((60 * i, value) for i, value in enumerate(values)))


def whole(of: Series, **changes: object) -> tuple[Excursion, ...]:
    return step(None, of, **{**PH, "until_us": None, **changes})[1]


@pytest.mark.parametrize(
    ("value", "side"),
    [(5.9, "below"), (6.0, None), (9.0, None), (9.01, "above"), (5.99, "below"), (7.0, None)],
)
def test_a_bound_may_be_touched_not_passed(value: float, side: str | None) -> None:
    found = whole(minutes(7, value, 7))
    assert [excursion.side for excursion in found] == ([side] if side else [])


def test_it_starts_at_its_first_reading_beyond_and_ends_at_the_first_that_complies() -> None:
    (found,) = whole(minutes(7, 5.5, 5.2, 5.4, 7, 7))
    assert (found.starts_us, found.ends_us) == (60 * S, 240 * S)
    assert (found.worst, found.worst_us, found.readings) == (5.2, 120 * S, 3)
    assert not found.open_ended
    assert found.settled


def test_below_and_above_are_separate_and_one_ends_where_the_other_begins() -> None:
    below, above = whole(minutes(7, 5, 10, 7))
    assert (below.side, below.ends_us, above.side, above.starts_us) == (
        Side.BELOW, 120 * S, Side.ABOVE, 120 * S,
    )  # fmt: skip


def test_the_end_of_the_series_ends_it_one_interval_after_its_last_reading_beyond() -> None:
    (found,) = whole(minutes(7, 5, 5))
    assert (found.ends_us, found.open_ended, found.settled) == (180 * S, True, True)


def test_silence_is_more_than_three_intervals_and_always_separates() -> None:
    three = whole(series((0, 5), (180, 5), (240, 7)))
    assert [(e.starts_us, e.ends_us, e.open_ended) for e in three] == [(0, 240 * S, False)]
    more = whole(series((0, 5), (181, 5), (241, 7)))
    assert [(e.starts_us, e.ends_us, e.open_ended) for e in more] == [
        (0, 60 * S, True),
        (181 * S, 241 * S, False),
    ]


def test_a_silence_after_a_complying_reading_separates_too() -> None:
    assert len(whole(series((0, 5), (60, 7), (120, 5), (180, 7)))) == 1
    assert len(whole(series((0, 5), (60, 7), (250, 5), (310, 7)))) == 2


@pytest.mark.parametrize(("back", "count"), [(299, 1), (300, 2), (301, 2)])
def test_two_join_when_less_than_the_rejoin_time_lies_between(back: int, count: int) -> None:
    at = [(0, 5.0), (60, 7.0), (150, 7.0), (240, 7.0), (60 + back, 5.0), (420, 7.0)]
    found = whole(series(*at))
    assert len(found) == count
    if count == 1:
        (one,) = found
        assert (one.starts_us, one.ends_us, one.runs, one.readings) == (0, 420 * S, 2, 2)
        assert one.beyond_us == (60 + 420 - 60 - back) * S


def test_what_rests_on_a_suspect_reading_is_for_review() -> None:
    assert not whole(series((0, 7), (60, 5), (120, 7), suspect=(0, 2)))[0].review
    assert whole(series((0, 7), (60, 5), (120, 7), suspect=(1,)))[0].review


def test_a_running_excursion_is_returned_unsettled_then_extended_then_settled() -> None:
    state, (running,) = step(None, minutes(7, 5), **PH, until_us=61 * S)
    assert (running.settled, running.open_ended, running.ends_us) == (False, True, 120 * S)
    state, same = step(state, NOTHING, **PH, until_us=100 * S)
    assert same == ()
    state, (ended,) = step(state, series((120, 7)), **PH, until_us=121 * S)
    assert (ended.settled, ended.open_ended, ended.ends_us) == (False, False, 120 * S)
    assert not state.is_idle
    state, (settled,) = step(state, NOTHING, **PH, until_us=420 * S)
    assert settled == replace(ended, settled=True)
    assert state == IDLE


def test_silence_up_to_the_watermark_settles_a_running_excursion() -> None:
    state, _ = step(None, minutes(5), **PH, until_us=1 * S)
    assert step(state, NOTHING, **PH, until_us=180 * S) == (state, ())
    state, (settled,) = step(state, NOTHING, **PH, until_us=180 * S + 1)
    assert (settled.ends_us, settled.open_ended, settled.settled) == (60 * S, True, True)
    assert state == IDLE


def test_the_rejoin_time_is_exact_across_pieces_and_at_the_watermark() -> None:
    state, _ = step(None, series((0, 5), (60, 7), interval=600), **PH, until_us=61 * S)
    assert step(state, NOTHING, **PH, until_us=360 * S - 1)[0] == state
    assert step(state, NOTHING, **PH, until_us=360 * S)[0] == IDLE
    for at, count in ((359, 1), (360, 2)):
        _, found = step(state, series((at, 5), interval=600), **PH, until_us=None)
        assert len({excursion.starts_us for excursion in found}) == count


REJOINS = st.sampled_from([0, 60 * S, 120 * S, 300 * S])
VALUES = st.sampled_from([5.0, 5.5, 6.0, 7.0, 7.0, 7.0, 9.0, 9.5])
GAPS = st.sampled_from([30, 60, 60, 60, 60, 90, 180, 181, 240, 299, 300, 301, 1000])


@st.composite
def histories(draw: st.DrawFn) -> Series:
    gaps = draw(st.lists(GAPS, min_size=1, max_size=30))
    at = np.cumsum(gaps)
    points = [(float(t), draw(VALUES)) for t in at]
    suspect = draw(st.sets(st.integers(0, len(points) - 1), max_size=3))
    return series(*points, suspect=tuple(suspect))


def oracle(of: Series, rejoin_us: int) -> list[tuple]:
    """The contract, reading by reading, without a thought for speed."""
    rows = [row for side in Side for row in _oracle_side(of, side, rejoin_us)]
    return sorted(rows, key=lambda row: (row[1], row[0]))


def _oracle_side(of: Series, side: Side, rejoin_us: int) -> list[tuple]:
    found: list[dict] = []  # runs: [start, end]; seen: readings beyond
    last: dict | None = None  # what a reading beyond goes on with, or may join
    before: int | None = None
    for t, v, q, interval in zip(of.at_us, of.value, of.quality, of.interval_us, strict=True):
        if before is not None and t - before > 3 * interval:
            last = None
        before = t
        if last and last["running"]:
            last["runs"][-1][1] = t
        if not (v < LOW if side is Side.BELOW else v > HIGH):
            last = last and {**last, "running": False}
            if last:
                found[-1] = last
            continue
        if last is None or not (last["running"] or t - last["runs"][-1][1] < rejoin_us):
            last = {"runs": [], "seen": [], "running": False}
            found.append(last)
        if not last["running"]:
            last["runs"].append([t, None])
        last["runs"][-1][1] = t + interval
        last["seen"].append((v, t, bool(q)))
        last["running"] = True
    return [_oracle_row(side, **one) for one in found]


def _oracle_row(side: Side, *, runs: list, seen: list, running: bool) -> tuple:
    worst = min(seen, key=lambda s: (s[0] if side is Side.BELOW else -s[0], s[1]))
    beyond = sum(end - start for start, end in runs)
    review = any(s[2] for s in seen)
    return (
        side,
        runs[0][0],
        runs[-1][1],
        beyond,
        len(runs),
        len(seen),
        *worst[:2],
        running,
        review,
    )


def as_rows(found: list[Excursion]) -> list[tuple]:
    rows = [
        (e.side, e.starts_us, e.ends_us, e.beyond_us, e.runs, e.readings, e.worst, e.worst_us,
         e.open_ended, e.review) for e in found
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (row[1], row[0]))


@settings(max_examples=400, deadline=None)
@given(histories(), REJOINS)
def test_the_fold_equals_reading_by_reading(of: Series, rejoin_us: int) -> None:
    found = list(whole(of, rejoin_us=rejoin_us))
    assert all(excursion.settled for excursion in found)
    assert as_rows(found) == oracle(of, rejoin_us)


@settings(max_examples=400, deadline=None)
@given(histories(), st.sets(st.integers(0, 30)), st.sampled_from([1, 60 * S, 200 * S]), REJOINS)
def test_folding_in_pieces_equals_folding_at_once(
    of: Series, at: set[int], late: int, rejoin_us: int
) -> None:
    """Whatever the pieces, and however late the watermark moves, even through JSON."""
    latest: dict[tuple[Side, int], Excursion] = {}
    state: FoldState | None = None
    edges = [0, *sorted(edge for edge in at if edge < len(of)), len(of)]
    for lo, hi in zip(edges, edges[1:], strict=False):
        piece = of.where((np.arange(len(of)) >= lo) & (np.arange(len(of)) < hi))
        after = int(of.at_us[hi]) if hi < len(of) else None
        for readings, until in ((piece, _before(of, hi, late)), (NOTHING, after)):
            state, changed = step(
                state, readings, at_least=LOW, at_most=HIGH, rejoin_us=rejoin_us, until_us=until
            )
            assert all(latest.get((e.side, e.starts_us)) != e for e in changed)
            latest.update({(e.side, e.starts_us): e for e in changed})
            state = FoldState.from_dict(json.loads(json.dumps(state.to_dict())))
    assert state == IDLE
    at_once = whole(of, rejoin_us=rejoin_us)
    assert sorted(latest.values(), key=_order) == sorted(at_once, key=_order)


def _before(of: Series, hi: int, late: int) -> int | None:
    """A watermark between the last reading of a piece and the next one."""
    last = int(of.at_us[hi - 1]) + late if hi else 0
    return min(last, int(of.at_us[hi])) if hi < len(of) else last


def _order(e: Excursion) -> tuple[int, str]:
    return e.starts_us, e.side


@given(st.lists(histories(), min_size=1, max_size=4))
def test_many_channels_at_once_equal_one_by_one(many: list[Series]) -> None:
    states, found = step_many({}, dict(enumerate(many)), **PH, until_us=40_000 * S)
    for channel, of in enumerate(many):
        state, changed = step(None, of, **PH, until_us=40_000 * S)
        assert states[channel] == state
        assert found.get(channel, ()) == changed


@given(histories())
def test_a_stricter_limit_never_finds_fewer_readings(of: Series) -> None:
    beyond = sum(e.readings for e in whole(of))
    assert sum(e.readings for e in whole(of, at_least=7.0, at_most=8.0)) >= beyond
