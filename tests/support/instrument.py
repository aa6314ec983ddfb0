"""An instrument that holds registers, as a process of its own thread answers for it."""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.faulty import Asked, Scripted


def float_words(value: float, order: str) -> tuple[int, int]:
    """The two registers of a 32-bit float in an order of bytes."""
    a, b, c, d = struct.pack(">f", value)
    byte = {"A": a, "B": b, "C": c, "D": d}
    w = [byte[letter] for letter in order]
    return w[0] << 8 | w[1], w[2] << 8 | w[3]


class Held:
    """Registers by address, for all units of ``units``; others keep silent."""

    def __init__(self, registers: dict[int, int], *, units: tuple[int, ...] = (1,)) -> None:
        self.registers, self.units = registers, units
        self.scripted = Scripted(self._answer)

    def _answer(self, asked: Asked) -> object:
        if asked.unit not in self.units:
            return None
        wanted = range(asked.address, asked.address + asked.count)
        if any(address not in self.registers for address in wanted):
            return 2
        return [self.registers[address] for address in wanted]

    @property
    def port(self) -> int:
        """Where it answers."""
        return self.scripted.port

    @property
    def connections(self) -> int:
        """How many have been opened to it."""
        return self.scripted.connections


@contextmanager
def answering(held: Held) -> Iterator[Held]:
    """The instrument on a port of this machine, until the end of the block."""
    ready, done = threading.Event(), threading.Event()

    async def serve() -> None:
        async with held.scripted:
            ready.set()
            while not done.is_set():
                await asyncio.sleep(0.02)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(10)
    try:
        yield held
    finally:
        done.set()
        thread.join()
