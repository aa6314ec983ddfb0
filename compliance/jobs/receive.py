"""A laboratory file is received: kept, its results stored and judged, told of. One transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Engine

from compliance.errors import InputError, Refused
from compliance.jobs import averages, facts, stack
from compliance.judging.results import Verdict, judge_result
from compliance.model.control import ControlKind
from compliance.model.periods import Window, local_day
from compliance.model.samples import Result, Sample
from compliance.model.sites import Viewer
from compliance.records import audit, findings, outbox, samples
from compliance.records.samples import MeasuredDay, Owner, StoredResult
from compliance.rules.control import is_control
from compliance.sampling.sheets import Accepted, LabReport
from compliance.sampling.takings import civil_day

_ALWAYS = Window(start=datetime.min.replace(tzinfo=UTC), end=datetime.max.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What one limit says of one row. exceedance_id, detection_id: where it exceeds."""

    row: int
    rule_id: str
    outcome: str
    reason: str
    exceedance_id: str | None = None
    detection_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of a file; the same bytes give the same receipt. held: accepted, not stored."""

    upload_id: int
    filename: str
    sha256: str
    received_at: datetime
    rows: int
    stored: int
    held: tuple[str, ...]
    rejected: tuple[str, ...]
    warnings: tuple[str, ...]
    judged: tuple[Judged, ...]
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A stored result, ready to be judged."""

    row: int
    result_id: int
    point_id: int
    point: str
    sample: Sample
    result: Result
    day: date


def receive(  # noqa: PLR0913 - what an upload brings
    engine: Engine,
    report: LabReport,
    content: bytes,
    *,
    filename: str,
    industrial_user_id: int,
    viewer: Viewer | None,
    now: datetime,
    release: str,
) -> Receipt:
    """Keep a file and its results, judge them, raise detections and tell of it: all or nothing.

    report: what ``sampling.results.read`` found in the content. viewer: who sends it; None is the
    program. release: the software that judges.
    Raises: Refused for another's user; NotFound.
    """
    with engine.begin() as db:
        owner = samples.owner(db, industrial_user_id)
        _must_be_theirs(viewer, owner)
        upload = samples.put_upload(
            db,
            industrial_user_id=owner.id,
            person_id=viewer.person_id if viewer else None,
            filename=filename,
            content=content,
            now=now,
        )
        kept, held = _store(db, report, owner, upload_id=upload.id)
        judged = tuple(
            one for result in kept for one in _judge(db, result, owner, now=now, release=release)
        )
        averages.judge(db, [_measured(one, owner) for one in kept], now=now, release=release)
        if upload.is_new:
            _tell(db, owner, upload_id=upload.id, report=report, stored=len(kept), now=now)
            _note(db, viewer, owner, upload, stored=len(kept))
    return Receipt(
        upload_id=upload.id,
        filename=upload.filename,
        sha256=upload.sha256,
        received_at=upload.received_at,
        rows=report.rows,
        stored=len(kept),
        held=tuple(held),
        rejected=tuple(str(fault) for fault in report.rejected),
        warnings=report.warnings,
        judged=judged,
        is_new=upload.is_new,
    )


def _measured(kept: _Kept, owner: Owner) -> MeasuredDay:
    return MeasuredDay(
        industrial_user_id=owner.id,
        point_id=kept.point_id,
        point=kept.point,
        parameter=kept.result.parameter,
        day=kept.day,
    )


def _must_be_theirs(viewer: Viewer | None, owner: Owner) -> None:
    if viewer is None:
        return
    if viewer.industrial_user_id not in (None, owner.id) or viewer.city_id not in (
        None,
        owner.city_id,
    ):
        raise Refused("results may be sent for one's own monitoring points only")


def _store(
    db: Connection, report: LabReport, owner: Owner, *, upload_id: int
) -> tuple[list[_Kept], list[str]]:
    """Results that could be stored, and why others could not."""
    points, zone = samples.points(db, owner.id), ZoneInfo(owner.zone)
    kept: list[_Kept] = []
    held: list[str] = []
    for one in report.accepted:
        try:
            kept.append(_store_one(db, one, points=points, zone=zone, upload_id=upload_id))
        except InputError as error:
            held.append(f"row {one.row}: {error}")
    return kept, held


def _store_one(
    db: Connection,
    one: Accepted,
    *,
    points: Mapping[str, int],
    zone: ZoneInfo,
    upload_id: int,
) -> _Kept:
    point = _point(one.sample, points)
    day = civil_day(one.sample, zone)
    sample_id = samples.put_sample(
        db,
        one.sample,
        point_id=points[point],
        span=_span(one.sample, zone),
        day=day,
        upload_id=upload_id,
    )
    result_id, other = samples.put_result(db, one.result, sample_id=sample_id)
    if other is not None:
        raise InputError(
            f"sample {one.sample.label} has {one.result.parameter.value} {other} already; expected "
            "the same: a corrected report is entered as a correction, with its reason"
        )
    return _Kept(
        row=one.row,
        result_id=result_id,
        point_id=points[point],
        point=point,
        sample=one.sample,
        result=one.result,
        day=day,
    )


def _point(sample: Sample, points: Mapping[str, int]) -> str:
    if sample.point in points:
        return str(sample.point)
    if sample.point is None and len(points) == 1:
        return next(iter(points))
    raise InputError(
        f"point {sample.point!r} is not one of this user's; expected one of "
        f"{', '.join(points) or 'none'}: correct the point"
    )


def _span(sample: Sample, zone: ZoneInfo) -> Window:
    """The instants of a sample; of a date alone, that whole day."""
    return Window(
        start=_edge(sample.sampled_from, zone, last=False),
        end=_edge(sample.sampled_to, zone, last=True),
    )


def _edge(at: datetime | date | None, zone: ZoneInfo, *, last: bool) -> datetime:
    if isinstance(at, datetime):
        return at
    if at is None:
        raise InputError("the sample has no date; expected when it was taken")
    day = local_day(at, zone)
    return day.end if last else day.start


def judge_again(db: Connection, industrial_user_id: int, *, now: datetime, release: str) -> int:
    """Judge the stored results of a user under the papers that bind it now; how many there are.

    What its papers found in them before and do not find now is withdrawn, and stays in the record.
    """
    owner = samples.owner(db, industrial_user_id)
    standing = set(findings.on_results(db, owner.id, heads=[kind.value for kind in ControlKind]))
    stored = samples.in_window(db, owner.id, _ALWAYS)
    judged = [
        one
        for found in stored
        for one in _judge(db, _kept(found, owner), owner, now=now, release=release, only=is_control)
    ]
    gone = standing - {one.exceedance_id for one in judged if one.exceedance_id}
    findings.withdraw(db, sorted(gone), why="the paper it rested on says otherwise now", at=now)
    averages.judge_user(db, owner.id, now=now, release=release)
    return len(stored)


def _kept(found: StoredResult, owner: Owner) -> _Kept:
    """A stored result as it was when it was received: instants at the plant."""
    zone = ZoneInfo(owner.zone)
    sample = replace(
        found.sample,
        sampled_from=_there(found.sample.sampled_from, zone),
        sampled_to=_there(found.sample.sampled_to, zone),
    )
    return _Kept(
        row=found.result.row or 0,
        result_id=found.id,
        point_id=found.point_id,
        point=str(sample.point),
        sample=sample,
        result=found.result,
        day=found.day or civil_day(sample, zone),
    )


def _there(at: datetime | date | None, zone: ZoneInfo) -> datetime | date | None:
    return at.astimezone(zone) if isinstance(at, datetime) else at


def _judge(  # noqa: PLR0913 - what judging depends on
    db: Connection,
    kept: _Kept,
    owner: Owner,
    *,
    now: datetime,
    release: str,
    only: Callable[[str], bool] | None = None,
) -> Iterator[Judged]:
    """Judge a result under all that binds, or under the rules whose id ``only`` takes."""
    bound = stack.of(db).on_result(owner.rulebooks, owner.id, kept.point, kept.result)
    for rule, version in stack.on_day(bound, kept.day):
        if only is not None and not only(rule.id):
            continue
        verdict = judge_result(
            rule,
            version,
            kept.result,
            sample=kept.sample,
            result_key=f"{kept.point}|{kept.sample.label}|{kept.sample.sampled_to}",
            zone=ZoneInfo(owner.zone),
        )
        yield Judged(
            row=kept.row,
            rule_id=rule.id,
            outcome=verdict.outcome.value,
            reason=verdict.reason,
            exceedance_id=verdict.exceedance.id if verdict.exceedance else None,
            detection_id=_raise(db, kept, verdict, owner=owner, now=now, release=release),
        )


def _raise(
    db: Connection, kept: _Kept, verdict: Verdict, *, owner: Owner, now: datetime, release: str
) -> int | None:
    """Store the fact of a result outside a limit as any other; its detection's id."""
    if verdict.exceedance is None:
        return None
    facts.store(
        facts.Sieve(db, now=now, release=release),
        verdict.exceedance,
        facts.Where(
            point_id=kept.point_id,
            point=kept.point,
            industrial_user_id=owner.id,
            city_id=owner.city_id,
            result_id=kept.result_id,
        ),
        partial(_evidence, db, kept, verdict, owner=owner, release=release),
    )
    return samples.detection_of(db, verdict.exceedance.id)


def _evidence(
    db: Connection, kept: _Kept, verdict: Verdict, *, owner: Owner, release: str
) -> dict[str, Any]:
    """What a stranger needs to judge the same result again."""
    sample, result, fact = kept.sample, kept.result, verdict.exceedance
    bound = stack.of(db).on_result(owner.rulebooks, owner.id, kept.point, result)
    taken = sample.sampled_to
    return {
        "limit": fact.rule_id if fact else None,
        "effective": fact.effective.isoformat() if fact and fact.effective else None,
        "citation": fact.citation if fact else None,
        "says": fact.says if fact else None,
        "point": kept.point,
        "sample": sample.label,
        "sample_type": sample.sample_type.value if sample.sample_type else None,
        "taken_by": sample.taken_by.value,
        "taken": taken.isoformat() if taken else None,
        "day": kept.day.isoformat(),
        "laboratory": sample.laboratory,
        "result": f"{result.qualifier}{result.written}",
        "value": f"{result.value:f} {result.unit.value}",
        "mdl": f"{result.mdl:f}" if result.mdl is not None else None,
        "rl": f"{result.rl:f}" if result.rl is not None else None,
        "method": result.method,
        "row": kept.row,
        "working": [verdict.reason],
        "stack": stack.considered(bound, kept.day),
        "release": release,
    }


def _note(
    db: Connection, viewer: Viewer | None, owner: Owner, upload: samples.Upload, *, stored: int
) -> None:
    audit.note(
        db,
        by=viewer.name if viewer else "the program",
        act="send laboratory results",
        subject=f"upload {upload.id}",
        detail={
            "person": viewer.person_id if viewer else None,
            "industrial_user": owner.slug,
            "file": upload.filename,
            "file_sha256": upload.sha256,
            "stored": stored,
        },
    )


def _tell(
    db: Connection, owner: Owner, *, upload_id: int, report: LabReport, stored: int, now: datetime
) -> None:
    outbox.put(
        db,
        "results.received",
        {
            "upload_id": upload_id,
            "industrial_user": owner.slug,
            "rows": report.rows,
            "stored": stored,
            "rejected": len(report.rejected),
        },
        owner.city_id,
        at=now,
    )
