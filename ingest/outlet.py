"""What leaves a spool, in two lanes: what is new, and the backlog of an outage behind it.

Usually there is one lane, oldest first. When it lags, what comes in from then on goes down a lane
of its own, so that people see the present while the past is made up for. A lane's place is kept on
disk; what is delivered again after a crash is known by its key and stored once.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from ingest.cursor import Cursor, Position
from ingest.segments import Reader, Segments, Taken

LAGGING_BYTES = 4 * 1024 * 1024
LAGGING_US = 5_000_000
MOST_FRAMES = 50
MOST_READINGS = 20_000


class Lane(Enum):
    """Which of the two."""

    LIVE = "live"
    BACKLOG = "backlog"


class Outlet:
    """The two lanes of one spool, for one forwarder.

    end: up to where the spool is synced; newest: its newest slot in microseconds since 1970;
    busy: the number of the segment that is written to, or None.
    """

    def __init__(
        self,
        segments: Segments,
        *,
        end: Callable[[], Position],
        newest: Callable[[], int],
        busy: Callable[[], int | None],
    ) -> None:
        self._segments, self._end, self._newest, self._busy = segments, end, newest, busy
        folder = segments.folder
        self._ack = Cursor(folder / "ack")
        self._live_from, self._live_to = Cursor(folder / "live-from"), Cursor(folder / "live-to")
        self.sequence = max(self._ack.sequence, self._live_to.sequence)
        self._live: Reader | None = None
        self.rewind()

    @property
    def at(self) -> Position:
        """Up to here everything is stored."""
        return self._ack.at

    @property
    def is_split(self) -> bool:
        """Whether there is a backlog beside what is new."""
        return self._live is not None

    def rewind(self) -> None:
        """Go back to what is not acknowledged."""
        first = Position(next(iter(self._segments.numbers()), 0), 0)
        self._backlog = Reader(self._segments, max(self._ack.at, first))
        since, until = self._live_from.at, self._live_to.at
        is_split = self._ack.at < since <= until
        self._live = Reader(self._segments, until) if is_split else None

    def take(
        self, lane: Lane, *, frames: int = MOST_FRAMES, readings: int = MOST_READINGS
    ) -> list[Taken]:
        """The next few frames of a lane, about so many readings; none when it is empty.

        A damaged piece comes alone.
        """
        if lane is Lane.BACKLOG:
            return self._take_backlog(frames, readings)
        if self._lags(self._live or self._backlog):
            self._split()
        if self._live is None:
            return []
        return _group(self._live, self._end(), frames, readings)

    def _take_backlog(self, frames: int, readings: int) -> list[Taken]:
        if self._live is None:
            return _group(self._backlog, self._end(), frames, readings)
        found = _group(self._backlog, self._live_from.at, frames, readings)
        if not found and self._backlog.peek(self._live_from.at) is None:
            self._merge()
        return found

    def ack(self, lane: Lane, taken: Taken) -> None:
        """Note that a lane is stored up to here; segments that are done with are freed."""
        sequence = max(self.sequence, taken.frame.sequence if taken.frame else 0)
        self.sequence = sequence
        if lane is Lane.LIVE:
            self._live_to.move(taken.end, sequence)
        else:
            self._ack.move(taken.end, sequence)
            self._free()

    def backlog_bytes(self) -> int:
        """How many bytes on disk are not yet acknowledged, about."""
        all_of_them = self._segments.between(self._ack.at, self._end())
        if self._live is None:
            return all_of_them
        return all_of_them - self._segments.between(self._live_from.at, self._live_to.at)

    def close(self) -> None:
        """Let the files go."""
        for cursor in (self._ack, self._live_from, self._live_to):
            cursor.close()

    def _lags(self, reader: Reader) -> bool:
        end = self._end()
        if self._segments.between(reader.at, end) > LAGGING_BYTES:
            return True
        following = reader.peek(end)
        if following is None or following.frame is None:
            return False
        return following.frame.until_us < self._newest() - LAGGING_US

    def _split(self) -> None:
        """From here on what is new goes first; an earlier split is forgotten and sent again."""
        end = self._end()
        self._live_from.move(end, self.sequence)  # in this order: in between nothing is split
        self._live_to.move(end, self.sequence)
        self._backlog = Reader(self._segments, self._backlog.at)
        self._live = Reader(self._segments, end)

    def _merge(self) -> None:
        """The backlog has reached what was delivered live: one lane again."""
        self._ack.move(self._live_to.at, self.sequence)
        self._live = None
        self._backlog = Reader(self._segments, self._ack.at)
        self._free()

    def _free(self) -> None:
        at, busy = self._ack.at, self._busy()
        for number in self._segments.numbers():
            finished = number == at.segment and at.offset >= self._segments.size(number)
            if number < at.segment or (finished and number != busy):
                self._segments.path(number).unlink()


def _group(reader: Reader, until: Position, frames: int, readings: int) -> list[Taken]:
    found: list[Taken] = []
    count = 0
    while len(found) < frames and count < readings and (following := reader.peek(until)):
        if following.frame is None and found:
            break
        reader.take(until)
        found.append(following)
        if following.frame is None:
            break
        count += following.frame.count
    return found
