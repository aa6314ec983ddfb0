"""The link to one gateway: pymodbus behind our own words, checks and errors. It only reads.

pymodbus hands on answers with another function code or too few registers, and tells nobody when the
peer closes under a request. Every answer is therefore checked here, byte for byte, before pymodbus
decodes it. There is no automatic reconnect and no retry: whoever owns the link decides.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

from pymodbus import ModbusException
from pymodbus.client import AsyncModbusTcpClient
from pymodbus.exceptions import ConnectionException
from pymodbus.framer import FramerSocket
from pymodbus.pdu import DecodePDU, ExceptionResponse, ModbusPDU

from compliance.model.register_map import Table
from ingest.errors import BadReply, NoAnswer, NotConnected, Refused
from ingest.plan import Block

TIMEOUTS_BEFORE_CLOSE = 2
"""A peer that stays silent this often in a row may be half-open: the socket is dropped."""

_BITS = (1, 2)


class Link:
    """One connection to a gateway; requests go one at a time.

    timeout: seconds, for connecting and for each answer. accept_unit_mismatch: for a directly
    connected instrument that answers under another unit id. late, foreign: answers thrown away.
    """

    def __init__(
        self,
        host: str,
        port: int = 502,
        timeout: float = 1.0,
        *,
        accept_unit_mismatch: bool = False,
    ) -> None:
        self.where = f"{host}:{port}"
        self._host, self._port, self._timeout = host, port, timeout
        self._framer = _Checked(accept_unit_mismatch=accept_unit_mismatch)
        self._client: AsyncModbusTcpClient | None = None
        self._timeouts = 0
        self._asking = False

    @property
    def connected(self) -> bool:
        """Whether the socket is open, as far as this end knows."""
        return self._client is not None and self._client.connected

    @property
    def late(self) -> int:
        """Answers to an earlier question, thrown away."""
        return self._framer.late

    @property
    def foreign(self) -> int:
        """Answers under another unit id, thrown away."""
        return self._framer.foreign

    async def __aenter__(self) -> Link:
        await self.connect()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def connect(self) -> None:
        """Open the socket anew.

        Raises: NotConnected.
        """
        self.close()
        client = AsyncModbusTcpClient(
            self._host,
            port=self._port,
            timeout=self._timeout + 1,  # ours comes first
            retries=0,
            reconnect_delay=0,
            trace_connect=self._lost,
        )
        client.ctx.framer = self._framer
        self._client = client
        try:
            async with asyncio.timeout(self._timeout):
                opened = await client.connect()
        except TimeoutError:
            opened = False
        if not opened:
            self.close()
            raise NotConnected(f"no gateway answers at {self.where}")
        self._timeouts = 0

    def close(self) -> None:
        """Drop the socket; without one it does nothing."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    async def read(self, unit: int, block: Block) -> tuple[int, ...]:
        """The registers of a block, or its bits as 0 and 1.

        Raises: NoAnswer, NotConnected, BadReply, Refused.
        """
        if self._client is None or not self._client.connected:
            self.close()
            raise NotConnected(f"the gateway at {self.where} is not connected")
        self._framer.expect(unit, block.table.function, block.count, block.answer_words)
        client, self._asking = self._client, True
        try:
            async with asyncio.timeout(self._timeout):
                answer = await _ask(client, unit, block)
        except TimeoutError:
            self._count_timeout(client)
            raise NoAnswer(f"unit {unit} at {self.where} did not answer in time") from None
        except ConnectionException:
            self.close()
            raise NotConnected(f"the gateway at {self.where} closed the connection") from None
        except ModbusException as error:
            raise BadReply(f"unit {unit} at {self.where}: {error}") from None
        finally:
            self._asking = False
        self._timeouts = 0
        return self._checked(unit, block, answer)

    def _checked(self, unit: int, block: Block, answer: ModbusPDU) -> tuple[int, ...]:
        where = f"unit {unit} at {self.where}"
        if self._framer.fault:
            raise BadReply(f"{where}: {self._framer.fault}")
        if answer.isError():
            raise Refused(where, answer.exception_code)
        if block.table.function in _BITS:
            return tuple(int(bit) for bit in answer.bits[: block.count])
        return tuple(answer.registers)

    def _count_timeout(self, client: AsyncModbusTcpClient) -> None:
        """After silences in a row, or half an answer, the socket cannot be trusted any more."""
        self._timeouts += 1
        if self._timeouts >= TIMEOUTS_BEFORE_CLOSE or client.ctx.recv_buffer:
            self.close()

    def _lost(self, connected: bool) -> None:
        """Tell the waiter at once that the peer closed; pymodbus would let it time out."""
        client = self._client
        if connected or client is None or not self._asking:
            return
        waiting = client.ctx.response_future
        if not waiting.done():
            waiting.set_exception(ConnectionException("the peer closed the connection"))


async def _ask(client: AsyncModbusTcpClient, unit: int, block: Block) -> ModbusPDU:
    functions = {
        Table.COIL: client.read_coils,
        Table.DISCRETE: client.read_discrete_inputs,
        Table.HOLDING: client.read_holding_registers,
        Table.INPUT: client.read_input_registers,
    }
    return await functions[block.table](block.address, count=block.count, device_id=unit)


class _Checked(FramerSocket):
    """Modbus TCP frames, checked against the question before anything is decoded.

    A wrong answer to our question becomes an exception answer, so that the waiter learns of it at
    once, with the reason in ``fault``; an answer to another question is skipped and counted.
    """

    def __init__(self, *, accept_unit_mismatch: bool) -> None:
        super().__init__(DecodePDU(False))
        self.fault = ""
        self.late = self.foreign = 0
        self._any_unit = accept_unit_mismatch
        self._unit = self._function = self._count = self._words = 0

    def expect(self, unit: int, function: int, count: int, words: int) -> None:
        """Say what is asked next, and how many words the answer must carry."""
        self.fault = ""
        self._unit, self._function, self._count, self._words = unit, function, count, words

    def handleFrame(  # noqa: N802 - pymodbus's name
        self, data: bytes, exp_devid: int, exp_tid: int
    ) -> tuple[int, ModbusPDU | None]:
        used = 0
        while used < len(data):
            length, unit, transaction, pdu = self.decode(data[used:])
            used += length
            if not length or not pdu:
                break
            if transaction and transaction != exp_tid:
                self.late += 1
                continue
            return used, self._answer(unit, pdu, transaction)
        return used, None

    def _answer(self, unit: int, pdu: bytes, transaction: int) -> ModbusPDU:
        self.fault = self._misfit(unit, pdu)
        answer = None if self.fault else self.decoder.decode(pdu)
        if answer is None:
            self.fault = self.fault or "an answer that cannot be read"
            answer = ExceptionResponse(self._function, 0)
        answer.dev_id, answer.transaction_id = self._unit, transaction
        return answer

    def _misfit(self, unit: int, pdu: bytes) -> str:
        """How an answer does not fit the question; empty when it does."""
        if unit != self._unit and not self._any_unit:
            self.foreign += 1
            return f"the answer comes from unit {unit}"
        function = pdu[0]
        if function == self._function | 0x80:
            return "" if len(pdu) == 2 else f"an exception of {len(pdu)} bytes"
        if function != self._function:
            return f"the answer has function {function}, not {self._function}"
        bits = self._function in _BITS
        expected = (self._count + 7) // 8 if bits else 2 * self._words
        found = pdu[1] if len(pdu) > 1 else 0
        if found != expected:
            what = "bit(s)" if bits else "register(s)"
            return f"byte count {found} does not fit {self._count} {what}"
        if len(pdu) != 2 + expected:
            return f"{len(pdu) - 2} bytes follow a byte count of {found}"
        return ""
