"""Papers are entered: kept by version, and what they bear on is judged anew. One transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum

from sqlalchemy import Connection, Engine

from compliance.enforcing.decisions import SHORTEST_REASON
from compliance.errors import InputError, UnknownRule
from compliance.jobs import receive, reruled
from compliance.jobs.control_document import Papers
from compliance.jobs.determine import Paper
from compliance.model.control import Approval, Control, Document
from compliance.records import audit, control
from compliance.rules import book
from compliance.rules.control import CALLED, check, check_approval, is_control
from compliance.rules.schema import Rule


class Became(StrEnum):
    """What became of a paper that was entered."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "as before"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """A paper that was entered, as people know it; marked: channels to be judged anew."""

    what: str
    user: str
    became: Became
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What entering papers did. marked: channels, results: those judged anew."""

    entered: tuple[Entered, ...]
    marked: int = 0
    results: int = 0


def enter(
    engine: Engine,
    papers: Papers,
    *,
    by: str,
    now: datetime,
    release: str,
    file: Paper | None = None,
) -> Report:
    """Write papers down, all of them or none; the same again changes nothing.

    by: name and office, for the record; file: the paper itself, kept with each.
    Raises: InputError for what cannot be; NotFound for a user that is not here.
    """
    with engine.begin() as db:
        control.lock(db)
        reruled.look(db, release=release, now=now)  # what held before is written down
        entered = [_enter(db, one, by=by, file=file) for one in papers.controls]
        entered += [_approve(db, one, by=by, file=file) for one in papers.approvals]
        if all(one.became is Became.SAME for one in entered):
            return Report(entered=tuple(entered))
        marked = reruled.look(db, release=release, now=now)
        results = _judge_results(db, papers.controls, now=now, release=release)
        report = Report(entered=tuple(entered), marked=marked, results=results)
        _note(db, report, by=by)
    return report


def _enter(db: Connection, given: Control, *, by: str, file: Paper | None) -> Entered:
    found = _with_file(given, file)
    check(found)
    user_id, city_id, _, points = control.user(db, found.user)
    _check_points(found, points)
    earlier = control.versions(db, city_id=city_id, kind=found.kind, key=found.key)
    name = f"{CALLED[found.kind]} {found.number}"
    if earlier and earlier[0].user_id != user_id:
        raise InputError(
            f"{name} is another user's already ({earlier[0].control.user}); expected a number of "
            "its own: check number and user"
        )
    version = len(earlier) + 1
    if earlier and earlier[-1].control == found:
        return Entered(what=name, user=found.user, became=Became.SAME, version=version - 1)
    control.put(
        db,
        found,
        city_id=city_id,
        user_id=user_id,
        version=version,
        by=by,
        file=file.content if file else None,
    )
    became = Became.CHANGED if earlier else Became.NEW
    return Entered(what=name, user=found.user, became=became, version=version)


def _with_file(given: Control, file: Paper | None) -> Control:
    if file is None:
        return given
    return replace(given, document=Document(name=file.name, sha256=file.sha256))


def _check_points(found: Control, points: Sequence[str]) -> None:
    named = [one.point for one in found.limits] + [one.point for one in found.sampling]
    for point in named:
        if point is not None and point not in points:
            raise InputError(
                f"{CALLED[found.kind]} {found.number}: point {point!r} is not one of "
                f"{found.user}'s; expected one of {', '.join(points) or 'none'}, or none for all"
            )


def _approve(db: Connection, given: Approval, *, by: str, file: Paper | None) -> Entered:
    document = Document(name=file.name, sha256=file.sha256) if file else given.document
    approval = replace(given, document=document)
    user_id, _, rulebooks, _ = control.user(db, approval.user)
    check_approval(approval, rule_for(approval, rulebooks))
    if len(approval.reason) < SHORTEST_REASON:
        raise InputError(f"write at least {SHORTEST_REASON} characters of reason: it is read later")
    number, is_new = control.put_approval(
        db, approval, user_id=user_id, by=by, file=file.content if file else None
    )
    return Entered(
        what=f"approval {number} ({approval.rule_id})",
        user=approval.user,
        became=Became.NEW if is_new else Became.SAME,
        version=1,
    )


def rule_for(approval: Approval, rulebooks: Sequence[str]) -> Rule:
    """The rule of the user's city that an approval names. Raises: InputError."""
    name, known = approval.rule_id.split(".", maxsplit=1)[0], ", ".join(rulebooks)
    if is_control(approval.rule_id):
        raise InputError(
            f"approval of {approval.rule_id} for {approval.user}: no approval lifts a limit of a "
            f"permit, order or agreement; expected a rule of {known}"
        )
    try:
        if name in rulebooks:
            return book.find(approval.rule_id)[1]
    except UnknownRule:
        pass
    raise InputError(
        f"approval of {approval.rule_id} for {approval.user}: no rulebook that binds there has "
        f"this rule; expected one of {known}"
    )


def withdraw(engine: Engine, number: int, *, on: date, by: str, why: str) -> None:
    """Let an approval lift nothing from a day on; it stays on record. Raises: InputError."""
    if len(why.strip()) < SHORTEST_REASON:
        raise InputError(f"write at least {SHORTEST_REASON} characters: it is read at a hearing")
    with engine.begin() as db:
        control.withdraw_approval(db, number, on=on, by=by, why=why.strip())
        detail = {"on": on, "why": why.strip()}
        audit.note(
            db, by=by, act="withdraw an approval", subject=f"approval:{number}", detail=detail
        )


def _judge_results(
    db: Connection, controls: Sequence[Control], *, now: datetime, release: str
) -> int:
    """Judge stored results of the users anew under their papers; how many were looked at."""
    users = sorted({one.user for one in controls})
    return sum(
        receive.judge_again(db, control.user(db, slug)[0], now=now, release=release)
        for slug in users
    )


def _note(db: Connection, report: Report, *, by: str) -> None:
    told = [one for one in report.entered if one.became is not Became.SAME]
    detail = {
        "papers": [f"{one.what}, version {one.version}, of {one.user}" for one in told],
        "channels_marked": report.marked,
        "results_judged": report.results,
    }
    audit.note(db, by=by, act="enter papers that bind", subject=told[0].what, detail=detail)
