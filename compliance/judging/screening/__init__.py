"""Screening: what looks wrong about a channel's readings, said as QARTOD's flags with reasons.

Nothing here removes a reading from judging: a slug load looks just like a spike. A reading flagged
here is judged, and what rests on it is marked for review. ``screen`` makes all tests in one pass
over blocks, so that years need no more memory than a day.
"""

from __future__ import annotations

from compliance.judging.screening.passes import Settings, screen
from compliance.judging.screening.single import (
    climatology,
    gross_range,
    rate_of_change,
    spike,
    time_gap,
)
from compliance.judging.screening.windows import attenuated, flat_line

__all__ = [
    "Settings",
    "attenuated",
    "climatology",
    "flat_line",
    "gross_range",
    "rate_of_change",
    "screen",
    "spike",
    "time_gap",
]
