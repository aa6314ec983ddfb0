"""A small disk under a worker's spool, which another program fills up; root alone may mount it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SIZE = "16m"
PIECE = 64 * 1024


def may_be_mounted() -> bool:
    """Whether this account, where it runs, may mount a file system."""
    with tempfile.TemporaryDirectory() as name:
        if not _mounted(Path(name)):
            return False
        _unmount(Path(name))
        return True


@contextmanager
def small(folder: Path) -> Iterator[None]:
    """A folder of a stopped worker lies on a disk of 16 MiB, with all that is in it."""
    aside = folder.parents[1] / "aside"
    folder.rename(aside)
    folder.mkdir()
    if not _mounted(folder):
        raise OSError(f"a disk cannot be mounted at {folder}")
    shutil.copytree(aside, folder, dirs_exist_ok=True)
    shutil.rmtree(aside)
    try:
        yield
    finally:
        shutil.copytree(folder, aside)
        _unmount(folder)
        folder.rmdir()
        aside.rename(folder)


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """The disk of a folder has no byte left at first; what is freed on it stays free."""
    path = folder / "somebody-elses"
    taken = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        for piece in (PIECE, 1):
            with suppress(OSError):
                while os.write(taken, bytes(piece)):
                    pass
        yield
    finally:
        os.close(taken)
        path.unlink()


def _mounted(folder: Path) -> bool:
    words = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    try:
        return subprocess.run(words, capture_output=True).returncode == 0  # noqa: S607
    except FileNotFoundError:
        return False


def _unmount(folder: Path) -> None:
    """Take a disk away; where a process still holds it, as soon as that has let go."""
    for lazily in ([], ["--lazy"]):
        done = subprocess.run(["umount", *lazily, str(folder)], capture_output=True)  # noqa: S607
        if not done.returncode:
            return
    raise OSError(f"the disk at {folder} cannot be unmounted")
