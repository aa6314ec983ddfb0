"""Slug screening: the mean of the day before, what is left out of it, and how long is long."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compliance.judging.slugs import Screening, facts, screen
from compliance.model.findings import Authority, Kind
from compliance.model.parameters import Parameter
from compliance.model.readings import Series
from compliance.model.units import Unit
from compliance.rules.book import find
from compliance.rules.schema import SlugRule, SlugVersion

S = 1_000_000
HOUR = 3600 * S
CASES = Path(__file__).parents[2].parent / "shared" / "cases" / "regulation.json"


def rule() -> SlugRule:
    found = find("prescott.slug")[1]
    assert isinstance(found, SlugRule)
    return found


VERSION: SlugVersion = rule().versions[0]


def series(values: list[float], *, interval: int = 60, at: list[int] | None = None) -> Series:
    seconds = np.arange(len(values)) * interval if at is None else np.array(at)
    return Series(
        at_us=seconds.astype(np.int64) * S,
        value=np.array(values, float),
        quality=np.zeros(len(values), np.int64),
        interval_us=np.full(len(values), interval * S, np.int64),
    )


def screened(of: Series, baseline: float | None = None) -> Screening:
    return screen(of, VERSION, rejoin_us=300 * S, baseline=baseline)


@pytest.mark.parametrize(("minutes", "found"), [(15, 0), (16, 1)])
def test_longer_than_fifteen_minutes_is_a_possible_slug(minutes: int, found: int) -> None:
    values = [40.0] * 24 * 60 + [230.0] * minutes + [40.0] * 60
    assert len(screened(series(values)).found) == found


def test_case_d37_five_and_three_quarters_times_for_sixteen_minutes() -> None:
    case = next(c for c in json.loads(CASES.read_text()) if c["id"] == "D37")
    usual, event = case["inputs"]["avg_24h_flow_gpm"], case["inputs"]["event"]
    values = [usual] * 24 * 60 + [event["flow_gpm"]] * event["minutes"] + [usual] * 5
    found = screened(series(values)).found
    (fact,) = facts(
        rule(), VERSION, found, parameter=Parameter.FLOW, unit=Unit.GPM, channel_key="1",
        text=lambda at_us, value: f"{value:g}",
    )  # fmt: skip
    assert (fact.kind, fact.authority) == (Kind.POSSIBLE_SLUG, Authority.PROGRAM)
    assert (fact.worst, fact.limit, fact.seconds) == ("230", "200.00", 960)
    assert any(f"{case['expected']['ratio']} times" in line for line in fact.working)


def test_exactly_five_times_touches() -> None:
    assert not screened(series([40.1] * 24 * 60 + [200.5] * 60)).found


def test_less_than_twelve_hours_before_is_not_evaluated() -> None:
    of = series([40.0] * 12 * 60 + [400.0] * 30)
    screening = screened(of)
    assert screening.not_evaluated == ((0, 12 * HOUR),)
    assert len(screening.found) == 1
    assert not screened(series([40.0] * 11 * 60 + [400.0] * 30)).found


def test_a_baseline_stands_in_for_the_mean() -> None:
    screening = screened(series([300.0] * 20), baseline=40.0)
    assert len(screening.found) == 1
    assert screening.not_evaluated == ()


def test_a_reading_holds_one_interval_into_a_silence() -> None:
    """Eleven hours, then silence: what was held is too little, however long ago it began."""
    at = [*range(0, 11 * 3600, 60), 20 * 3600]
    values = [40.0] * (len(at) - 1) + [400.0]
    screening = screened(series(values, at=at))
    assert screening.not_evaluated[-1][1] == 20 * HOUR


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([1.0, 10.0, 20.0, 100.0, 600.0]), min_size=5, max_size=50))
def test_all_at_once_equals_reading_by_reading(values: list[float]) -> None:
    of = series([10.0] * 30 + values, interval=1800)
    got = {
        int(at)
        for slug in screen(of, _short(), rejoin_us=0).found
        for at in of.at_us
        if slug.excursion.starts_us <= at < slug.excursion.ends_us
    }
    assert got == _over(of)


def _short() -> SlugVersion:
    return VERSION.model_copy(update={"seconds": 1})


def _over(of: Series) -> set[int]:
    """Instants over five times the mean before them, one reading after another."""
    at = of.at_us.tolist()
    over: dict[int, bool] = {}
    for i, t in enumerate(at):
        pieces = [
            (min(at[j] + 1800 * S, t) - max(at[j], t - 24 * HOUR), float(of.value[j]))
            for j in range(i)
            if not over[j] and at[j] + 1800 * S > t - 24 * HOUR
        ]
        time = sum(length for length, _ in pieces)
        mean = sum(length * v for length, v in pieces) / time if time >= 12 * HOUR else None
        over[i] = mean is not None and bool(of.value[i] > 5 * mean * (1 + 1e-9))
    return {at[i] for i, is_over in over.items() if is_over}
