"""Screening: windows by time, blocks that change nothing, and what a flag may never do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.judging import screening
from compliance.judging.screening import passes
from compliance.model.flags import (
    Flag,
    FlaggedSpan,
    Listed,
    Reason,
    gathered,
    reasons,
    spans,
    worst,
)
from compliance.model.readings import Quality, Series

_S = 1_000_000
PH = passes.Settings(
    version="test",
    fail=(0.0, 14.0),
    suspect=(2.0, 12.5),
    spike=1.0,
    most_per_second=0.5,
    flat=passes.FlatLine(suspect_seconds=60, fail_seconds=240, tolerance=0.005),
    gap_seconds=30,
)
COATED = passes.Settings(
    version="test", attenuated=passes.Attenuated(seconds=60, suspect_below=0.004)
)


def series(
    values: list[float], *, every: int = 1, quality: dict[int, Quality] | None = None
) -> Series:
    n = len(values)
    flags = np.zeros(n, np.int64)
    for at, said in (quality or {}).items():
        flags[at] = int(said)
    return Series(
        at_us=np.arange(n, dtype=np.int64) * every * _S,
        value=np.array(values, float),
        quality=flags,
        interval_us=np.full(n, every * _S, np.int64),
    )


def flat_by_hand(
    values: list[float], at: list[int], *, seconds: int, tolerance: float
) -> list[bool]:
    """The definition, word by word: every window looked through."""
    found = []
    for i, value in enumerate(values):
        slots = [j for j in range(i + 1) if at[j] >= at[i] - seconds]
        held = [values[j] for j in slots if not np.isnan(values[j])]
        covered = at[i] - at[slots[0]] + 1 > seconds
        enough = len(held) >= 2 and 2 * len(held) >= max(len(slots), seconds)
        still = bool(held) and max(held) - min(held) < tolerance
        found.append(not np.isnan(value) and covered and enough and still)
    return found


@given(
    steps=st.lists(st.sampled_from([1, 1, 1, 1, 2, 9]), min_size=1, max_size=60),
    levels=st.lists(st.sampled_from([7.0, 7.0, 7.001, 7.3, np.nan]), min_size=60, max_size=60),
    seconds=st.integers(1, 12),
)
def test_a_flat_line_is_what_its_definition_says(
    steps: list[int], levels: list[float], seconds: int
) -> None:
    at = np.cumsum(steps).tolist()
    values = levels[: len(at)]
    found = screening.flat_line(
        np.array(values),
        np.array(at, np.int64) * _S,
        interval_us=_S,
        suspect_seconds=seconds,
        fail_seconds=10_000,
        tolerance=0.01,
    )
    by_hand = flat_by_hand(values, at, seconds=seconds, tolerance=0.01)
    assert (found == Flag.SUSPECT).tolist() == by_hand


def test_a_silence_is_not_standing_still() -> None:
    at_us = np.array([*range(10), 21_600, 21_601], np.int64) * _S
    found = screening.flat_line(
        np.full(12, 7.0),
        at_us,
        interval_us=_S,
        suspect_seconds=5,
        fail_seconds=9,
        tolerance=0.01,
    )
    assert found[5] == Flag.SUSPECT
    assert found[9] == Flag.FAIL
    assert found[10:].tolist() == [Flag.PASS, Flag.PASS]


def test_a_rate_is_taken_over_the_true_time() -> None:
    at_us = np.array([0, 1_900_000, 2_800_000, 2_800_001], np.int64)
    values = np.array([7.0, 7.0 + 0.08 * 1.9, 7.0 + 0.08 * 2.8, 7.0 + 0.08 * 2.8 + 0.06])
    found = screening.rate_of_change(values, at_us, most_per_second=0.1)
    assert found.tolist() == [Flag.PASS, Flag.PASS, Flag.PASS, Flag.SUSPECT]


@pytest.mark.parametrize("block", [1, 7, 100, 10_000])
def test_blocks_change_no_flag(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    random = np.random.default_rng(3)
    values = 7 + random.normal(0, 0.3, 2000).round(2)
    values[300:900] = 7.0
    values[random.integers(0, 2000, 60)] = np.nan
    whole = passes.screen(series(values.tolist()), PH)
    monkeypatch.setattr(passes, "BLOCK", block)
    cut = passes.screen(series(values.tolist()), PH)
    np.testing.assert_array_equal(whole[0], cut[0])
    np.testing.assert_array_equal(whole[1], cut[1])
    assert {Flag.PASS, Flag.SUSPECT, Flag.MISSING} <= set(whole[0].tolist())


def test_a_statistic_alone_never_fails_a_reading() -> None:
    slug = [7.0 + 0.01 * (i % 3) for i in range(600)]
    slug[300] = 9.9
    flags, why = passes.screen(series(slug), PH)
    assert flags[300] == Flag.SUSPECT
    assert Reason(int(why[300])) == Reason.SPIKE | Reason.RATE_OF_CHANGE
    stuck, _ = passes.screen(series([7.0] * 600), PH)
    assert stuck[[0, -1]].tolist() == [Flag.NOT_EVALUATED, Flag.SUSPECT]
    assert set(stuck[1:-1].tolist()) == {Flag.PASS, Flag.SUSPECT}


def test_device_evidence_fails_and_is_no_neighbour() -> None:
    values = [7.0 + 0.01 * (i % 3) for i in range(20)]
    values[10] = 13.5
    flags, why = passes.screen(series(values, quality={10: Quality.STATUS_BAD}), PH)
    assert flags[10] == Flag.FAIL and why[10] == Reason.DEVICE
    assert flags[[0, 9, 11, 19]].tolist() == [Flag.NOT_EVALUATED] * 4, "neighbours are missing"
    assert (np.delete(flags, [0, 9, 10, 11, 19]) == Flag.PASS).all()


def test_a_coated_probe_is_seen_before_it_stands_still() -> None:
    alive = [7.0 + 0.01 * (i % 4) for i in range(200)]
    coated = [7.0 + 0.005 * (i % 2) for i in range(200)]
    flags, why = passes.screen(series(alive + coated), COATED)
    assert set(flags[:60].tolist()) == {Flag.NOT_EVALUATED}
    assert set(flags[60:200].tolist()) == {Flag.PASS}
    assert set(flags[262:].tolist()) == {Flag.SUSPECT}
    assert Reason(int(why[-1])) is Reason.ATTENUATED


def test_zero_flow_is_no_flat_line_but_a_stuck_flow_is() -> None:
    flow = passes.Settings(
        version="test",
        flat=passes.FlatLine(
            suspect_seconds=10, fail_seconds=100, tolerance=0.01, zero_is_flat=False
        ),
    )
    flags, _ = passes.screen(series([0.0] * 30 + [12.0] * 30), flow)
    assert (flags[:40] == Flag.PASS).all()
    assert (flags[40:] == Flag.SUSPECT).all()


def test_a_hole_or_an_untried_test_is_never_a_pass() -> None:
    every = np.array(list(Flag), np.int8)
    one, other = (grid.ravel() for grid in np.meshgrid(every, every))
    order = [Flag.PASS, Flag.NOT_EVALUATED, Flag.MISSING, Flag.SUSPECT, Flag.FAIL]
    right = [max(a, b, key=order.index) for a, b in zip(one, other, strict=True)]
    assert worst(one.astype(np.int8), other.astype(np.int8)).tolist() == right


def test_spans_hold_neighbours_of_one_reason() -> None:
    at_us = np.arange(6, dtype=np.int64)
    flag = np.array([1, 3, 3, 4, 1, 9], np.int8)
    why = np.array([0, 4, 4, 1, 0, 0], np.int16)
    found = spans(at_us, flag, why)
    assert [(s.since_us, s.until_us, s.flag, s.readings) for s in found] == [
        (1, 2, Flag.SUSPECT, 2),
        (3, 3, Flag.FAIL, 1),
        (5, 5, Flag.MISSING, 1),
    ]
    assert reasons(found[0].reason) == "a spike against both neighbours"
    assert spans(at_us[:0], flag[:0], why[:0]) == ()


def test_what_people_left_out_is_not_said_to_be_the_instruments_word() -> None:
    said = {3: Quality.MAINTENANCE, 4: Quality.INVALID, 5: Quality.STATUS_BAD}
    flags, why = screening.screen(series([7.0 + 0.01 * i for i in range(9)], quality=said), PH)
    assert why.tolist() == [0, 0, 0, 0, 0, int(Reason.DEVICE), 0, 0, 0]
    assert flags.tolist()[3:6] == [Flag.MISSING, Flag.MISSING, Flag.FAIL]


def test_spans_cut_at_quarter_hours_are_told_as_one() -> None:
    def span(since: int, until: int, why: Reason = Reason.SPIKE, rules: str = "a") -> Listed:
        found = FlaggedSpan(
            since_us=since, until_us=until, flag=Flag.SUSPECT, reason=why, readings=until - since
        )
        return Listed(span=found, ruleset=rules)

    found = gathered(
        [span(0, 9), span(10, 19), span(23, 29), span(30, 39, Reason.GAP), span(40, 49, rules="b")],
        within_us=3,
    )
    assert [(one.span.since_us, one.span.until_us, one.span.readings) for one in found] == [
        (0, 19, 18), (23, 29, 6), (30, 39, 9), (40, 49, 9),
    ]  # fmt: skip
    assert gathered([], within_us=3) == ()
