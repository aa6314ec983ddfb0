"""Frames of the three dialects of Modbus out of bytes as they arrive, pure.

An answer is trusted only when it is whole and its checksum fits; bytes that can never become one
are said at once, so that nobody waits for them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

_HEADER = 7  # transaction, protocol, length, unit
_LONGEST_PDU = 253
_LONGEST_RTU = 256
_LONGEST_ASCII = 513
_READS = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Frame:
    """One whole answer. transaction: None where the dialect has none."""

    unit: int
    pdu: bytes
    transaction: int | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """What stands at the front of some bytes.

    used: the bytes that are done with; frame: a whole one; fault: why these bytes are none.
    Neither of them: more bytes are needed.
    """

    used: int
    frame: Frame | None = None
    fault: str = ""


MORE = Taken(0)


def tcp_frame(data: bytes) -> Taken:
    """A frame with a Modbus TCP header."""
    if data[2:4].strip(b"\0"):
        return Taken(len(data), fault="bytes that are no Modbus TCP")
    if len(data) < _HEADER:
        return MORE
    length = int.from_bytes(data[4:6])
    if not 3 <= length <= _LONGEST_PDU + 1:
        return Taken(len(data), fault=f"a Modbus TCP header that promises {length} bytes")
    end = 6 + length
    if len(data) < end:
        return MORE
    return Taken(end, Frame(data[6], data[_HEADER:end], int.from_bytes(data[:2])))


def rtu_frame(data: bytes, *, units: Collection[int], function: int) -> Taken:
    """A frame closed by a CRC. What precedes an answer on the line is skipped.

    units: the unit ids, function: the function code that our answer may carry. A whole frame of
    anybody else is given too, for whoever asked to refuse it.
    """
    broken = False
    for start in range(max(0, len(data) - 1)):
        if data[start] not in units or data[start + 1] & 0x7F != function:
            continue
        size = _rtu_size(data[start:])
        if size is None or start + size > len(data):
            return MORE
        if _crc_fits(data[start : start + size]):
            whole = data[start : start + size]
            return Taken(start + size, Frame(whole[0], whole[1:-2]))
        broken = True
    foreign = _foreign_rtu(data)
    if foreign is not None:
        return foreign
    if broken or len(data) > _LONGEST_RTU:
        return Taken(len(data), fault="an answer whose checksum is wrong")
    return MORE


def _rtu_size(data: bytes) -> int | None:
    """How long the answer is that begins here; None while that cannot be said."""
    if data[1] & 0x80:
        return 5
    if len(data) < 3:
        return None
    return 5 + data[2]


def _foreign_rtu(data: bytes) -> Taken | None:
    """A whole frame that is not ours: of the length it says, or all that came."""
    if len(data) < 4:
        return None
    sizes = [len(data)]
    size = _rtu_size(data) if data[1] & 0x7F in _READS else None
    if size is not None and size <= len(data):
        sizes.insert(0, size)
    for each in sizes:
        if _crc_fits(data[:each]):
            return Taken(each, Frame(data[0], data[1 : each - 2]))
    return None


def ascii_frame(data: bytes) -> Taken:
    """A frame between a colon and a line end, closed by an LRC. What precedes it is skipped."""
    start = data.find(b":")
    if start < 0:
        return Taken(len(data))
    end = data.find(b"\n", start)
    if end < 0:
        if len(data) - start > _LONGEST_ASCII:
            return Taken(len(data), fault="an answer without an end")
        return Taken(start)
    used = end + 1
    try:
        whole = bytes.fromhex(data[start + 1 : end].rstrip(b"\r").decode("ascii"))
    except ValueError:
        return Taken(used, fault="an answer that is no hexadecimal text")
    if len(whole) < 3 or sum(whole) & 0xFF:
        return Taken(used, fault="an answer whose checksum is wrong")
    return Taken(used, Frame(whole[0], whole[1:-1]))


def crc(data: bytes) -> bytes:
    """The checksum that closes an RTU frame."""
    value = 0xFFFF
    table = _crc_table()
    for byte in data:
        value = value >> 8 ^ table[(value ^ byte) & 0xFF]
    return value.to_bytes(2, "little")


@cache
def _crc_table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0xA001 if value & 1 else 0)
        table.append(value)
    return tuple(table)


def _crc_fits(frame: bytes) -> bool:
    return len(frame) >= 4 and crc(frame[:-2]) == frame[-2:]


def misfit(pdu: bytes, *, function: int, count: int, words: int) -> str:
    """How an answer does not fit its question; empty when it does.

    count: registers or bits asked for; words: how many words must come for them.
    """
    if pdu[0] == function | 0x80:
        return "" if len(pdu) == 2 else f"an exception of {len(pdu)} bytes"
    if pdu[0] != function:
        return f"the answer has function {pdu[0]}, not {function}"
    bits = function in (1, 2)
    expected = (count + 7) // 8 if bits else 2 * words
    found = pdu[1] if len(pdu) > 1 else 0
    if found != expected:
        what = "bit(s)" if bits else "register(s)"
        return f"byte count {found} does not fit {count} {what}"
    if len(pdu) != 2 + expected:
        return f"{len(pdu) - 2} bytes follow a byte count of {found}"
    return ""
