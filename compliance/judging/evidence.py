"""Evidence: what a stranger needs, years later, to reach the same finding again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from compliance.model.calibrations import due_on, is_current
from compliance.model.findings import Exceedance
from compliance.model.periods import Window, day_of
from compliance.model.readings import UNJUDGED, Series
from compliance.model.windows import Declared

NOT_CURRENT = "screening: calibration not current"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """One calibration: each standard with what the instrument read before and after."""

    at: datetime
    by: str
    standards: tuple[tuple[str, str, str], ...]  # standard, before, after
    drift: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Commissioning:
    """The approval under which a continuous point counts for judgment."""

    method: str
    location: str
    frequency: str
    approved_by: str
    approved_on: date
    document: str
    calibration_days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MapRecord:
    """The register map that decoded the readings."""

    name: str
    sha256: str
    verify_on_site: tuple[str, ...]  # what the map leaves to be seen at the instrument
    confirmed_by: str | None
    confirmed_at: datetime | None
    counts_from: datetime | None = None  # when the point began to count
    how: str = ""  # by what comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What makes a continuous measurement count. zone: of the plant, whose days are printed."""

    commissioning: Commissioning | None = None
    calibration_before: Calibration | None = None
    calibration_after: Calibration | None = None
    zone: ZoneInfo = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Measured):
    """The records beside a fact.

    window: what was judged; readings, flagged: how many lie in it; declared: windows that people
    declared over it or next to it.
    """

    channel: str
    window: Window
    readings: int
    flagged: int
    digest: str
    worst_words: tuple[int, ...]  # the registers of the worst reading, as they came
    release: str
    register_map: MapRecord | None = None
    declared: tuple[Declared, ...] = ()


def flagged(series: Series) -> int:
    """How many readings could not be relied on."""
    return int(((series.quality & UNJUDGED) != 0).sum())


def standing(record: Measured, at: datetime) -> str:
    """Whether the instrument's calibration was current at an instant, in one sentence."""
    approval, last = record.commissioning, record.calibration_before
    if approval is None:
        return f"{NOT_CURRENT}: the point has no commissioning record"
    if last is None:
        return f"{NOT_CURRENT}: none is on record before it"
    days, done = approval.calibration_days, day_of(last.at, record.zone).isoformat()
    if not is_current(at, last.at, days=days, zone=record.zone):
        due = due_on(last.at, days, record.zone).isoformat()
        return f"{NOT_CURRENT}: last calibrated on {done}, due within {days} days, by {due}"
    return f"calibration current: {done} by {last.by}, good for {days} days"


def document(fact: Exceedance, record: Evidence) -> dict[str, Any]:
    """The evidence of a fact as JSON: the rule, what was read, by what, and how it was judged."""
    return {
        "limit_id": fact.rule_id,
        "effective": fact.effective.isoformat() if fact.effective else None,
        "citation": fact.citation,
        "says": fact.says,
        "authority": fact.authority.value,
        "limit": f"{fact.limit} {fact.unit.value}",
        "channel": record.channel,
        "window": {
            "from": record.window.start.isoformat(),
            "to": record.window.end.isoformat(),
        },
        "readings": record.readings,
        "flagged": record.flagged,
        "worst": {
            "value": f"{fact.worst} {fact.unit.value}",
            "at": fact.worst_at.isoformat(),
            "words": [f"0x{word:04X}" for word in record.worst_words],
        },
        "working": list(fact.working),
        "calibration": calibration(record, fact.starts_at),
        "declared_windows": [_declared(one, record.zone) for one in record.declared],
        "commissioning": _commissioning(record.commissioning),
        "register_map": _map(record.register_map),
        "digest": record.digest,
        "release": record.release,
    }


def calibration(record: Measured, at: datetime) -> dict[str, Any]:
    """What the evidence says of the calibrations around a fact that begins at an instant."""
    return {
        "standing": standing(record, at),
        "before": _calibration(record.calibration_before),
        "after": _calibration(record.calibration_after),
    }


def _declared(one: Declared, zone: ZoneInfo) -> dict[str, Any]:
    return {
        "number": one.number,
        "kind": one.kind.value,
        "from": one.since.astimezone(zone).isoformat(),
        "to": one.until.astimezone(zone).isoformat() if one.until else None,
        "reason": one.reason,
        "declared_by": one.declared_by,
        "declared_at": one.declared_at.astimezone(zone).isoformat(),
        "says": one.when_declared,
    }


def _calibration(record: Calibration | None) -> dict[str, Any] | None:
    if record is None:
        return None
    return {
        "at": record.at.isoformat(),
        "by": record.by,
        "standards": [
            {"standard": standard, "before": before, "after": after}
            for standard, before, after in record.standards
        ],
        "drift": record.drift,
    }


def _commissioning(record: Commissioning | None) -> dict[str, Any] | None:
    if record is None:
        return None
    return {
        "method": record.method,
        "location": record.location,
        "frequency": record.frequency,
        "approved_by": record.approved_by,
        "approved_on": record.approved_on.isoformat(),
        "document": record.document,
        "calibration_days": record.calibration_days,
    }


def _map(record: MapRecord | None) -> dict[str, Any] | None:
    if record is None:
        return None
    return {
        "name": record.name,
        "sha256": record.sha256,
        "verify_on_site": list(record.verify_on_site),
        "confirmed_by": record.confirmed_by,
        "confirmed_at": record.confirmed_at.isoformat() if record.confirmed_at else None,
        "confirmed_how": record.how,
        "counts_from": record.counts_from.isoformat() if record.counts_from else None,
    }
