"""Other people's pollers beside ours: run as processes on the same gateways, and counted."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ingest.bench_plant import points

PACKAGES = ("thingsboard-gateway", "pymodbus==3.9.2", "pyserial", "pyserial-asyncio")
"""The gateway, and what its connector would otherwise install by itself when it is imported."""
_HERE = Path(__file__).parent / "peers"
_INSTALL_SECONDS = 300.0
_THINGSBOARD_TYPES = {"float32": "32float", "uint16": "16uint"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """What another poller did in some seconds."""

    name: str
    readings: int
    cpu_seconds: float
    seconds: float

    @property
    def per_cpu_second(self) -> float:
        """Readings for each second of a processor."""
        return self.readings / self.cpu_seconds


def plain(ports: Sequence[int], *, seconds: float) -> Peer:
    """A loop on pymodbus that asks for value after value, as fast as it goes."""
    asked = _asked(ports, points(), warm=1.0, seconds=seconds)
    return _run(sys.executable, "plain.py", asked, "pymodbus, value by value, as fast as it goes")


def thingsboard(ports: Sequence[int], folder: Path, *, seconds: float) -> Peer | None:
    """The Modbus connector of the ThingsBoard gateway at 1 Hz; None where it cannot be had."""
    python = _installed(folder)
    if python is None:
        return None
    named = [(_THINGSBOARD_TYPES[kind], address, count) for kind, address, count in points()]
    asked = _asked(ports, named, warm=5.0, seconds=seconds)
    try:
        name = "ThingsBoard's Modbus connector at 1 Hz"
        return _run(python, "thingsboard.py", asked, name, folder=folder)
    except (subprocess.SubprocessError, ValueError):
        return None


def _asked(
    ports: Sequence[int], each: Sequence[tuple[str, int, int]], *, warm: float, seconds: float
) -> dict[str, object]:
    return {"ports": list(ports), "points": list(each), "warm": warm, "seconds": seconds}


def _run(
    python: str, script: str, asked: dict[str, object], name: str, *, folder: Path | None = None
) -> Peer:
    """What a script tells. folder: where it may leave files."""
    done = subprocess.run(
        [python, str(_HERE / script), json.dumps(asked)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        timeout=120,
        check=True,
    )
    return Peer(name=name, **json.loads(done.stdout.splitlines()[-1]))


def _installed(folder: Path) -> str | None:
    """The Python of a throw-away environment with the gateway; None without a network."""
    python = str(folder / "bin" / "python")
    try:
        venv.create(folder, with_pip=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", *PACKAGES],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_INSTALL_SECONDS,
            check=True,
        )
    except (subprocess.SubprocessError, OSError):
        return None
    return python
