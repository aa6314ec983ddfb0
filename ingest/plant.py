"""A plant for fault runs: gateways that answer fast, and that fall silent or lie when told to.

Each gateway has one unit with a block of holding registers. All of them hold the number of the
request that is answered, so that a value stored twice, late or under another slot is seen. A liar
answers with ``POISON``, under another unit, function or transaction, or cut short.
"""

from __future__ import annotations

import asyncio
import itertools
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum

WRAP = 50_000
POISON = 65_000
_ASKED = struct.Struct(">HHHBBHH")  # transaction, protocol, length, unit, function, address, count
_HEAD = struct.Struct(">HHHBBB")


class Mood(Enum):
    """How a gateway behaves."""

    WELL = "well"
    SILENT = "silent"  # connections stay open, nothing is answered
    LYING = "lying"


class SimulatedGateway:
    """One gateway; its mood may be set from any thread."""

    def __init__(self) -> None:
        self.mood = Mood.WELL
        self.port = 0
        self._served = itertools.count(1)
        self._lies = itertools.cycle(range(4))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection until it ends."""
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                asked = _ASKED.unpack(await reader.readexactly(_ASKED.size))
                if self.mood is not Mood.SILENT:
                    writer.write(self._answer(*asked))
        writer.close()

    def _answer(  # noqa: PLR0913 - the fields of a request
        self, tid: int, protocol: int, _length: int, unit: int, function: int, _at: int, count: int
    ) -> bytes:
        words = struct.pack(">H", next(self._served) % WRAP) * count
        if self.mood is Mood.LYING:
            words = struct.pack(">H", POISON) * count
            lie = next(self._lies)
            tid = (tid + 1) % 65536 if lie == 0 else tid
            unit = unit + 1 if lie == 1 else unit
            function = 4 if lie == 2 else function
            words = words[:-2] if lie == 3 else words
        return _HEAD.pack(tid, protocol, 3 + len(words), unit, function, len(words)) + words


@contextmanager
def running(count: int) -> Iterator[list[SimulatedGateway]]:
    """So many gateways on free ports of this machine, on a thread of their own."""
    gateways = [SimulatedGateway() for _ in range(count)]
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    ready = threading.Event()
    thread = threading.Thread(
        target=loop.run_until_complete, args=(_serve(gateways, ready, stop),), name="plant"
    )
    thread.start()
    ready.wait()
    try:
        yield gateways
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


async def _serve(
    gateways: list[SimulatedGateway], ready: threading.Event, stop: asyncio.Event
) -> None:
    servers = []
    for one in gateways:
        server = await asyncio.start_server(one.serve, "127.0.0.1", 0)
        one.port = server.sockets[0].getsockname()[1]
        servers.append(server)
    ready.set()
    await stop.wait()
    for server in servers:
        server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
