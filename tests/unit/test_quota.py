"""How full a spool is, and which readings are left out then."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from compliance.model.gaps import SPARED, THINNED, Gap
from compliance.model.periods import to_us
from compliance.model.readings import Reading
from compliance.model.units import Unit
from compliance.records.batch import ReadingBatch, from_readings
from ingest.quota import Disk, Level, Quota, Thinner

AT = datetime(2026, 7, 1, tzinfo=UTC)
MIB = 1024**2
GIB = 1024**3


@pytest.mark.parametrize(
    ("used", "level"),
    [(0, 0), (69, 0), (70, 70), (84, 70), (85, 85), (95, 95), (99, 95), (100, 100), (150, 100)],
)
def test_the_level_is_the_share_of_the_room(used: int, level: int) -> None:
    quota = Quota(most=100 * MIB, disk=lambda: Disk(free=50 * GIB, total=90 * GIB))
    assert quota.level(used * MIB) == level


@pytest.mark.parametrize(
    ("free", "total", "room"),
    [
        (50 * GIB, 90 * GIB, 8 * GIB),  # as configured
        (3 * GIB, 90 * GIB, 3 * GIB),  # one used, three free, one of them stays free
        (GIB, 90 * GIB, GIB),  # no more than what is used
        (0, 90 * GIB, 0),
        (400 * MIB, 1000 * MIB, GIB + 300 * MIB),  # of a small disk a tenth stays free
    ],
)
def test_the_last_of_a_disk_is_never_taken(free: int, total: int, room: int) -> None:
    quota = Quota(most=8 * GIB, disk=lambda: Disk(free=free, total=total))
    assert quota.room(GIB) == room


def test_without_any_room_it_is_full_from_the_start() -> None:
    assert Quota(most=GIB, disk=lambda: Disk(free=0, total=GIB)).level(0) is Level.FULL


def reading(channel: int, second: float) -> Reading:
    at = AT + timedelta(seconds=second)
    return Reading(channel_id=channel, read_at=at, value=1.0, unit=Unit.SU)


def sift(thinner: Thinner, many: list[Reading], level: Level) -> tuple[ReadingBatch, Gap | None]:
    return thinner.sift(from_readings(many), level)


def sifted(thinner: Thinner, seconds: range, level: Level) -> list[tuple[int, int]]:
    """Channel and second of what is kept of channels 1 (pH) and 2 (conductivity)."""
    kept, _ = sift(thinner, [reading(c, s) for s in seconds for c in (1, 2)], level)
    after = (kept.at_us - to_us(AT)) // 1_000_000
    return list(zip(kept.channel_id.tolist(), after.tolist(), strict=True))


@pytest.fixture
def thinner() -> Thinner:
    made = Thinner()
    made.diagnostic = frozenset({2})
    return made


def test_with_room_everything_is_kept(thinner: Thinner) -> None:
    assert len(sifted(thinner, range(5), Level.WARN)) == 10


def test_from_85_percent_a_diagnostic_channel_keeps_one_reading_a_minute(thinner: Thinner) -> None:
    kept = [
        one
        for start in range(0, 180, 5)
        for one in sifted(thinner, range(start, start + 5), Level.THIN)
    ]
    assert [s for c, s in kept if c == 1] == list(range(180))
    assert [s for c, s in kept if c == 2] == [0, 60, 120]


def test_from_95_percent_only_what_rules_rest_on_is_kept(thinner: Thinner) -> None:
    assert sifted(thinner, range(70), Level.SPARE) == [(1, s) for s in range(70)]


def test_what_is_left_out_is_told_as_one_gap_that_goes_on(thinner: Thinner) -> None:
    _, first = sift(thinner, [reading(2, s) for s in range(3)], Level.THIN)
    _, second = sift(thinner, [reading(2, 9)], Level.SPARE)
    assert first is not None and second is not None
    assert (first.channels, first.cause) == ((2,), THINNED)
    assert (first.since_us, first.until_us) == (to_us(AT) + 1_000_000, to_us(AT) + 2_000_001)
    assert (second.since_us, second.cause) == (first.until_us, SPARED)
    sift(thinner, [], Level.ROOMY)
    _, anew = sift(thinner, [reading(2, 300)], Level.SPARE)
    assert anew is not None and anew.since_us == to_us(AT) + 300_000_000
