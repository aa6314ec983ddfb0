"""What workers have accepted, told by their spools themselves: every segment they ever synced.

A second name is given to each segment file as soon as it appears, so that its content stays after
the worker has freed it.
"""

from __future__ import annotations

import errno
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from compliance.records import tuples
from compliance.records.batch import BadFrame, Kind, TornFrame, decode

LOOK_SECONDS = 0.05
NOTHING = -1.0
"""Stands for a missing value; no simulated register is negative."""
_VALUE = struct.Struct(">id")
_VALUE_AT = 22  # in a tuple: after its channel and its instant
_CHANNEL_BITS = 51  # an instant in microseconds fits below


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """Readings as sorted keys of channel and slot, with their values (``NOTHING``: none).

    A key may come twice where two workers have read the same slot.
    """

    keys: NDArray[np.int64]
    values: NDArray[np.float64]

    @property
    def unique(self) -> NDArray[np.int64]:
        """The keys, each once."""
        return np.unique(self.keys)

    def between(self, since_us: int, until_us: int) -> Entries:
        """Those whose slot lies in ``[since, until)``."""
        slots = self.keys & ((1 << _CHANNEL_BITS) - 1)
        inside = (slots >= since_us) & (slots < until_us)
        return Entries(keys=self.keys[inside], values=self.values[inside])


def entries(channels: list[int], slots: list[int], values: list[float]) -> Entries:
    """Entries from columns; NaN in ``values`` becomes ``NOTHING``, which equals itself."""
    keys = np.array(channels, np.int64) << _CHANNEL_BITS | np.array(slots, np.int64)
    order = np.argsort(keys, kind="stable")
    found = np.array(values, np.float64)
    return Entries(keys=keys[order], values=np.where(np.isnan(found), NOTHING, found)[order])


class Ledger:
    """Every segment of every worker of a home, read frame by frame, each frame once."""

    def __init__(self, home: Path) -> None:
        self._spools, self._folder = home / "spool", home / "ledger"
        self._folder.mkdir()
        self.newest: dict[int, int] = {}  # by channel, in microseconds since 1970
        self._read: dict[str, int] = {}
        self._held: dict[str, BinaryIO] = {}  # by name: on another disk, where no link reaches
        self._looking = threading.Lock()
        self._columns: tuple[list[int], list[int], list[float]] = ([], [], [])

    def look(self) -> None:
        """Give each segment there is a second name."""
        with self._looking:
            for path in self._spools.glob("*/*.seg"):
                kept = self._folder / f"{path.parent.name}-{path.name}"
                with suppress(FileExistsError, FileNotFoundError):
                    self._keep(path, kept)

    def _keep(self, path: Path, kept: Path) -> None:
        try:
            os.link(path, kept)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            if kept.name not in self._held:
                self._held[kept.name] = path.open("rb")

    def accepted(self) -> Entries:
        """Everything accepted so far, and not forgotten."""
        self.read()
        return entries(*self._columns)

    def forget(self, until_us: int) -> None:
        """Keep no more of what lies before an instant."""
        kept = [row for row in zip(*self._columns, strict=True) if row[1] >= until_us]
        self._columns = ([c for c, _, _ in kept], [s for _, s, _ in kept], [v for _, _, v in kept])

    def read(self) -> None:
        """Read on in every segment."""
        self.look()
        for path in sorted(self._folder.iterdir()):
            self._read_on(path.name, path.read_bytes())
        with self._looking:
            for name, file in list(self._held.items()):
                is_freed = not os.fstat(file.fileno()).st_nlink  # before it is read: then for good
                file.seek(0)
                self._read_on(name, file.read())
                if is_freed:
                    self._held.pop(name).close()

    def _read_on(self, name: str, content: bytes) -> None:
        at = self._read.get(name, 0)
        while at < len(content):
            try:
                frame, at = decode(content, at)
            except (TornFrame, BadFrame):
                break
            if frame.kind is Kind.READINGS:
                self._enter(frame.content)
        self._read[name] = at

    def _enter(self, content: bytes) -> None:
        channels, slots, values = self._columns
        for row in tuples.split(content)[0]:
            key = tuples.key(row)
            assert key is not None
            length, value = _VALUE.unpack_from(row, _VALUE_AT)
            channels.append(key.channel_id)
            slots.append(key.at_us)
            values.append(value if length == 8 else float("nan"))
            self.newest[key.channel_id] = max(key.at_us, self.newest.get(key.channel_id, 0))


@contextmanager
def kept(home: Path) -> Iterator[Ledger]:
    """A ledger that looks twenty times a second."""
    ledger, stop = Ledger(home), threading.Event()

    def watch() -> None:
        while not stop.wait(LOOK_SECONDS):
            ledger.look()

    thread = threading.Thread(target=watch, name="ledger")
    thread.start()
    try:
        yield ledger
    finally:
        stop.set()
        thread.join()
