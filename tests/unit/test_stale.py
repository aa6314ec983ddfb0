"""An instrument that answers but no longer measures: its values are kept and marked stale."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from compliance.model.periods import to_us
from compliance.model.readings import Quality, Reading
from compliance.model.register_map import RegisterMap
from compliance.records.sites import InstrumentPlan
from ingest.errors import NoAnswer
from ingest.tick import readings
from ingest.unit import Unit
from tests.support.polling import (
    PH,
    Registers,
    channel,
    entry,
    instrument,
    mapped,
    one_by_one,
    unit,
)

START = datetime(2026, 4, 1, 12, tzinfo=UTC)
BEATING = mapped(PH, entry("beat", 9, kind="heartbeat", unit=None, modulus=65536))
TIMED = mapped(
    entry("ph", 0, scale="0.01", time_register="ph_time"),
    entry(
        "ph_time",
        1,
        type="bits",
        words=6,
        kind="time",
        clock="second minute hour day month year",
        unit=None,
    ),
)


def polls(one: Unit, links: Sequence[Registers], *, every: float = 1.0) -> list[Reading]:
    """The readings of one channel, polled so many seconds apart."""
    (ask,) = one.asks.values()

    async def poll() -> list[Reading]:
        found = []
        for n, link in enumerate(links):
            slot_us = to_us(START) + round(n * every * 1e6)
            said = await one.round(link, ask, slot_us=slot_us, offset_ms=0, now=n * every)
            found += one_by_one([one], readings(ask.alike, [said.row]))
        return found

    return asyncio.run(poll())


def qualities(found: Sequence[Reading]) -> list[Quality]:
    return [reading.quality for reading in found]


def beats(*counts: int) -> list[Registers]:
    return [Registers({0: 712, 9: count}) for count in counts]


def test_t24_a_heartbeat_that_stands_still_makes_the_values_stale() -> None:
    one = unit(1, BEATING)
    found = polls(one, beats(5, 6, 6, 6, 6, 6))
    assert qualities(found) == [Quality.GOOD] * 4 + [Quality.STALE] * 2
    assert {reading.value for reading in found} == {7.12}
    assert one.stale == "its heartbeat register (beat) stands still"


def test_t24_a_heartbeat_that_moves_again_ends_it() -> None:
    one = unit(1, BEATING)
    found = polls(one, beats(5, 5, 5, 5, 5, 0))
    assert qualities(found)[-2:] == [Quality.STALE, Quality.GOOD]
    assert one.stale == ""


def test_a_heartbeat_may_rest_for_two_intervals_of_a_slow_channel() -> None:
    one = unit(1, BEATING, interval_ms=60_000)
    found = polls(one, beats(5, 5, 5, 6), every=60)
    assert qualities(found) == [Quality.GOOD] * 2 + [Quality.STALE, Quality.GOOD]


def test_a_heartbeat_that_cannot_be_read_says_nothing() -> None:
    links = [Registers({0: 712, 9: 5}), Registers({}, moods=[NoAnswer("silence")])]
    assert qualities(polls(unit(1, BEATING), links)) == [Quality.GOOD, Quality.NO_ANSWER]


def timed(second: int) -> Registers:
    fields = (second, 0, 7, 1, 4, 26)  # 07:00:.. on 2026-04-01, as the instrument has it
    return Registers({0: 712, **{1 + n: word for n, word in enumerate(fields)}})


def test_t24_an_instrument_that_serves_its_last_reading_again_is_stale() -> None:
    one = unit(1, TIMED)
    found = polls(one, [timed(0), timed(15), timed(15), timed(30)], every=15)
    assert qualities(found) == [Quality.GOOD] * 2 + [Quality.STALE, Quality.GOOD]
    hours = -5 * 3_600_000
    assert [r.device_offset_ms for r in found] == [hours, hours, hours - 15_000, hours - 15_000]


def test_two_polls_within_a_second_of_its_clock_are_not_stale() -> None:
    found = polls(unit(1, TIMED), [timed(0), timed(0), timed(1)], every=0.5)
    assert qualities(found) == [Quality.GOOD] * 3


def test_an_instrument_that_must_be_told_to_measure_is_stale_with_its_reason() -> None:
    one = unit(1, mapped(PH, needs_write=True))
    (reading,) = polls(one, [Registers({0: 712})])
    assert (reading.value, reading.quality) == (7.12, Quality.STALE)
    assert one.stale == "it measures only when told to, and this program never writes"


def test_a_time_that_is_no_date_leaves_no_offset() -> None:
    odd = Registers({0: 712, **{1 + n: 99 for n in range(6)}})
    (reading,) = polls(unit(1, TIMED), [odd])
    assert (reading.quality, reading.device_offset_ms) == (Quality.GOOD, None)


@pytest.mark.parametrize("of", [BEATING, TIMED])
def test_a_channel_is_dated_by_what_its_map_links(of: RegisterMap) -> None:
    planned = InstrumentPlan(instrument=instrument(1), channels=(channel(1, "ph"),))
    (ask,) = Unit(planned, of).asks.values()
    linked = "beat" if of is BEATING else "ph_time"
    assert {e.name for e in ask.alike.entries} == {"ph", linked}
    assert [c and c.name for c in ask.alike.clocks] == [None if of is BEATING else "ph_time"]
