"""Limits: what a bound is judged on."""

from __future__ import annotations

from enum import StrEnum


class Basis(StrEnum):
    """What a limit is judged on; touching it complies on each."""

    INSTANTANEOUS = "instantaneous"  # each reading, each result
    DAILY_MAX = "daily_max"  # each result of a day, or the day's value
    DAILY_SUSTAINED_MIN = "daily_sustained_min"  # below it for longer than some seconds of a day
    AVERAGE_4_DAYS = "average_4_days"  # four consecutive monitoring days
    AVERAGE_30_DAYS = "average_30_days"  # thirty consecutive days
    MONTHLY_AVG = "monthly_avg"  # a calendar month
    MASS_DAY = "mass_day"
    MASS_MONTH = "mass_month"
    FLOW_MAX = "flow_max"  # each reading of flow
    PLANT_INFLUENT = "plant_influent"  # at the treatment plant, never at a user's point


AVERAGES = frozenset({Basis.AVERAGE_4_DAYS, Basis.AVERAGE_30_DAYS, Basis.MONTHLY_AVG})
"""Judged on means; pH and temperature have none."""
MASSES = frozenset({Basis.MASS_DAY, Basis.MASS_MONTH})
"""Judged on pounds."""
ON_READINGS = frozenset({Basis.INSTANTANEOUS, Basis.FLOW_MAX})
"""Judged reading by reading."""
SINGLY = frozenset({*ON_READINGS, Basis.DAILY_MAX})
"""Judged on single numbers, readings or results; all others need a day or more of them."""
