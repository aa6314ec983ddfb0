"""The step of each channel's readings in a run of exports, whatever their order, in little room."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from compliance.model.history import Piece
from compliance.model.readings import Times

KEPT = 300
"""So many instants of a channel are kept from each end of its time."""
_NONE = np.empty(0, np.int64)


@dataclass(slots=True)
class Run:
    """One channel's readings in a run: how many, from when to when, in microseconds since 1970."""

    readings: int = 0
    earliest: Times = field(default_factory=lambda: _NONE)
    latest: Times = field(default_factory=lambda: _NONE)

    @property
    def first_us(self) -> int:
        return int(self.earliest[0])

    @property
    def last_us(self) -> int:
        return int(self.latest[-1])

    @property
    def step_us(self) -> int | None:
        """The usual step at the beginning; None with fewer than two instants."""
        return _median(self.earliest)

    @property
    def last_step_us(self) -> int | None:
        """The usual step at the end."""
        return _median(self.latest)

    @property
    def is_steady(self) -> bool:
        """Whether most steps are the usual one, to a tenth of it."""
        step = self.step_us
        if step is None:
            return True
        near = np.abs(np.diff(self.earliest) - step) <= step // 10
        return bool(near.mean() > 0.5)

    def see(self, at_us: Times, until_us: Times) -> None:
        """Take more instants in, in any order; ``until_us``: the latest that each may be."""
        self.readings += len(at_us)
        self.earliest = np.unique(np.concatenate([self.earliest, at_us]))[:KEPT]
        self.latest = np.unique(np.concatenate([self.latest, until_us]))[-KEPT:]


class Rhythm(dict[int, Run]):
    """The runs of all channels, by channel."""

    def see(self, piece: Piece) -> None:
        """Take the readings of a part in."""
        for channel, at_us, until_us in _by_channel(piece):
            self.setdefault(channel, Run()).see(at_us, until_us)


def _by_channel(piece: Piece) -> Iterator[tuple[int, Times, Times]]:
    order = np.argsort(piece.channel_id, kind="stable")
    cuts = np.flatnonzero(np.diff(piece.channel_id[order])) + 1
    for chosen in np.split(order, cuts):
        if len(chosen):
            channel = int(piece.channel_id[chosen[0]])
            yield channel, piece.at_us[chosen], piece.until_us[chosen]


def _median(instants: Times) -> int | None:
    return int(np.median(np.diff(instants))) if len(instants) > 1 else None
