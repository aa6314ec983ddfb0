"""Whether an instrument still measures: what of it must move, and for how long it stood still."""

from __future__ import annotations

CLOCK_SECONDS = 1.5
"""An instrument's time has whole seconds: read twice within one it may be the same."""
BEAT_SECONDS = 3.0
BEATS_MISSED = 2
"""Between so many intervals a heartbeat must have moved."""


class Freshness:
    """For each register that must move: what it held, and since when."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[tuple[int, ...], float]] = {}

    def stood_still(self, name: str, words: tuple[int, ...], *, now: float) -> float:
        """For how many seconds a register has held the same words; 0 when they are new.

        now: seconds of a clock that nobody sets.
        """
        held, since = self._since.get(name, (None, now))
        if held != words:
            self._since[name] = (words, now)
            return 0.0
        return now - since


def beat_limit(interval_ms: int) -> float:
    """How many seconds a heartbeat may stand still for a channel of this interval."""
    return max(BEAT_SECONDS, BEATS_MISSED * interval_ms / 1000) * 0.95  # polls jitter
