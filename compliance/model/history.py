"""History from a historian's export: one part of a file as arrays, and rows set apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from compliance.model.faults import Fault
from compliance.model.readings import Times, Values


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A row, or one cell of a wide one, that cannot be used, and its line as the file has it."""

    fault: Fault
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The readings of one part of a file, in its order, as arrays of one length.

    number: which part, from 0; position: how many bytes of the file on disk are read so far;
    rows: how many rows of the part are not blank; row: the row of each reading, the header's is
    1; at_us: microseconds since 1970; until_us: the same, or an hour later where the pass of a
    repeated hour is not decided yet; value: in the channel's unit, NaN where missing (then the
    quality says why); quality: bits of ``Quality``.
    """

    number: int
    position: int
    rows: int
    row: Times
    channel_id: NDArray[np.int32]
    at_us: Times
    until_us: Times
    value: Values
    quality: NDArray[np.int64]
    rejected: tuple[Rejected, ...]

    def __len__(self) -> int:
        return len(self.at_us)

    def take(self, chosen: NDArray[np.intp]) -> Piece:
        """The readings at some positions, in that order."""
        return Piece(
            number=self.number,
            position=self.position,
            rows=self.rows,
            row=self.row[chosen],
            channel_id=self.channel_id[chosen],
            at_us=self.at_us[chosen],
            until_us=self.until_us[chosen],
            value=self.value[chosen],
            quality=self.quality[chosen],
            rejected=self.rejected,
        )
