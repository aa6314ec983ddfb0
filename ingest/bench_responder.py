"""Gateways for measuring: they answer Modbus TCP out of prebuilt registers, as cheaply as can be.

Run as a process of its own: ``python -m ingest.bench_responder '{"sound": 30, "slow": 5}'``. It
opens so many ports of each mood, prints one JSON object with their numbers, and serves them until
its standard input ends. Every unit of a port has the same registers; what they hold changes each
second.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

import numpy as np

if sys.platform == "linux":
    import uvloop

FLOATS, WHOLE = 10, 44
"""Values of two registers each come first, then whole numbers of one."""
WAYS = 64
"""So many seconds have registers of their own; then they come again."""
SLOW_SECONDS = 0.25
_HEAD = 12

Answer = Callable[[bytes], bytes | None]


def registers() -> tuple[bytes, ...]:
    """What all registers hold in each of ``WAYS`` seconds: float32 (ABCD) between 1 and 14 with
    three decimals, then whole numbers between 1 and 999."""
    random = np.random.default_rng(1)
    made = []
    for _ in range(WAYS):
        floats = np.round(random.uniform(1, 14, FLOATS), 3).astype(">f4")
        made.append(floats.tobytes() + random.integers(1, 1000, WHOLE).astype(">u2").tobytes())
    return tuple(made)


_HELD = registers()


def sound(asked: bytes) -> bytes:
    """The answer to one request for registers."""
    start = 2 * int.from_bytes(asked[8:10])
    size = 2 * int.from_bytes(asked[10:12])
    words = _HELD[int(time.time()) % WAYS][start : start + size]
    if len(words) != size:
        return asked[:4] + b"\0\x03" + asked[6:7] + bytes([asked[7] | 0x80, 2])
    return asked[:4] + (size + 3).to_bytes(2) + asked[6:8] + bytes([size]) + words


def foreign(asked: bytes) -> bytes:
    """An answer of another unit."""
    answer = bytearray(sound(asked))
    answer[6] ^= 0x40
    return bytes(answer)


def short(asked: bytes) -> bytes:
    """Half of the registers asked for, well framed."""
    fewer = asked[:10] + max(1, int.from_bytes(asked[10:12]) // 2).to_bytes(2)
    return sound(fewer)


def other_transaction(asked: bytes) -> bytes:
    """An answer to a question that was never asked."""
    return bytes([asked[0] ^ 0x80]) + sound(asked)[1:]


def silent(asked: bytes) -> None:
    """No answer."""


class Gateway(asyncio.Protocol):
    """One connection. delay: seconds before each answer."""

    def __init__(self, answer: Answer, delay: float = 0.0) -> None:
        self._answer, self._delay = answer, delay
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        if len(data) != _HEAD or self._rest:
            data = self._rest + data
        for at in range(0, len(data) - _HEAD + 1, _HEAD):
            said = self._answer(data[at : at + _HEAD])
            if said is not None and self._delay:
                asyncio.get_running_loop().call_later(self._delay, self._say, said)
            elif said is not None:
                self._transport.write(said)
        self._rest = data[len(data) - len(data) % _HEAD :]

    def _say(self, said: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(said)


MOODS: Mapping[str, tuple[tuple[Answer, float], ...]] = {
    "sound": ((sound, 0.0),),
    "slow": ((sound, SLOW_SECONDS),),
    "lying": ((foreign, 0.0), (short, 0.0), (other_transaction, 0.0)),
    "silent": ((silent, 0.0),),
}


async def serve(counts: Mapping[str, int]) -> None:
    """Open the ports, print them, and serve until standard input ends."""
    loop = asyncio.get_running_loop()
    ports: dict[str, list[int]] = {}
    servers: list[Any] = []
    for mood, count in counts.items():
        for number in range(count):
            answer, delay = MOODS[mood][number % len(MOODS[mood])]
            made = partial(Gateway, answer, delay)
            server = await loop.create_server(made, "127.0.0.1", 0)
            servers.append(server)
            ports.setdefault(mood, []).append(server.sockets[0].getsockname()[1])
    sys.stdout.write(json.dumps(ports) + "\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)
    for server in servers:
        server.close()


def main() -> None:
    """Serve what the first argument says."""
    loop = uvloop.new_event_loop if sys.platform == "linux" else None
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(serve(json.loads(sys.argv[1])))


if __name__ == "__main__":
    main()
