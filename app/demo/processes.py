"""The demo's child processes: started in a session of their own, watched, stopped in order."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from app import stopping
from compliance.errors import StorageError

PATIENCE = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A running command and where it writes what it has to say."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def failed(self) -> bool:
        """Whether it ended by itself."""
        return self.process.poll() is not None

    def last_words(self) -> str:
        """The last line of its log."""
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "nothing"


def start(
    name: str, command: Sequence[str], *, environment: Mapping[str, str], logs: Path
) -> Child:
    """Start ``pretreat COMMAND``; Ctrl-C in the terminal reaches only the demo itself."""
    log = logs / f"{name}.log"
    with log.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "app", *command],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            preexec_fn=stopping.with_parent,  # noqa: PLW1509 - one system call: no orphans
        )
    return Child(name=name, process=process, log=log)


def wait(child: Child, until: Event) -> bool:
    """Wait for a command's end; False when it is time to stop before that.

    Raises: StorageError with its last words when it fails.
    """
    while child.process.poll() is None:
        if until.wait(0.1):
            return False
    if child.process.returncode != 0:
        raise StorageError(f"{child.name} failed: {child.last_words()} (log: {child.log})")
    return True


def stop(children: Sequence[Child]) -> int:
    """Stop children in the order given, and whatever they started; how many had failed before."""
    failed = sum(1 for child in children if child.failed)
    for child in children:
        if not child.failed:
            child.process.terminate()
        try:
            child.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            failed += 1
        _end_session(child)
    return failed


def _end_session(child: Child) -> None:
    """Kill what is left of a child's session: nothing outlives the demo."""
    try:
        os.killpg(child.process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    child.process.wait()


def port_is_free(port: int) -> bool:
    """Whether a TCP port of this machine can be listened on."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Ports in a row that no other demo of this machine takes while the claim is held."""

    first: int
    held: socket.socket

    def release(self) -> None:
        """Let others have the ports; the end of the process does so too."""
        self.held.close()


def claim_ports(wanted: int, *, count: int) -> Claim:
    """Claim the first ``count`` free ports in a row, at or above the wanted one.

    A demo looks for its ports half a minute before its children listen on them, so a free
    port is not enough: two demos started together would both find it.
    """
    for base in range(wanted, wanted + 4000, 20):
        held = _hold(f"pretreat-demo-{base}")
        if held is None:
            continue
        if all(port_is_free(base + n) for n in range(count)):
            return Claim(first=base, held=held)
        held.close()
    raise StorageError(f"no {count} free ports were found above {wanted}")


def _hold(name: str) -> socket.socket | None:
    """Hold a name that the kernel gives to one process at a time; None when it is taken.

    Names of this kind (abstract Unix sockets) belong to the network namespace, as ports do,
    and leave no file behind.
    """
    holder = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        holder.bind(f"\0{name}")
    except OSError:
        holder.close()
        return None
    return holder


def answers(port: int, *, within: float) -> bool:
    """Whether something accepts connections on a port before the time is up."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return True
        except OSError:
            time.sleep(0.1)
    return False
