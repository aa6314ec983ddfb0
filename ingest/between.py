"""The line of a polled gateway, for one who asks between two rounds: never a second connection."""

from __future__ import annotations

import asyncio

from compliance.model.wire import Wire
from ingest.connection import Connection
from ingest.plan import Block

_PLAIN = Wire()


class Between:
    """A connection in use, asked one request at a time while no round is under way.

    turns: held by a round, and here for each request, so that a question of many requests holds up
    a round by one of them at most.
    """

    def __init__(self, connection: Connection, turns: asyncio.Lock, *, is_polled: bool) -> None:
        self._connection, self._turns, self._is_polled = connection, turns, is_polled

    @property
    def connected(self) -> bool:
        """Whether the line is open, as far as this end knows."""
        return self._connection.link.connected

    async def connect(self) -> None:
        """Open the line, unless it is open. Raises: LinkError."""
        async with self._turns:
            error = await self._connection.ready()
            if error is not None:
                raise error

    async def read(self, unit: int, block: Block, wire: Wire = _PLAIN) -> tuple[int, ...]:
        """The registers of a block. Raises: LinkError."""
        async with self._turns:
            return await self._connection.read(unit, block, wire)

    def release(self) -> None:
        """Give back a line over which nothing else is asked."""
        if not self._is_polled:
            self._connection.close()
