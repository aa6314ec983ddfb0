"""Corrected readings: what came first, what it is now known to have been, who said so and why."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from compliance.model.readings import Quality

MOST = 10_000
"""Readings corrected at once."""

QUALITIES = {
    "good": Quality.GOOD,
    "suspect": Quality.DECLARED_SUSPECT,
    "bad": Quality.DECLARED_BAD,
    "missing": Quality.MISSING_MARK,
}
"""How a corrected reading may be called, and what that means; a missing one has no value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """A reading as it came and as it is now known to have been; None: no value.

    version: how often it was corrected.
    """

    channel_id: int
    read_at: datetime
    version: int
    first: float | None
    first_quality: Quality
    value: float | None
    quality: Quality
    reason: str
    by: str
    at: datetime
