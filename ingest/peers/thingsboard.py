"""The Modbus connector of the ThingsBoard gateway alone: it polls, and what it reads is counted.

A script for an environment that has ``thingsboard-gateway``; it imports nothing of ours. Its first
argument is JSON: ports, points ([type, address, registers] each), warm and seconds. It prints JSON:
readings and cpu_seconds of the measured time. The connector keeps its own configuration,
scheduling, requests and converter; storage and platform are replaced by a counter, in its favour.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import time
from typing import Any

logging.Logger.trace = lambda self, *args, **more: None  # type: ignore[attr-defined]
logging.disable(logging.ERROR)

from thingsboard_gateway.connectors.modbus.modbus_connector import (  # type: ignore[import-not-found]  # noqa: E402
    AsyncModbusConnector,
)


class Nothing:
    """Whatever else the connector asks of its gateway."""

    def __getattr__(self, name: str) -> Nothing:
        return self

    def __call__(self, *_args: Any, **_more: Any) -> Nothing:
        return self


class Platform:
    """What the connector needs of a gateway: devices, and where readings go."""

    def __init__(self) -> None:
        self.readings = 0
        self._devices: dict[str, Any] = {}
        self._folder = tempfile.mkdtemp()

    def send_to_storage(self, _name: str, _id: str, data: Any) -> None:
        self.readings += sum(len(entry.values) for entry in data.telemetry)

    def get_config_path(self) -> str:
        return self._folder + "/"

    def get_devices(self) -> dict[str, Any]:
        return self._devices

    def add_device(self, name: str, content: Any, **_more: Any) -> bool:
        self._devices[name] = content
        return True

    def del_device(self, name: str) -> None:
        self._devices.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        return Nothing()


def slave(port: int, points: list[list[Any]]) -> dict[str, Any]:
    """One instrument as the connector's configuration has it, every point a request of its own."""
    return {
        "host": "127.0.0.1",
        "port": port,
        "type": "tcp",
        "method": "socket",
        "timeout": 5,
        "byteOrder": "BIG",
        "wordOrder": "BIG",
        "retries": 1,
        "pollPeriod": 1000,
        "unitId": 1,
        "deviceName": f"meter {port}",
        "deviceType": "default",
        "reportStrategy": {"type": "ON_RECEIVED"},
        "attributes": [],
        "timeseries": [
            {
                "tag": f"p{number}",
                "type": kind,
                "functionCode": 3,
                "objectsCount": count,
                "address": address,
            }
            for number, (kind, address, count) in enumerate(points)
        ],
        "attributeUpdates": [],
        "rpc": [],
    }


def main() -> None:
    """Poll for a while and print what came of it."""
    asked = json.loads(sys.argv[1])
    platform = Platform()
    slaves = [slave(port, asked["points"]) for port in asked["ports"]]
    config = {"name": "bench", "id": "bench", "logLevel": "CRITICAL", "master": {"slaves": slaves}}
    connector = AsyncModbusConnector(platform, config, "modbus")
    connector.open()
    time.sleep(asked["warm"])
    count, spent, began = platform.readings, time.process_time(), time.monotonic()
    time.sleep(asked["seconds"])
    found = {
        "readings": platform.readings - count,
        "cpu_seconds": time.process_time() - spent,
        "seconds": time.monotonic() - began,
    }
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
