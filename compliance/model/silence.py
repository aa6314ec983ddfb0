"""When a channel is silent: how long it may be quiet, and from when on that is counted."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from compliance.model.folds import SILENT_INTERVALS
from compliance.model.windows import Declared

AT_LEAST = timedelta(seconds=3)
"""A channel read more often than once a second is not silent sooner: its readings come by disk."""


def patience(interval: timedelta) -> timedelta:
    """How long a channel read at an interval may be without a usable reading."""
    return max(SILENT_INTERVALS * interval, AT_LEAST)


def is_silent(
    last: datetime | None,
    *,
    counts_since: datetime,
    windows: Iterable[Declared],
    patience: timedelta,
    now: datetime,
) -> bool:
    """Whether a channel that counts has been without a usable reading for too long.

    last: its newest usable reading, None without any; windows: those declared over it. The time
    before it counted, in a window, and that until its first reading after one, is no silence.
    """
    begins = max(counts_since, last or counts_since)
    since = now - patience
    if any(one.touches(since, now) or one.holds(now) for one in windows):
        return False
    return begins < since
