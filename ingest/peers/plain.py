"""The plainest poller there is: pymodbus, one request for each value, as fast as it goes.

A script: its first argument is JSON with ports, points ([type, address, registers] each), warm and
seconds. It prints JSON: readings, cpu_seconds and seconds of the measured time.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from pymodbus.client import AsyncModbusTcpClient

TYPES = {
    "float32": AsyncModbusTcpClient.DATATYPE.FLOAT32,
    "uint16": AsyncModbusTcpClient.DATATYPE.UINT16,
}


class Poller:
    """All ports at once, each on a connection of its own."""

    def __init__(self, points: list[tuple[str, int, int]]) -> None:
        self.readings = 0
        self.is_done = False
        self._points = points

    async def poll(self, port: int) -> None:
        """Read every value again and again."""
        client = AsyncModbusTcpClient("127.0.0.1", port=port)
        await client.connect()
        try:
            while not self.is_done:
                for kind, address, count in self._points:
                    said = await client.read_holding_registers(address, count=count, device_id=1)
                    client.convert_from_registers(said.registers, TYPES[kind])
                    self.readings += 1
        finally:
            client.close()


async def main(asked: dict[str, Any]) -> None:
    """Poll for a while and print what came of it."""
    poller = Poller([tuple(point) for point in asked["points"]])
    tasks = [asyncio.create_task(poller.poll(port)) for port in asked["ports"]]
    await asyncio.sleep(asked["warm"])
    count, spent, began = poller.readings, time.process_time(), time.monotonic()
    await asyncio.sleep(asked["seconds"])
    found = {
        "readings": poller.readings - count,
        "cpu_seconds": time.process_time() - spent,
        "seconds": time.monotonic() - began,
    }
    poller.is_done = True
    await asyncio.gather(*tasks, return_exceptions=True)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
