"""A serial device as an asyncio transport: opened raw and for us alone, at its rate and parity."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import termios
from collections.abc import Callable
from typing import cast

from compliance.model.endpoints import Endpoint

_MOST = 4096
_PARITY = {"N": 0, "E": termios.PARENB, "O": termios.PARENB | termios.PARODD}


class SerialLine(asyncio.Transport):
    """Bytes to and from an open serial device; its protocol hears of each and of the end."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, protocol: asyncio.Protocol, device: int
    ) -> None:
        super().__init__()
        self._loop, self._protocol, self._device = loop, protocol, device
        self._closing = False
        self._unsent = b""
        loop.add_reader(device, self._read)
        loop.call_soon(protocol.connection_made, self)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send, at once as far as the device takes it."""
        if self._closing:
            return
        waiting = bool(self._unsent)
        self._unsent += bytes(data)
        if not waiting:
            self._send()

    def is_closing(self) -> bool:
        """Whether the device was given back."""
        return self._closing

    def close(self) -> None:
        """Give the device back; what was not sent is dropped."""
        self._end(None)

    abort = close

    def _send(self) -> None:
        try:
            sent = os.write(self._device, self._unsent)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._end(error)
            return
        self._unsent = self._unsent[sent:]
        if self._unsent:
            self._loop.add_writer(self._device, self._send)
        else:
            self._loop.remove_writer(self._device)

    def _read(self) -> None:
        try:
            data = os.read(self._device, _MOST)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(error)
            return
        if data:
            self._protocol.data_received(data)
        else:
            self._end(None)

    def _end(self, error: Exception | None) -> None:
        if self._closing:
            return
        self._closing = True
        self._loop.remove_reader(self._device)
        self._loop.remove_writer(self._device)
        os.close(self._device)
        self._loop.call_soon(self._protocol.connection_lost, error)


async def opened(
    make_protocol: Callable[[], asyncio.BaseProtocol], endpoint: Endpoint
) -> tuple[SerialLine, asyncio.BaseProtocol]:
    """Open an endpoint's serial device for a new protocol.

    Raises: OSError when it is not there, not ours to use, taken, or cannot run at the rate.
    """
    device = os.open(endpoint.host, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        fcntl.flock(device, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _set(device, endpoint)
    except OSError:
        os.close(device)
        raise
    protocol = make_protocol()
    line = SerialLine(asyncio.get_running_loop(), cast("asyncio.Protocol", protocol), device)
    return line, protocol


def _set(device: int, endpoint: Endpoint) -> None:
    """Raw bytes both ways, without flow control; what was received before is dropped."""
    rate = getattr(termios, f"B{endpoint.baud}", None)
    if rate is None:
        raise OSError(errno.EINVAL, f"{endpoint.baud} baud is not a rate of this system")
    control = termios.CREAD | termios.CLOCAL | _PARITY[endpoint.parity]
    control |= termios.CS7 if endpoint.bits == 7 else termios.CS8
    control |= termios.CSTOPB if endpoint.stop == 2 else 0
    try:
        characters = termios.tcgetattr(device)[6]
        characters[termios.VMIN], characters[termios.VTIME] = 1, 0
        checks = termios.INPCK if endpoint.parity != "N" else 0
        termios.tcsetattr(device, termios.TCSANOW, [checks, 0, control, 0, rate, rate, characters])
        termios.tcflush(device, termios.TCIOFLUSH)
    except termios.error as error:
        raise OSError(*error.args) from None
