"""The simulated manholes: ordinary days without a fault, and events on cue."""

from __future__ import annotations

from datetime import UTC, date, datetime

import numpy as np
import pytest

from compliance.errors import RuleError
from compliance.model.periods import Period, local_day, to_us
from compliance.model.readings import Quality
from ingest import scenario
from ingest.instrument import channel_values, daily_gallons, history
from ingest.manhole import Event, EventKind, Signal, answers, signal

START = datetime(2026, 4, 15, 15, 30, tzinfo=UTC)
DEMO = scenario.load(scenario.find("demo"))
RUN = {manhole.point: manhole for manhole in DEMO.started(START)}
MINUTE = 60_000_000


def ticks(days: float, step_s: int = 300, end: datetime = START) -> np.ndarray:
    return np.arange(to_us(end) - int(days * 86400e6), to_us(end), step_s * 1_000_000)


def live(point: str, name: Signal, *seconds: float) -> list[float]:
    at_us = np.array([to_us(START) + int(s * 1e6) for s in seconds])
    manhole = RUN[point]
    return signal(name, manhole.profile, events=manhole.events, at_us=at_us).tolist()


@pytest.mark.parametrize("point", RUN)
def test_an_ordinary_year_keeps_every_limit(point):
    profile, at_us = RUN[point].profile, ticks(365)
    ph = signal(Signal.PH, profile, events=(), at_us=at_us)
    heat = signal(Signal.TEMPERATURE, profile, events=(), at_us=at_us)
    assert ph.min() > 6.3 and ph.max() < 8.6
    assert heat.max() < 120


@pytest.mark.parametrize("point", RUN)
def test_no_ordinary_day_looks_like_a_slug(point):
    flow = signal(Signal.FLOW, RUN[point].profile, events=(), at_us=ticks(60))
    passed = np.concatenate([[0], np.cumsum(flow)])
    baseline = (passed[288:-1] - passed[:-289]) / 288
    assert (flow[288:] < 5 * baseline).all()


@pytest.mark.parametrize("point", RUN)
def test_the_total_is_the_integral_of_the_flow_slugs_included(point):
    manhole = RUN[point]
    at_us = ticks(3, 60, end=datetime(2026, 4, 15, 16, 30, tzinfo=UTC))
    flow = signal(Signal.FLOW, manhole.profile, events=manhole.events, at_us=at_us)
    total = signal(Signal.TOTAL, manhole.profile, events=manhole.events, at_us=at_us)
    assert np.diff(total).min() > 0
    assert total[-1] - total[0] == pytest.approx(flow[:-1].sum(), rel=0.003)


def test_a_signal_asked_once_is_the_signal_asked_in_bulk():
    at_us = ticks(40, 977)
    manhole = RUN["MH-2"]
    for name in Signal:
        bulk = signal(name, manhole.profile, events=manhole.events, at_us=at_us)
        for index in (0, 1711, len(at_us) - 1):
            one = signal(
                name, manhole.profile, events=manhole.events, at_us=at_us[index : index + 1]
            )
            assert one[0] == bulk[index]


def test_days_of_23_and_25_hours_have_their_volume_too():
    for day in (date(2026, 3, 8), date(2025, 11, 2)):
        gallons = daily_gallons(
            RUN["MH-2"], Period(start=day, end=date.fromordinal(day.toordinal() + 1))
        )
        assert gallons[day] == pytest.approx(71000, rel=0.07)


def test_the_dairy_reaches_a_tenth_of_prescott_s_design_flow_and_nobody_else_does():
    year = Period(start=date(2025, 4, 1), end=date(2026, 4, 1))
    means = {point: sum(daily_gallons(m, year).values()) / 365 for point, m in RUN.items()}
    assert [point for point, mean in means.items() if mean >= 70_000] == ["MH-2"]
    assert all(5_000 < mean < 31_000 for point, mean in means.items() if point != "MH-2")


def test_ten_seconds_after_the_start_the_ph_falls_for_forty_seconds():
    before, first, low, after = live("MH-1", Signal.PH, 9, 13, 30, 51)
    assert before > 6.3
    assert (first, low) == (5.2, 5.2)
    assert after > 6.3


def test_the_hot_discharge_the_slug_and_the_silence_come_on_cue():
    assert live("MH-3", Signal.TEMPERATURE, 44, 60, 76)[1] == 155
    flow = live("MH-3", Signal.FLOW, 74, 80, 1274, 1276)
    assert flow[1] == flow[2] == pytest.approx(7 * 30_000 / 1440)
    assert max(flow[0], flow[3]) < 2.5 * 30_000 / 1440
    at_us = np.array([to_us(START) + s * 1_000_000 for s in (59, 60, 119, 120)])
    assert answers(RUN["MH-13"].events, unit=2, at_us=at_us).tolist() == [True, False, False, True]
    assert answers(RUN["MH-13"].events, unit=1, at_us=at_us).all()


def test_the_total_rolls_over_at_its_cue():
    manhole = RUN["MH-11"]
    channel = manhole.units[0].channels[1]
    at_us = np.array([to_us(START) + s * 1_000_000 for s in (89, 90, 91)])
    before, turned, after = channel_values(manhole, channel, at_us)
    assert before > 4999 and turned == 0 and 0 < after < 1


def test_history_marks_silence_and_status_and_invents_nothing():
    manhole = RUN["MH-11"]
    unit = manhole.units[1]
    values, quality = history(manhole, unit, unit.channels[0], at_us=ticks(5))
    assert (np.isnan(values) == (quality == int(Quality.NO_ANSWER))).all()
    assert np.isnan(values).sum() == 9000 // 300
    dairy = RUN["MH-2"]
    _, quality = history(dairy, dairy.units[1], dairy.units[1].channels[0], at_us=ticks(5))
    assert (quality == int(Quality.STATUS_UNCERTAIN)).sum() == 3600 // 300


def test_events_of_the_quarter_lie_in_the_last_complete_one():
    starts = [e.starts_us for m in RUN.values() for e in m.events]
    quarter = (datetime(2026, 1, 1, 6, tzinfo=UTC), datetime(2026, 4, 1, 5, tzinfo=UTC))
    inside = [s for s in starts if to_us(quarter[0]) <= s < to_us(quarter[1])]
    assert len(inside) == 6


def test_a_scenario_that_cannot_be_meant_is_refused(tmp_path):
    text = scenario.find("demo").read_text()
    for old, new, says in [
        ("kind: slug, after", "kind: plug, after", "kind is 'plug'"),
        ("point: MH-13, kind", "point: MH-99, kind", "a manhole of this scenario"),
        ("entry: volume_flow", "entry: flow", "no entry 'flow'"),
        ("zone: America/Chicago", "zone: Prescott", "a time zone"),
        ("after: 10,", "", "seconds, or one of"),
        ("map: hach-sc4500", "map: hach", "there is no register map 'hach'"),
    ]:
        file = tmp_path / "s.yaml"
        file.write_text(text.replace(old, new, 1))
        with pytest.raises(Exception, match=says) as refusal:
            scenario.load(file)
        assert isinstance(refusal.value, RuleError) or "map" in says


def test_a_jammed_sampler_pulls_nothing_and_goes_on_from_where_it_was() -> None:
    profile = RUN["MH-2"].profile
    start = to_us(local_day(date(2026, 3, 4), profile.zone).start)
    at_us = start + np.arange(0, 36 * 60) * 60_000_000
    jam = Event(kind=EventKind.JAM, starts_us=int(at_us[600]), ends_us=int(at_us[900]))
    usual = signal(Signal.SAMPLE_COUNT, profile, events=[], at_us=at_us)
    jammed = signal(Signal.SAMPLE_COUNT, profile, events=[jam], at_us=at_us)
    assert np.array_equal(jammed[:600], usual[:600])
    assert set(jammed[600:901]) == {usual[600]}
    assert abs((usual[1439] - jammed[1439]) - (usual[900] - usual[600])) <= 1
    assert np.array_equal(jammed[1440:], usual[1440:])
