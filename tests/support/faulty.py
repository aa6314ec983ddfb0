"""A gateway that answers as a script says: late, wrong, short, doubled, in pieces, or not at all.

It speaks Modbus TCP, and RTU or ASCII over TCP or over a pseudo terminal.
"""

from __future__ import annotations

import asyncio
import os
import pty
import struct
import time
import tty
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from compliance.model.endpoints import Endpoint, Transport
from compliance.model.wire import Protocol

TCP, RTU, ASCII = Protocol.TCP, Protocol.RTU, Protocol.ASCII
CLOSE = "close"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as it came over the wire, and when it did on the monotonic clock."""

    transaction: int
    unit: int
    function: int
    address: int
    count: int
    at: float = 0.0
    protocol: Protocol = TCP


@dataclass(frozen=True, slots=True)
class Late:
    """Something said so many seconds after the request."""

    seconds: float
    said: object


@dataclass(frozen=True, slots=True)
class Pieces:
    """Bytes that arrive one by one."""

    said: object


Script = Callable[[Asked], object]


class Scripted:
    """Serves one port. script: the bytes to send for a request, a number for an exception code, a
    list of words for a sound answer, None for silence, CLOSE, Late or Pieces; a tuple of them in
    turn.
    """

    def __init__(self, script: Script, protocol: Protocol = TCP) -> None:
        self.script, self.protocol = script, protocol
        self.asked: list[Asked] = []
        self.connections = 0
        self.connected_at = 0.0
        self.port = 0
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def endpoint(self) -> Endpoint:
        """How it is reached."""
        kinds = {RTU: Transport.RTU_OVER_TCP, ASCII: Transport.ASCII_OVER_TCP}
        kind = kinds.get(self.protocol, Transport.TCP)
        return Endpoint(
            host="127.0.0.1",
            port=self.port,
            transport=kind,
            protocol=self.protocol,
            baud=115_200,
        )

    async def __aenter__(self) -> Scripted:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        for writer in self._open:
            writer.close()
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.connected_at = time.monotonic()
        self._open.add(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                asked = await _request(reader, self.protocol)
                self.asked.append(asked)
                said = self.script(asked)
                if said == CLOSE:
                    break
                task = asyncio.create_task(_say(asked, said, writer.write))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        self._open.discard(writer)
        writer.close()


class ScriptedLine:
    """Serves one pseudo terminal, as an instrument on a serial line."""

    def __init__(self, script: Script, protocol: Protocol = RTU) -> None:
        self.script, self.protocol = script, protocol
        self.asked: list[Asked] = []
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def endpoint(self) -> Endpoint:
        """How it is reached."""
        return Endpoint(
            host=self.path,
            port=0,
            transport=Transport.SERIAL,
            protocol=self.protocol,
            baud=115_200,
        )

    async def __aenter__(self) -> ScriptedLine:
        self._own, self._other = pty.openpty()
        tty.setraw(self._other)
        self.path = os.ttyname(self._other)
        self._reader = asyncio.StreamReader()
        asyncio.get_running_loop().add_reader(self._own, self._came)
        self._task = asyncio.create_task(self._serve())
        return self

    async def __aexit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._own)
        for task in (self._task, *self._tasks):
            task.cancel()
        os.close(self._own)
        os.close(self._other)
        await asyncio.sleep(0)

    def _came(self) -> None:
        with suppress(OSError):
            self._reader.feed_data(os.read(self._own, 4096))

    def hang_up(self) -> None:
        """Pull the plug."""
        asyncio.get_running_loop().remove_reader(self._own)
        os.close(self._own)
        self._own = os.dup(self._other)

    async def _serve(self) -> None:
        while True:
            asked = await _request(self._reader, self.protocol)
            self.asked.append(asked)
            send = _say(asked, self.script(asked), lambda data: os.write(self._own, data))
            task = asyncio.create_task(send)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


async def _request(reader: asyncio.StreamReader, protocol: Protocol) -> Asked:
    if protocol is TCP:
        transaction, _, _, *rest = struct.unpack(">HHHBBHH", await reader.readexactly(12))
    elif protocol is RTU:
        frame = await reader.readexactly(8)
        assert crc16(frame) == 0, "a request with a wrong checksum"
        transaction, rest = 0, list(struct.unpack(">BBHH", frame[:6]))
    else:
        line = (await reader.readuntil(b"\r\n")).strip()
        frame = bytes.fromhex(line[1:].decode())
        assert line[:1] == b":" and sum(frame) % 256 == 0, "a request with a wrong checksum"
        transaction, rest = 0, list(struct.unpack(">BBHH", frame[:6]))
    unit, function, address, count = rest
    return Asked(
        transaction=transaction,
        unit=unit,
        function=function,
        address=address,
        count=count,
        at=time.monotonic(),
        protocol=protocol,
    )


async def _say(asked: Asked, said: object, write: Callable[[bytes], object]) -> None:
    if isinstance(said, tuple):
        for each in said:
            await _say(asked, each, write)
    elif isinstance(said, Late):
        await asyncio.sleep(said.seconds)
        await _say(asked, said.said, write)
    elif isinstance(said, Pieces):
        for byte in _bytes(asked, said.said):
            write(bytes([byte]))
            await asyncio.sleep(0.002)
    elif said is not None:
        write(_bytes(asked, said))


def _bytes(asked: Asked, said: object) -> bytes:
    return said if isinstance(said, bytes) else answer(asked, said)


def answer(asked: Asked, said: object, **other: int) -> bytes:
    """A sound frame, unless ``other`` says so: unit, function, transaction, bytes (the count)."""
    function = other.get("function", asked.function)
    if isinstance(said, int):
        pdu = bytes([function | 0x80, said])
    elif asked.function in (1, 2):
        bits = sum(bit << i for i, bit in enumerate(said))
        pdu = bytes([function, 1]) + bytes([bits])
    else:
        words = struct.pack(f">{len(said)}H", *said)
        pdu = bytes([function, other.get("bytes", len(words))]) + words
    unit = other.get("unit", asked.unit)
    if asked.protocol is TCP:
        transaction = other.get("transaction", asked.transaction) % 65536
        return struct.pack(">HHHB", transaction, 0, len(pdu) + 1, unit) + pdu
    frame = bytes([unit]) + pdu
    if asked.protocol is RTU:
        return frame + crc16(frame).to_bytes(2, "little")
    return b":" + (frame + bytes([-sum(frame) % 256])).hex().upper().encode() + b"\r\n"


def crc16(data: bytes) -> int:
    """The RTU checksum, bit by bit, as the specification has it; 0 over a frame that fits."""
    value = 0xFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ 0xA001 if value & 1 else value >> 1
    return value
