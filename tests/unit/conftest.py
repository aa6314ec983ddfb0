"""A gateway that answers as a script says: late, wrong, short, or not at all."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as it came over the wire."""

    transaction: int
    unit: int
    function: int
    address: int
    count: int


class Scripted:
    """Speaks Modbus TCP. script: the bytes to send for a request, a number for an exception code,
    a sequence of words for a sound answer, None for silence, or "close".
    """

    def __init__(self, script: Callable[[Asked], object]) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.connections = 0
        self.port = 0
        self._open: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Scripted:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._open:
            writer.close()
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                asked = Asked(
                    **dict(
                        zip(Asked.__slots__, _request(await reader.readexactly(12)), strict=True)
                    )
                )
                self.asked.append(asked)
                said = self.script(asked)
                if said == "close":
                    break
                if said is not None:
                    writer.write(said if isinstance(said, bytes) else answer(asked, said))
        self._open.discard(writer)
        writer.close()


def _request(frame: bytes) -> tuple[int, int, int, int, int]:
    transaction, _, _, unit, function, address, count = struct.unpack(">HHHBBHH", frame)
    return transaction, unit, function, address, count


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
    transaction = other.get("transaction", asked.transaction)
    head = struct.pack(">HHHB", transaction, 0, len(pdu) + 1, other.get("unit", asked.unit))
    return head + pdu


@pytest.fixture
def scripted() -> Callable[[Callable[[Asked], object]], Scripted]:
    """Makes a scripted gateway, to be entered with ``async with``."""
    return Scripted


@pytest.fixture
def reply() -> Callable[..., bytes]:
    """Makes an answer's bytes, a wrong one on request."""
    return answer
