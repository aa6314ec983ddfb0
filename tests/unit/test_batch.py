"""Frames and COPY tuples: there and back, and refusing what is not sound."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.errors import InputError
from compliance.model.periods import from_us, to_us
from compliance.model.readings import Quality, Reading
from compliance.model.units import Unit
from compliance.records import batch, tuples

words = st.lists(st.integers(0, 0xFFFF), max_size=4).map(tuple)


@st.composite
def reading(draw: st.DrawFn) -> Reading:
    value = draw(st.none() | st.floats(allow_nan=False, allow_infinity=False))
    flags = [Quality.NO_ANSWER, Quality.NOT_READ]
    return Reading(
        channel_id=draw(st.integers(1, 2**31 - 1)),
        read_at=draw(st.integers(0, 4_000_000_000_000_000).map(from_us)),
        value=value,
        unit=Unit.GPM,
        quality=draw(st.sampled_from(flags)) if value is None else Quality.GOOD,
        words=draw(words),
        offset_ms=draw(st.integers(0, 5000)),
        device_offset_ms=draw(st.none() | st.integers(-5000, 5000)),
    )


@given(st.lists(reading(), min_size=1, max_size=20))
def test_readings_survive_the_way_through_a_frame(many: list[Reading]) -> None:
    made = batch.frame(batch.from_readings(many), worker="w", sequence=41)
    data = batch.encode(made)
    found, end = batch.decode(b"xx" + data, 2)
    assert found == made
    assert end == len(data) + 2
    assert tuples.rows(found.content) == [
        (
            r.channel_id,
            to_us(r.read_at),
            r.value,
            int(r.quality),
            batch.pack_words(r.words) if r.words else None,
            r.offset_ms,
            r.device_offset_ms,
            made.batch_id,
        )
        for r in many
    ]


@given(words.filter(bool))
def test_words_are_packed_and_unpacked(many: tuple[int, ...]) -> None:
    assert batch.unpack_words(batch.pack_words(many), len(many)) == many


def one(value: float | None, quality: Quality = Quality.GOOD) -> Reading:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Reading(channel_id=3, read_at=at, value=value, unit=Unit.SU, quality=quality)


@pytest.mark.parametrize(
    "bad",
    [one(float("nan"), Quality.NOT_FINITE), one(float("inf"), Quality.NOT_FINITE), one(None)],
    ids=["NaN", "infinity", "missing without a reason"],
)
def test_a_number_that_is_none_never_enters_a_batch(bad: Reading) -> None:
    with pytest.raises(InputError, match="channel 3 at 2026-01-01T00:00:00"):
        batch.from_readings([bad])


def test_columns_of_unequal_length_are_refused() -> None:
    two, three = np.zeros(2, np.int64), np.zeros(3)
    with pytest.raises(InputError, match="unequal length"):
        batch.batch(two, two, three, quality=two)


@given(st.data())
def test_any_flipped_bit_is_noticed(data: st.DataObject) -> None:
    sound = batch.encode(batch.frame(batch.from_readings([one(7.0)]), worker="w", sequence=1))
    at = data.draw(st.integers(0, len(sound) - 1))
    broken = bytearray(sound)
    broken[at] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises((batch.BadFrame, batch.TornFrame)):
        batch.decode(bytes(broken))


def test_a_new_spool_counts_on_from_above_every_earlier_one() -> None:
    early, late = (datetime(2026, 1, 1, 0, 0, s, tzinfo=UTC) for s in (0, 1))
    assert batch.first_sequence(late) > batch.first_sequence(early) + 900
    ids = {batch.batch_id(w, batch.first_sequence(late)) for w in ("a", "b")}
    assert len(ids) == 2
    assert all(0 < i < 2**63 for i in ids)
