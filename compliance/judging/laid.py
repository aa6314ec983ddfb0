"""What was laid over the readings of a finding, as its evidence prints it."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from compliance.model.corrections import Corrected
from compliance.model.determinations import OnRecord
from compliance.model.flags import Listed
from compliance.model.periods import from_us
from compliance.model.readings import grade

MOST = 200
"""Of each so many are printed; how many more there are is said."""


def laid(
    corrected: Sequence[Corrected],
    determined: Sequence[OnRecord],
    flagged: Sequence[Listed],
    *,
    zone: ZoneInfo,
) -> dict[str, Any]:
    """Corrections, determinations and flags over a finding's readings, as JSON; none: empty lists.

    Values stand in the channel's own unit, as decimals; null where there is none.
    """
    return {
        "corrected_readings": [_corrected(one, zone) for one in corrected[:MOST]],
        "corrected_in_all": len(corrected),
        "determinations": [_determined(one, zone) for one in determined[:MOST]],
        "screening": [_flagged(one, zone) for one in flagged[:MOST]],
    }


def _corrected(one: Corrected, zone: ZoneInfo) -> dict[str, Any]:
    return {
        "at": one.read_at.astimezone(zone).isoformat(),
        "first": _number(one.first),
        "first_quality": grade(one.first_quality).value,
        "value": _number(one.value),
        "quality": grade(one.quality).value,
        "version": one.version,
        "reason": one.reason,
        "by": one.by,
        "corrected_at": one.at.astimezone(zone).isoformat(),
    }


def _determined(one: OnRecord, zone: ZoneInfo) -> dict[str, Any]:
    return {
        "number": one.number,
        "verdict": one.verdict.value,
        "from": one.since.astimezone(zone).isoformat(),
        "to": one.until.astimezone(zone).isoformat(),
        "reason": one.reason,
        "by": one.by,
        "at": one.at.astimezone(zone).isoformat(),
        "evidence_sha256": one.evidence_sha256,
    }


def _flagged(one: Listed, zone: ZoneInfo) -> dict[str, Any]:
    return {
        "from": from_us(one.span.since_us).astimezone(zone).isoformat(),
        "to": from_us(one.span.until_us).astimezone(zone).isoformat(),
        "flag": int(one.span.flag),
        "says": one.says,
        "readings": one.span.readings,
        "ruleset": one.ruleset,
    }


def _number(value: float | None) -> str | None:
    return None if value is None else f"{Decimal(repr(value)):f}"
