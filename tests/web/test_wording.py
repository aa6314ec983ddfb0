"""Findings and channels in words: no contradictions, no two things of one name."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.limits import bounds
from app.templating import dollars, duration, quantity, sentence, within
from app.tiles import ordered, shown
from app.wording import ending, facts, headline, names
from compliance.records.casefile import Screened
from compliance.records.places import Signal

AT = datetime(2026, 7, 1, 12, tzinfo=UTC)
RUNNING = Screened(
    exceedance_id="a", industrial_user="Acme", zone="America/Chicago", point="MH-1",
    channel_id=3, kind="exceedance",
    parameter="ph", unit="s.u.", side="below", starts_at=AT, ends_at=AT + timedelta(seconds=36),
    seconds=36, seconds_beyond=36, runs=1, worst="5.20", limit="6.0", readings=18, open_ended=True,
    review=False, settled=False, citation="c", says="s", authority="ordinance", working=(),
)  # fmt: skip
PH = Signal(
    channel_id=3, parameter="ph", unit="s.u.", resolution="0.01", interval_ms=2000,
    entry="ai1_value", map_name="m", point_id=1, point="MH-1", place="p", industrial_user_id=1,
    industrial_user="Acme", city_id=1, city="Prescott", zone="America/Chicago",
    rulebooks=("prescott", "federal"),
)  # fmt: skip


def test_what_still_goes_on_has_no_end_and_what_silence_ended_does_not_go_on():
    assert ending(RUNNING) == "still going on"
    assert "silence" not in facts(RUNNING)
    assert headline(RUNNING) == "pH below 6.0 for 36 s so far"
    back = replace(RUNNING, open_ended=False)
    assert ending(back) == (
        "ended 07:00:36; within the limit since, may still join a new one until 07:05:36"
    )
    assert headline(back) == "pH below 6.0 for 36 s"
    assert "still going on" not in facts(back)
    silent = replace(RUNNING, settled=True)
    assert ending(silent) == "record ends (silence)"
    assert "still going on" not in facts(silent)
    assert ending(replace(silent, open_ended=False)) == ""


def test_a_possible_slug_is_called_one():
    slug = replace(RUNNING, kind="possible_slug", parameter="flow", unit="gpm", limit="232.19",
                   seconds=2700, settled=True)  # fmt: skip
    assert headline(slug) == "Possible slug: flow above 232.19 gpm for 45 min"


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("flow", "flow"),
        ("ph", "pH"),
        ("bod5", "BOD₅"),
        ("tss", "suspended solids (TSS)"),
        ("tp", "phosphorus (TP)"),
        ("tkn", "Kjeldahl nitrogen (TKN)"),
        ("oil_and_grease", "oil and grease (HEM)"),
    ],
)
def test_a_parameter_inside_a_sentence_keeps_its_capitals(name, inside):
    assert within(name) == inside


def test_two_channels_of_one_parameter_are_told_apart_and_each_has_its_own_chart():
    bottle = replace(PH, channel_id=9, parameter="count", entry="bottle")
    samples = replace(bottle, channel_id=10, entry="sample_count")
    found = names([PH, bottle, samples])
    assert [one.text for one in found.values()] == ["pH", "Count · bottle", "Count · sample count"]
    assert found[3].address == "/points/MH-1?parameter=ph"
    assert found[10].address == "/points/MH-1?parameter=count&entry=sample_count"


def test_flow_ph_and_temperature_are_read_first():
    of = [
        replace(PH, channel_id=n, parameter=name)
        for n, name in enumerate(("volume", "temperature", "count", "ph", "flow"))
    ]
    assert [one.parameter for one in ordered(of)] == [
        "flow", "ph", "temperature", "volume", "count",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "resolution", "said"),
    [
        (79_036.605, "0.001", "79,037"),
        (282.26, "0.001", "282.26"),
        (75_720_262.0, "1", "75,720,262"),
        (5.1, "0.1", "5.1"),
        (None, "0.001", "–"),
    ],
)
def test_a_total_shows_no_decimals_that_nobody_reads(value, resolution, said):
    assert shown(value, replace(PH, parameter="volume", resolution=resolution)) == said


def test_only_a_total_is_shortened():
    assert shown(7.05, PH) == "7.05"
    assert shown(12_345.6, replace(PH, parameter="flow", resolution="0.1")) == "12,345.6"


def test_bounds_come_lower_ones_first_and_the_strictest_of_a_side_before_the_others():
    assert [one.label for one in bounds(PH, AT)] == ["min 6.0", "min 5.0", "max 9.0"]


def test_lengths_leave_out_what_is_zero():
    assert [duration(s) for s in (3600, 5400, 172_800, 270_000)] == [
        "1 h", "1 h 30 min", "2 d", "3 d 3 h",
    ]  # fmt: skip


def test_exact_numbers_are_printed_short_and_what_is_cut_is_marked():
    assert quantity("8488.927580160000000000000000") == "8,488.92758…"
    assert quantity("0.00000000") == "0"
    assert quantity("3726.464") == "3,726.464"
    assert dollars("10.0") == "$10.00"
    assert sentence("its rate stands in for nitrogen.") == "its rate stands in for nitrogen."
    assert sentence("sample A, 2026-07-01") == "sample A, 2026-07-01."
