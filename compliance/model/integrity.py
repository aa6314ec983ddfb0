"""What a detector saw: worded as seen, listed for a person, never a finding and never an event."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum


class Look(StrEnum):
    """Which detector."""

    PLATEAU = "plateau"
    OUTAGES = "outages"
    WATER = "water"
    SPLITS = "splits"
    LOW_DAYS = "low_days"
    IDENTICAL = "identical"
    EDITS = "edits"
    CALIBRATION = "calibration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Something worth a second look. since, until: instants, or civil days; saw: what was seen."""

    look: Look
    since: datetime | date
    until: datetime | date
    saw: str
