"""pymodbus framers that check each answer against its question before anything is made of it.

A wrong answer to our question is given as an answer at once, so that the waiter learns of it, with
the reason in ``fault``; an answer to another question is skipped and counted.
"""

from __future__ import annotations

import struct
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from pymodbus.framer import FramerAscii, FramerBase, FramerRTU, FramerSocket
from pymodbus.pdu import DecodePDU, ModbusPDU

from compliance.model.endpoints import Endpoint
from compliance.model.wire import Protocol
from ingest.frames import Frame, Taken, ascii_frame, misfit, rtu_frame, tcp_frame

READS = (1, 2, 3, 4)
_BITS = (1, 2)
_SHORTEST = 5  # bytes of an exception; fewer are noise of a line that turns round
_TRANSACTIONS = 65_000  # pymodbus counts to here and begins again


_UNUSED = DecodePDU(False)  # what pymodbus would make of an answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What an answer must fit.

    count: registers or bits; words: how many words must come for them. any_transaction: its
    transaction id says nothing; other_units: unit ids that it may carry besides its own.
    """

    unit: int
    function: int
    count: int
    words: int
    any_transaction: bool = False
    other_units: tuple[int, ...] = ()


class Checked(FramerBase):
    """The part that all dialects share. It keeps what has come, whatever pymodbus forgets.

    After an answer either words, refused (an exception code) or fault is set. broken: where the
    next frame begins is not known. late, foreign: answers thrown away. tagged: whether a frame says
    which request it answers.
    """

    tagged: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__(_UNUSED)
        self.late = self.foreign = 0
        self.asking = False
        self.start()

    def start(self) -> None:
        """Forget what has come: the line is new, or not to be trusted."""
        self._buffer = b""
        self._stray = self._asked = 0
        self._question = Question(unit=0, function=0, count=0, words=0)
        self._elsewhere = ""
        self._clear()

    def ask(self, question: Question) -> None:
        """Say what is asked next."""
        self._question = question
        self._elsewhere = ""
        self._asked += 1
        self.asking = True
        if not self.tagged:
            self._buffer = b""
        self._clear()

    def _clear(self) -> None:
        self.words: tuple[int, ...] = ()
        self.refused: int | None = None
        self.fault = ""
        self.broken = False

    def stray(self) -> bool:
        """Whether an answer, or part of one, came that nobody waited for, since the last call."""
        came, self._stray = bool(self._stray) or len(self._buffer) >= _SHORTEST, 0
        return came

    def half(self) -> str:
        """Why what came until the deadline is no answer; empty when nothing came."""
        if self._elsewhere:
            return self._elsewhere
        return f"an answer that broke off after {len(self._buffer)} bytes" if self._buffer else ""

    def encode(self, payload: bytes, _dev_id: int, _tid: int) -> bytes:
        """The frame of a request; this program only reads, so nothing else leaves it."""
        if payload[0] not in READS:
            raise ValueError(f"function {payload[0]} may not leave this program; expected 1 to 4")
        return super().encode(payload, _dev_id, _tid)

    def handleFrame(  # noqa: N802 - pymodbus's name
        self, data: bytes, exp_devid: int, exp_tid: int
    ) -> tuple[int, ModbusPDU | None]:
        """Take what came; an answer when it is there."""
        self._buffer += data
        answer = None
        while self._buffer and answer is None:
            taken = self._take(self._buffer)
            self._buffer = self._buffer[taken.used :]
            if taken.frame is None and not taken.fault:
                break
            answer = self._told(taken, exp_tid)
        return len(data), answer

    @abstractmethod
    def _take(self, data: bytes) -> Taken:
        """Cut the first frame, or bytes that can be none, off what has come."""

    def _told(self, taken: Taken, transaction: int) -> ModbusPDU | None:
        """What a frame, or bytes that are none, mean for who asked; None: nothing."""
        frame = taken.frame
        if not self.asking:
            self._stray += 1
            self.late += 1
            return None
        if frame is None:
            self.fault, self.broken = taken.fault, True
        elif self._is_elsewhere(frame, transaction):
            return None
        else:
            self.fault = self._misfit(frame)
        if frame is not None and not self.fault:
            self._keep(frame.pdu)
        self.asking = False
        return ModbusPDU(dev_id=self._question.unit, transaction_id=transaction)

    def _is_elsewhere(self, frame: Frame, transaction: int) -> bool:
        """Whether a frame answers another request; one that was never made is remembered."""
        if frame.transaction is None or self._question.any_transaction:
            return False
        if frame.transaction == transaction:
            return False
        self.late += 1
        ago = (transaction - frame.transaction) % _TRANSACTIONS
        if not 0 < ago < self._asked:
            self._elsewhere = (
                f"it was asked as transaction {transaction} and answers as {frame.transaction}; "
                "if it always does so, set ignore_transaction_id for the gateway or in the map"
            )
        return True

    def _misfit(self, frame: Frame) -> str:
        asked = self._question
        if frame.unit != asked.unit and frame.unit not in asked.other_units:
            self.foreign += 1
            return f"the answer comes from unit {frame.unit}"
        said = misfit(frame.pdu, function=asked.function, count=asked.count, words=asked.words)
        return said or self._ambiguous(frame)

    def _ambiguous(self, frame: Frame) -> str:
        """Whether more than one answer came where they cannot be told apart."""
        if frame.transaction is not None and not self._question.any_transaction:
            return ""
        after = self._take(self._buffer) if self._buffer else Taken(0)
        if after.frame == frame:  # the same again: nothing is in doubt
            self._buffer = self._buffer[after.used :]
            return ""
        return "two answers came for one request" if after.frame else ""

    def _keep(self, pdu: bytes) -> None:
        if pdu[0] & 0x80:
            self.refused = pdu[1]
        elif pdu[0] in _BITS:
            bits = int.from_bytes(pdu[2:], "little")
            self.words = tuple(bits >> index & 1 for index in range(self._question.count))
        else:
            self.words = struct.unpack(f">{len(pdu) // 2 - 1}H", pdu[2:])


class TcpFramer(Checked, FramerSocket):
    """Frames with a Modbus TCP header."""

    tagged = True

    def _take(self, data: bytes) -> Taken:
        return tcp_frame(data)


class RtuFramer(Checked, FramerRTU):
    """Frames closed by a CRC."""

    def _take(self, data: bytes) -> Taken:
        asked = self._question
        return rtu_frame(data, units=(asked.unit, *asked.other_units), function=asked.function)


class AsciiFramer(Checked, FramerAscii):
    """Frames in hexadecimal text, closed by an LRC."""

    def _take(self, data: bytes) -> Taken:
        return ascii_frame(data)


_FRAMERS: dict[Protocol, type[Checked]] = {
    Protocol.TCP: TcpFramer,
    Protocol.RTU: RtuFramer,
    Protocol.ASCII: AsciiFramer,
}


def framer_for(endpoint: Endpoint) -> Checked:
    """The framer that an endpoint's dialect needs."""
    return _FRAMERS[endpoint.protocol]()
