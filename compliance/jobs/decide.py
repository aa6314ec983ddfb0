"""A person decides a detection: opens a violation, explains it, or waits. One transaction each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Engine, RowMapping

from compliance.enforcing.decisions import Decision, check, violation_number
from compliance.jobs.approved import approval_of, must_say_so
from compliance.model.control import ApprovalOnFile
from compliance.model.sites import Viewer
from compliance.records import audit, findings, outbox


def open_violation(  # noqa: PLR0913 - what an opening is
    engine: Engine,
    *,
    detection_id: int,
    viewer: Viewer,
    reason: str,
    capacity: str,
    now: datetime,
    despite_approval: bool = False,
) -> str:
    """Open a violation from a detection; its number.

    capacity: the office in which the viewer acts. despite_approval: the viewer says that it is
    opened although a Director approved the exceedance; the record says so too.

    Raises: NotFound, Refused.
    """
    with engine.begin() as db:
        found = findings.locked_detection(db, detection_id)
        check(
            Decision.OPEN,
            state=found["state"],
            withdrawn=found["superseded_why"],
            viewer=viewer,
            reason=reason,
            city_id=found["city_id"],
        )
        approval = _approval(db, found)
        must_say_so(approval, despite=despite_approval)
        why = reason.strip() + (f" (Opened although {approval.said}.)" if approval else "")
        year = now.astimezone(ZoneInfo(found["zone"])).year
        number = violation_number(year, findings.next_serial(db, year))
        findings.add_violation(
            db,
            industrial_user_id=found["industrial_user_id"],
            detection_id=detection_id,
            number=number,
            state="opened",
            reason=why,
            opened_by=viewer.person_id,
            capacity=capacity,
            opened_at=now,
        )
        findings.set_state(db, detection_id, Decision.OPEN)
        opened = _Opened(number=number, capacity=capacity, reason=why, at=now)
        _tell_of(db, opened, found, viewer)
    return number


def _approval(db: Connection, found: RowMapping) -> ApprovalOnFile | None:
    """The approval that covers the exceedance of a detection."""
    return approval_of(
        db,
        user_id=found["industrial_user_id"],
        rule_id=found["rule_id"],
        side=found["side"],
        worst=found["worst"],
        starts_at=found["starts_at"],
        ends_at=found["ends_at"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """A violation as it was opened."""

    number: str
    capacity: str
    reason: str
    at: datetime


def _tell_of(db: Connection, opened: _Opened, found: RowMapping, viewer: Viewer) -> None:
    """Write down who opened a violation, and let receivers know."""
    number, detection_id = opened.number, found["id"]
    findings.record_act(
        db,
        person_id=viewer.person_id,
        subject=f"detection:{detection_id}",
        verb=Decision.OPEN,
        reason=opened.reason,
        detail={"violation": number, "capacity": opened.capacity},
    )
    told = {
        "violation": number,
        "detection": detection_id,
        "point": found["point"],
        "rule": found["rule_id"],
        "opened_at": opened.at.isoformat(),
        "link": f"/violations/{number}",
    }
    outbox.put(db, "violation.opened", told, city_id=found["city_id"])
    detail = {
        "person": viewer.person_id,
        "capacity": opened.capacity,
        "detection": detection_id,
        "reason": opened.reason,
    }
    audit.note(
        db, by=viewer.name, act="open a violation", subject=f"violation {number}", detail=detail
    )


def decide(
    engine: Engine,
    *,
    decision: Decision,
    detection_id: int,
    viewer: Viewer,
    reason: str,
    now: datetime,
) -> None:
    """Explain a detection (no violation), or let it wait.

    Raises: NotFound, Refused.
    """
    with engine.begin() as db:
        found = findings.locked_detection(db, detection_id)
        check(
            decision,
            state=found["state"],
            withdrawn=found["superseded_why"],
            viewer=viewer,
            reason=reason,
            city_id=found["city_id"],
        )
        findings.set_state(db, detection_id, decision)
        findings.record_act(
            db,
            person_id=viewer.person_id,
            subject=f"detection:{detection_id}",
            verb=decision,
            reason=reason.strip(),
        )
        outbox.put(
            db,
            "violation.decided",
            {
                "detection": detection_id,
                "point": found["point"],
                "rule": found["rule_id"],
                "decision": decision.value,
                "decided_at": now.isoformat(),
                "link": f"/detections/{detection_id}",
            },
            city_id=found["city_id"],
        )
        audit.note(
            db,
            by=viewer.name,
            act=f"decide a detection: {decision.value}",
            subject=f"detection {detection_id}",
            detail={"person": viewer.person_id, "reason": reason.strip()},
        )
