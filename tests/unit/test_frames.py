"""Frames out of bytes: whole, with their checksum, or not at all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compliance.model.wire import Protocol
from ingest.frames import MORE, Frame, ascii_frame, crc, rtu_frame, tcp_frame
from tests.support.faulty import ASCII, RTU, TCP, Asked, answer, crc16


@given(st.binary(max_size=300))
def test_the_checksum_is_that_of_the_specification(data: bytes) -> None:
    assert crc(data) == crc16(data).to_bytes(2, "little")


FRAMERS = {
    TCP: tcp_frame,
    RTU: lambda data: rtu_frame(data, units=(2,), function=3),
    ASCII: ascii_frame,
}


@given(
    st.sampled_from([TCP, RTU, ASCII]), st.lists(st.integers(0, 65535), min_size=1, max_size=125)
)
def test_a_frame_is_found_whole_and_never_before_its_end(
    protocol: Protocol, words: list[int]
) -> None:
    asked = Asked(transaction=7, unit=2, function=3, address=0, count=len(words), protocol=protocol)
    frame, take = answer(asked, words), FRAMERS[protocol]
    for end in range(len(frame)):
        taken = take(frame[:end])
        assert taken.frame is None
        assert not taken.fault
    found = take(frame)
    pdu = bytes([3, 2 * len(words)]) + b"".join(word.to_bytes(2) for word in words)
    assert found.frame == Frame(2, pdu, 7 if protocol is TCP else None)
    assert found.used == len(frame)


@given(st.sampled_from([TCP, RTU, ASCII]), st.binary(max_size=300))
def test_no_bytes_can_break_a_framer(protocol: Protocol, data: bytes) -> None:
    taken = FRAMERS[protocol](data)
    assert 0 <= taken.used <= len(data)
    assert taken.frame is None or not taken.fault
    assert taken.used > 0 or taken == MORE or taken.frame is None


@given(st.binary(min_size=1, max_size=40), st.integers(0, 7))
def test_a_flipped_bit_is_no_answer_over_rtu(words: bytes, bit: int) -> None:
    asked = Asked(transaction=0, unit=2, function=3, address=0, count=1, protocol=RTU)
    frame = bytearray(answer(asked, list(words)))
    frame[len(frame) // 2] ^= 1 << bit
    assert FRAMERS[RTU](bytes(frame)).frame is None


def test_a_wrong_checksum_is_said_at_once_over_rtu() -> None:
    asked = Asked(transaction=0, unit=2, function=3, address=0, count=1, protocol=RTU)
    taken = FRAMERS[RTU](answer(asked, [7])[:-1] + b"\x00")
    assert taken.fault == "an answer whose checksum is wrong"
