"""Findings: measured facts outside a limit, with what a stranger needs to reach them again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from compliance.model.parameters import Parameter
from compliance.model.units import Unit


class Kind(StrEnum):
    """What sort of finding."""

    EXCEEDANCE = "exceedance"
    POSSIBLE_SLUG = "possible_slug"
    AVERAGE = "average"
    MASS = "mass"


class Side(StrEnum):
    """On which side of the limit."""

    BELOW = "below"
    ABOVE = "above"


class Authority(StrEnum):
    """Who set a number."""

    ORDINANCE = "ordinance"
    FEDERAL = "federal"
    STATE = "state"
    DIRECTOR = "director"
    PERMIT = "permit"
    AGREEMENT = "agreement"
    PROGRAM = "program"


@dataclass(frozen=True, slots=True, kw_only=True)
class Excursion:
    """A run of judged readings beyond one side of a limit, as numbers; instants in microseconds.

    It starts at its first reading beyond and ends at the first that complies again. ``open_ended``:
    ended by silence or by the end of the series. ``settled``: no later reading can lengthen it.
    """

    side: Side
    starts_us: int
    ends_us: int
    beyond_us: int  # of these, outside the limit: joined complying time left out
    runs: int
    readings: int  # those beyond
    worst: float
    worst_us: int
    open_ended: bool
    review: bool  # rests on a suspect reading
    settled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Exceedance:
    """A fact outside a limit under one version of one rule; numbers are text, as people read."""

    id: str
    rule_id: str
    effective: date | None  # which version of the rule
    kind: Kind
    parameter: Parameter
    unit: Unit
    side: Side
    starts_at: datetime
    ends_at: datetime
    seconds: int
    seconds_beyond: int
    runs: int
    worst: str
    worst_at: datetime
    limit: str
    readings: int
    open_ended: bool
    review: bool
    settled: bool
    citation: str
    says: str
    authority: Authority
    working: tuple[str, ...] = ()


def finding_id(*parts: object) -> str:
    """A stable id: the same rule, version, channel or result, side and start give the same id."""
    return hashlib.sha256("|".join(str(part) for part in parts).encode()).hexdigest()[:24]
