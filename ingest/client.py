"""The link to one gateway: pymodbus behind our own words, checks and errors. It only reads.

pymodbus hands on answers with another function code or too few registers, throws a long answer away
together with a late one, and tells nobody when the peer closes under a request. Every answer is
therefore cut and checked here, byte for byte; pymodbus opens, builds the request and sends it, and
the wait is ours. There is no automatic reconnect and no retry: whoever owns the link decides.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import time
from functools import partial
from types import TracebackType
from typing import cast

from pymodbus.client import AsyncModbusTcpClient
from pymodbus.exceptions import ConnectionException
from pymodbus.pdu import ModbusPDU
from pymodbus.pdu.bit_message import ReadCoilsRequest, ReadDiscreteInputsRequest
from pymodbus.pdu.register_message import ReadHoldingRegistersRequest, ReadInputRegistersRequest

from compliance.model.endpoints import Endpoint, Transport
from compliance.model.register_map import Table
from compliance.model.wire import Wire
from ingest import serial_line
from ingest.errors import BadReply, NoAnswer, NotConnected, Refused
from ingest.framers import Question, framer_for
from ingest.plan import Block

TIMEOUTS_BEFORE_CLOSE = 2
"""A peer that stays silent this often in a row may be half-open: the socket is dropped."""

_LONGEST_BUFFER = 65536  # pymodbus throws away what is longer; 264 lose two answers in one segment
_FOR_EVER = 3600.0  # pymodbus's own timeout: ours comes first
_QUIET_CHARACTERS = 4  # between the frames of a serial line; the specification says 3.5
_QUIET_SECONDS = 0.005  # at least, where answers do not say what they answer: a second copy shows
_FRAME_CHARACTERS = 16  # of a request with the head of its answer
_REQUEST: dict[Table, type[ModbusPDU]] = {
    Table.COIL: ReadCoilsRequest,
    Table.DISCRETE: ReadDiscreteInputsRequest,
    Table.HOLDING: ReadHoldingRegistersRequest,
    Table.INPUT: ReadInputRegistersRequest,
}
_PLAIN = Wire()


class Link:
    """One connection to a gateway; requests go one at a time.

    timeout: seconds, for connecting and for each answer, to which the time on a serial line is
    added. pause: seconds between an answer and the next request, and after connecting.
    late, foreign: answers thrown away.
    """

    def __init__(self, endpoint: Endpoint, timeout: float = 1.0, *, pause: float = 0.0) -> None:
        self.endpoint = endpoint
        self.where = endpoint.where
        self._timeout = timeout
        self._pause = max(pause, endpoint.pause_ms / 1000)
        if not endpoint.tagged:
            quiet = endpoint.seconds_for(_QUIET_CHARACTERS)
            self._pause = max(self._pause, quiet, _QUIET_SECONDS)
        self._framer = framer_for(endpoint)
        self._client: AsyncModbusTcpClient | None = None
        self._turn = asyncio.Lock()
        self._timeouts = 0
        self._free_at = 0.0  # on the monotonic clock

    @property
    def connected(self) -> bool:
        """Whether the line is open, as far as this end knows."""
        return self._client is not None and self._client.connected

    @property
    def late(self) -> int:
        """Answers to no question of ours, or to an earlier one, thrown away."""
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
        """Open the line anew.

        Raises: NotConnected.
        """
        self.close()
        client = self._client = self._made()
        try:
            async with asyncio.timeout(self._timeout):
                opened = await client.connect()
        except TimeoutError:
            opened = False
        if not opened:
            self.close()
            raise NotConnected(f"no gateway answers at {self.where}{self._why()}")
        client.ctx.next_tid = random.randrange(1, 60_000)  # noqa: S311 - not a secret
        self._timeouts = 0
        self._framer.start()
        self._free_at = max(self._free_at, time.monotonic() + self._pause)
        with contextlib.suppress(OSError, RuntimeError):  # a peer that has closed again at once
            _tune(client, 2 * self._timeout)

    def _made(self) -> AsyncModbusTcpClient:
        client = AsyncModbusTcpClient(
            self.endpoint.host,
            port=self.endpoint.port,
            timeout=_FOR_EVER,
            retries=0,
            reconnect_delay=0,
            trace_connect=self._lost,
        )
        client.ctx.framer = self._framer
        client.ctx.max_buffer_size = _LONGEST_BUFFER
        if self.endpoint.transport is Transport.SERIAL:
            client.ctx.call_create = partial(
                serial_line.opened, client.ctx.handle_new_connection, self.endpoint
            )
        return client

    def _why(self) -> str:
        if self.endpoint.transport is not Transport.SERIAL:
            return ""
        return "; the device must exist, be ours to use, free, and run at the rate"

    def close(self) -> None:
        """Drop the line; without one it does nothing."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    async def read(self, unit: int, block: Block, wire: Wire = _PLAIN) -> tuple[int, ...]:
        """The registers of a block, or its bits as 0 and 1.

        wire: what the instrument's map says of its answers.
        Raises: NoAnswer, NotConnected, BadReply, Refused.
        """
        async with self._turn:
            question = Question(
                unit=unit,
                function=block.table.function,
                count=block.count,
                words=block.answer_words,
                any_transaction=wire.ignore_transaction_id or self.endpoint.ignore_transaction_id,
                other_units=(0, 255) if wire.accept_unit_mismatch else (),
            )
            await self._wait_until_free()
            return await self._asked(question, block, self._deadline(block, wire))

    def _deadline(self, block: Block, wire: Wire) -> float:
        """Seconds that an answer may take, with its time on the line."""
        seconds = max(self._timeout, (wire.timeout_ms or 0) / 1000)
        if self.endpoint.timeout_ms is not None:
            seconds = self.endpoint.timeout_ms / 1000
        characters = _FRAME_CHARACTERS + 2 * block.answer_words
        return seconds + self.endpoint.seconds_for(characters)

    async def _wait_until_free(self) -> None:
        """Keep the pause; a line on which an answer came unasked is left alone for a while."""
        for _ in range(2):
            wait = self._free_at - time.monotonic()
            if wait > 0 or not self.endpoint.tagged:  # what came unasked must show
                await asyncio.sleep(max(0.0, wait))
            if self.endpoint.tagged or not self._framer.stray():
                break
            self._give_up(self._timeout)
        if self._client is None or not self._client.connected:
            self.close()
            raise NotConnected(f"the gateway at {self.where} is not connected")

    async def _asked(self, question: Question, block: Block, deadline: float) -> tuple[int, ...]:
        client = self._client
        assert client is not None
        where = f"unit {question.unit} at {self.where}"
        self._framer.ask(question)
        try:
            await _answered(client, question.unit, block, deadline)
        except TimeoutError:
            raise self._silence(where, question, deadline) from None
        except ConnectionException:
            self.close()
            raise NotConnected(f"the gateway at {self.where} closed the connection") from None
        except asyncio.CancelledError:
            self.close()  # its answer may still come
            raise
        finally:
            if self._pause:
                self._free_at = max(self._free_at, time.monotonic() + self._pause)
            self._framer.asking = False
        self._timeouts = 0
        return self._answer(where, question, deadline)

    def _answer(self, where: str, question: Question, deadline: float) -> tuple[int, ...]:
        framer, matches = self._framer, self._matches(question)
        if framer.fault:
            refused = BadReply(f"{where}: {framer.fault}", waited=not matches)
            if framer.broken or not matches:
                self._give_up(0.0 if matches else deadline)
            raise refused
        if framer.refused is not None:
            raise Refused(where, framer.refused)
        return framer.words

    def _matches(self, question: Question) -> bool:
        """Whether a late answer would be told from the one that is waited for."""
        return self.endpoint.tagged and not question.any_transaction

    def _silence(self, where: str, question: Question, deadline: float) -> NoAnswer | BadReply:
        """What an unanswered request is; after it the line may not be trusted any more."""
        self._timeouts += 1
        said = self._framer.half()
        if not self._matches(question):
            self._give_up(deadline)
        elif said or self._timeouts >= TIMEOUTS_BEFORE_CLOSE:
            self.close()
        if said:
            return BadReply(f"{where}: {said}", waited=True)
        return NoAnswer(f"{where} did not answer in time")

    def _give_up(self, quiet: float) -> None:
        """Let go of a line on which an answer may still come that could not be told from the next.

        A socket is dropped. A serial device, and one behind a tunnel, may send it all the same:
        nothing is asked for as long as an answer may take.
        """
        if self.endpoint.transport is not Transport.SERIAL:
            self.close()
        self._free_at = max(self._free_at, time.monotonic() + quiet)
        self._framer.start()

    def _lost(self, connected: bool) -> None:
        """Tell the waiter at once that the peer closed; pymodbus would let it time out."""
        client = self._client
        if connected or client is None or not self._framer.asking:
            return
        waiting = client.ctx.response_future
        if not waiting.done():
            waiting.set_exception(ConnectionException("the peer closed the connection"))


async def _answered(client: AsyncModbusTcpClient, unit: int, block: Block, deadline: float) -> None:
    """Send a request and wait for what the framer takes as its answer.

    Raises: TimeoutError, ConnectionException when the peer closes.
    """
    ctx, loop = client.ctx, asyncio.get_running_loop()
    request = _REQUEST[block.table](address=block.address, count=block.count, dev_id=unit)
    request.transaction_id = ctx.getNextTID()
    ctx.response_future = waiting = loop.create_future()
    timer = loop.call_later(deadline, _end, waiting)
    try:
        _send(client, request)
        await waiting
    finally:
        timer.cancel()


def _send(client: AsyncModbusTcpClient, request: ModbusPDU) -> None:
    """Send. Raises: ConnectionException where the peer closed and nobody was told yet."""
    try:
        client.ctx.pdu_send(request)
    except (RuntimeError, OSError) as error:  # uvloop's word for a transport that is closed
        raise ConnectionException(str(error)) from None


def _end(waiting: asyncio.Future[ModbusPDU]) -> None:
    """Its time is over."""
    if not waiting.done():
        waiting.set_exception(TimeoutError())


def _tune(client: AsyncModbusTcpClient, seconds: float) -> None:
    """Send at once, not when the loop is next idle, and have the kernel drop a socket whose peer is
    gone, also between two requests."""
    opened = client.ctx.transport.get_extra_info("socket")
    if opened is None:
        return
    cast("asyncio.WriteTransport", client.ctx.transport).set_write_buffer_limits(high=0)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
    options["TCP_USER_TIMEOUT"] = max(1000, int(seconds * 1000))
    for name, value in options.items():
        if hasattr(socket, name):
            opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
