"""A calibration is recorded, and the evidence that it bears on says so: one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, Engine

from compliance.jobs import proof
from compliance.model.calibrations import Standard, drift, nearest
from compliance.model.periods import Window
from compliance.records import audit, calibrations, dirt, findings, sites


def record(  # noqa: PLR0913 - what a calibration is
    engine: Engine,
    channel_id: int,
    *,
    at: datetime,
    by: str,
    standards: Sequence[Standard],
    recorded_by: str,
) -> int:
    """Write a calibration down; how many findings read otherwise for it.

    by: who calibrated; recorded_by: who says so. The same sheet sent again is the same calibration.
    """
    off = drift(standards)
    with engine.begin() as db:
        dirt.lock(db, [channel_id])
        on_record = calibrations.of(db, [channel_id])
        if any((one.at, one.by, one.standards) == (at, by, tuple(standards)) for one in on_record):
            return 0
        known = [one.at for one in on_record if one.at != at]
        calibrations.add(db, channel_id, at=at, by=by, standards=standards, drift=off)
        before, after = nearest(known, at)
        amended = _amend(db, channel_id, since=before, until=after)
        detail = {"at": at, "by": by, "drift": off, "findings": amended}
        subject = f"channel:{channel_id}"
        audit.note(db, by=recorded_by, act="record calibration", subject=subject, detail=detail)
    return amended


def _amend(
    db: Connection, channel_id: int, *, since: datetime | None, until: datetime | None
) -> int:
    """Bring the evidence of the facts between two calibrations up to date."""
    papers, place = sites.papers(db, channel_id), sites.places(db)[channel_id]
    amended = 0
    for fact in findings.on_channel(db, channel_id, since=since, until=until):
        over = Window(start=fact.starts_at, end=fact.ends_at)
        now = proof.of_calibration(papers, over=over, zone=place.zone)
        was = fact.evidence.get("calibration") or {}
        if now != was:
            differs = now["standing"] != was.get("standing")
            why = "a calibration was recorded afterwards"
            findings.amend_evidence(db, fact, {"calibration": now}, why=why, differs=differs)
            amended += 1
    return amended
