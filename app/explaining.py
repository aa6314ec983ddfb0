"""An explained finding as JSON: what a stranger needs to reach it again, and whether he would."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from app.release import RELEASE
from compliance.jobs.explain import Explained, Source
from compliance.judging.reproduce import Considered
from compliance.model.findings import Exceedance
from compliance.model.periods import from_us
from compliance.model.units import linear
from compliance.records.destructions import Destruction
from compliance.records.samples import StoredResult

_PAPERS = (
    "calibration", "commissioning", "register_map", "declared_windows", "determinations",
    "corrected_readings", "screening",
)  # fmt: skip


def document(of: Explained, *, asked: str) -> dict[str, Any]:
    """All that is known of a finding. Numbers are text, instants carry the offset of the city."""
    record = of.record
    zone = ZoneInfo(record.zone)
    return {
        "asked": asked,
        "finding": record.fact.id,
        "detection": record.detection,
        "state": record.state,
        "violation": record.violation,
        "withdrawn": _withdrawn(of, zone),
        "differs_since_decided": record.differs,
        "industrial_user": record.industrial_user,
        "city": record.city,
        "point": record.point,
        "rule": _rule(record.fact),
        "fact": fact(record.fact, zone),
        "considered": [_considered(one) for one in of.considered],
        "readings": _readings(of, of.source, zone) if of.source else None,
        "result": _result(of, of.result) if of.result else None,
        "evidence": dict(record.evidence),
        "working": list(record.fact.working),
        "release": {"judged_by": record.judged_by, "explained_by": RELEASE},
        "judged_at": _at(record.judged_at, zone),
        "recomputed": {
            "agrees": of.agrees,
            "why": of.why or None,
            "differs": [
                {"what": one.what, "kept": one.kept, "again": one.again} for one in of.differs
            ],
            "working": list(of.again.working) if of.again else [],
        },
        "destroyed": [_destroyed(one, zone) for one in of.destroyed],
    }


def _considered(one: Considered) -> dict[str, Any]:
    return {
        "rule": one.rule_id,
        "authority": one.authority,
        "limit": one.limit or None,
        "outcome": one.outcome,
        "citation": one.citation,
    }


def fact(of: Exceedance, zone: ZoneInfo) -> dict[str, Any]:
    """The numbers of a finding."""
    return {
        "kind": of.kind.value,
        "parameter": of.parameter.value,
        "side": of.side.value,
        "limit": of.limit,
        "worst": of.worst,
        "unit": of.unit.value,
        "worst_at": _at(of.worst_at, zone),
        "starts_at": _at(of.starts_at, zone),
        "ends_at": _at(of.ends_at, zone),
        "seconds": of.seconds,
        "seconds_beyond": of.seconds_beyond,
        "runs": of.runs,
        "readings": of.readings,
        "open_ended": of.open_ended,
        "review": of.review,
        "settled": of.settled,
    }


def papers(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """What the evidence holds of instrument, approval, calibrations, and of what people said."""
    return {name: evidence[name] for name in _PAPERS if evidence.get(name)}


def _rule(of: Exceedance) -> dict[str, Any]:
    return {
        "id": of.rule_id,
        "effective": of.effective.isoformat() if of.effective else None,
        "citation": of.citation,
        "says": of.says,
        "authority": of.authority.value,
    }


def _withdrawn(of: Explained, zone: ZoneInfo) -> dict[str, Any] | None:
    record = of.record
    if record.superseded_at is None:
        return None
    return {"at": _at(record.superseded_at, zone), "why": record.superseded_why}


def _readings(of: Explained, source: Source, zone: ZoneInfo) -> dict[str, Any]:
    record, evidence = of.record, of.record.evidence
    factor, offset = linear(source.channel.unit, record.fact.unit)
    return {
        "channel": evidence.get("channel"),
        "unit": source.channel.unit.value,
        "resolution": source.channel.resolution,
        "to_the_limits_unit": {"factor": str(factor), "offset": str(offset)},
        "in_force": [_at(one, zone) if one else None for one in source.in_force],
        "from": _at(from_us(source.span.since_us), zone),
        "to": _at(from_us(source.span.until_us), zone),
        "read": len(source.series),
        "judged": source.judged,
        "left_out": [
            {
                "reason": one.reason,
                "readings": one.readings,
                "first": _at(one.first, zone),
                "last": _at(one.last, zone),
            }
            for one in source.left_out
        ],
        "digest": {"kept": evidence.get("digest"), "now": source.digest},
    }


def _result(explained: Explained, of: StoredResult) -> dict[str, Any]:
    sample, result, zone = of.sample, of.result, ZoneInfo(explained.record.zone)
    factor, offset = linear(result.unit, explained.record.fact.unit)
    return {
        "sample": sample.label,
        "sample_type": sample.sample_type.value if sample.sample_type else None,
        "taken_by": sample.taken_by.value,
        "sampled_from": _when(sample.sampled_from, zone),
        "sampled_to": _when(sample.sampled_to, zone),
        "day": of.day.isoformat() if of.day else None,
        "laboratory": sample.laboratory,
        "parameter": result.parameter.value,
        "qualifier": result.qualifier,
        "value": result.written,
        "unit": result.unit.value,
        "to_the_limits_unit": {"factor": str(factor), "offset": str(offset)},
        "mdl": f"{result.mdl:f}" if result.mdl is not None else None,
        "rl": f"{result.rl:f}" if result.rl is not None else None,
        "method": result.method,
    }


def _destroyed(one: Destruction, zone: ZoneInfo) -> dict[str, Any]:
    return {
        "from": _at(one.span.start, zone),
        "to": _at(one.span.end, zone),
        "readings": one.rows,
        "sha256": one.sha256,
        "line": one.line,
        "citation": one.citation,
        "by": one.by,
        "at": _at(one.at, zone),
    }


def _when(at: datetime | date | None, zone: ZoneInfo) -> str | None:
    """An instant at the plant; a sample that has a date alone keeps it."""
    if isinstance(at, datetime):
        return _at(at, zone)
    return None if at is None else at.isoformat()


def _at(instant: datetime, zone: ZoneInfo) -> str:
    return instant.astimezone(zone).isoformat()
