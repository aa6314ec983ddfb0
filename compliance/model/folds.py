"""What a fold of readings remembers between its pieces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from compliance.model.findings import Excursion, Side

SILENT_INTERVALS = 3
"""More than this many intervals between neighbouring judged readings is a silence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldState:
    """What a fold remembers of a channel: its last judged reading and what is not settled yet.

    An excursion with ``open_ended`` here is still running; without, it has ended and may be joined
    until the rejoin time has passed. Idle states are equal to one another and to ``IDLE``.
    """

    last_us: int = 0
    interval_us: int = 0
    below: Excursion | None = None
    above: Excursion | None = None

    @property
    def is_idle(self) -> bool:
        return self.below is None and self.above is None

    def silent_until(self, at_us: int) -> bool:
        """Whether a next reading at or after ``at_us`` comes after a silence."""
        return at_us - self.last_us > SILENT_INTERVALS * self.interval_us

    def to_dict(self) -> dict[str, Any]:
        """The state as JSON; an idle one is empty."""
        return {} if self.is_idle else asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> FoldState:
        """The state that ``to_dict`` wrote."""
        sides = {side: _excursion(stored.get(side)) for side in ("below", "above")}
        return cls(
            last_us=stored.get("last_us", 0), interval_us=stored.get("interval_us", 0), **sides
        )


IDLE = FoldState()


def _excursion(stored: Mapping[str, Any] | None) -> Excursion | None:
    return None if stored is None else Excursion(**{**stored, "side": Side(stored["side"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What earlier folds left: the state after ``folded_us``, and those at full hours.

    folded_us: None where nothing was ever found. Since then nothing was found either, so that an
    idle state there still holds for whatever was folded later.
    """

    folded_us: int | None = None
    state: FoldState = IDLE
    hours: Mapping[int, FoldState] = field(default_factory=dict)

    def at(self, hour_us: int) -> FoldState:
        """The state at the start of an hour."""
        return self.hours.get(hour_us, IDLE)
