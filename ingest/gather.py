"""What all units of an event loop answer, collected for some milliseconds and decoded together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import structlog

from compliance.errors import StorageError
from compliance.model.readings import Quality
from compliance.records.batch import ReadingBatch, joined
from ingest.alike import Alike
from ingest.tick import Blank, Row, blanks, readings

Sink = Callable[[ReadingBatch], None]

SECONDS = 0.02
"""How long an answer waits for others at most, while the loop is not busy."""
MOST_ROWS = 1000
"""So many do not wait any longer."""
log = structlog.get_logger("ingest")


class Gather:
    """Takes answers and slots without one, and hands readings on. For one event loop.

    sink: takes readings, raises StorageError when it cannot. fault: told of what should not have
    happened. state: why nothing is taken at the moment.
    """

    def __init__(self, sink: Sink, *, fault: Callable[[str], None] = lambda what: None) -> None:
        self.state = ""
        self._sink, self._fault = sink, fault
        self._rows: dict[Alike, list[Row]] = {}
        self._blanks: list[Blank] = []
        self._count = 0
        self._again: list[ReadingBatch] = []
        self._timer: asyncio.TimerHandle | None = None

    def row(self, of: Alike, row: Row) -> None:
        """Take what a unit answered."""
        self._rows.setdefault(of, []).append(row)
        self._wait()

    def blank(self, blank: Blank) -> None:
        """Take a slot that was not read."""
        self._blanks.append(blank)
        self._wait()

    def _wait(self) -> None:
        self._count += 1
        if self._count >= MOST_ROWS:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SECONDS, self.flush)

    def flush(self) -> None:
        """Hand over what was collected."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        rows, empty, again = self._rows, self._blanks, self._again
        self._rows, self._blanks, self._again, self._count = {}, [], [], 0
        made = [*again, *(part for of, each in rows.items() for part in self._decoded(of, each))]
        if empty:
            made.append(blanks(empty))
        if made:
            self._deliver(_by_slot(joined(made)), may_wait=not again)

    def _decoded(self, of: Alike, rows: Sequence[Row]) -> Iterator[ReadingBatch]:
        """Rows as readings: those that came whole in one call, the others in another."""
        whole = [row for row in rows if not row.unread]
        parted = [row for row in rows if row.unread]
        for some in (whole, parted):
            if some:
                yield self._read(of, some)

    def _read(self, of: Alike, rows: Sequence[Row]) -> ReadingBatch:
        """Rows as readings; a fault of ours costs only the row that it is in, and says so."""
        try:
            return readings(of, rows)
        except Exception as error:
            if len(rows) > 1:
                return joined([self._read(of, [row]) for row in rows])
            log.exception("decoding", map=of.map.name)
            self._fault(f"map {of.map.name}: {type(error).__name__}: {error}")
            (row,) = rows
            quality = Quality.BAD_REPLY
            return blanks([Blank(row.channels, row.slot_us, row.offset_ms, quality)])

    def _deliver(self, made: ReadingBatch, *, may_wait: bool) -> None:
        """Hand readings on; after a fault of ours they are tried once more with the next."""
        try:
            self._sink(made)
        except StorageError as error:
            self._turn(str(error))
        except Exception as error:
            log.exception("sink")
            self._fault(f"spool: {type(error).__name__}: {error}")
            self._turn(f"{type(error).__name__}: {error}")
            if may_wait:
                self._again = [made]
                self._wait()
        else:
            self._turn("")

    def _turn(self, state: str) -> None:
        if bool(state) != bool(self.state):
            log.warning("spool", state=state or "takes readings again")
        self.state = state


def _by_slot(made: ReadingBatch) -> ReadingBatch:
    """The oldest slots first, as they are nearly always."""
    if (made.at_us[1:] >= made.at_us[:-1]).all():
        return made
    return made.part(np.argsort(made.at_us, kind="stable"))
