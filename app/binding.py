"""What binds a user, as pages and machines are told it: every source with its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from compliance.errors import NotFound
from compliance.jobs import stack
from compliance.jobs.approved import approval_of
from compliance.jobs.stack import Stack
from compliance.model.control import ApprovalOnFile, ControlKind, OnFile
from compliance.model.parameters import Parameter
from compliance.model.periods import day_of
from compliance.records import control, places, samples
from compliance.records.casefile import Case
from compliance.records.places import User
from compliance.records.scope import Scope
from compliance.rules.schema import Judge, LimitRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One limit at a point: its rule, and how it stands on a day.

    stands: as evidence keeps it; judged_by: in words, where it is not the program.
    """

    rule: LimitRule
    stands: dict[str, Any]
    judged_by: str

    @property
    def numbers(self) -> str:
        """Its bounds as people read them; empty where no version is in force."""
        low, high = self.stands["at_least"], self.stands["at_most"]
        if low is not None and high is not None:
            return f"{low} to {high}"
        return f"at least {low}" if low is not None else f"at most {high}" if high else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtPoint:
    """The sources of each parameter at one point."""

    point: str
    parameters: dict[Parameter, tuple[Source, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Binds:
    """What binds a user on a day. papers: every version, the newest of each paper first."""

    user: User
    zone: str
    day: date
    rulebooks: tuple[str, ...]
    points: tuple[AtPoint, ...]
    papers: tuple[OnFile, ...]
    approvals: tuple[ApprovalOnFile, ...]

    @property
    def permit(self) -> OnFile | None:
        """The permit in force; None where there is none."""
        for one in self.papers:
            if one.control.kind is ControlKind.PERMIT and is_in_force(one, self.day):
                return one
        return None


def is_in_force(one: OnFile, day: date) -> bool:
    """Whether a version's own days hold a day, whatever later versions say."""
    begin, end = one.control.effective, one.control.ended
    return begin <= day and (end is None or day < end)


def user_of(db: Connection, scope: Scope, slug: str) -> User:
    """A user by its name in addresses. Raises: NotFound."""
    for one in places.users(db, scope):
        if one.slug == slug:
            return one
    raise NotFound(f"There is no industrial user {slug} here.")


def binds(db: Connection, scope: Scope, user: User, *, at: datetime) -> Binds:
    """Everything that binds a user at an instant."""
    owner = samples.owner(db, user.id)
    day, bound = day_of(at, ZoneInfo(owner.zone)), stack.of(db)
    return Binds(
        user=user,
        zone=owner.zone,
        day=day,
        rulebooks=owner.rulebooks,
        points=tuple(
            _at_point(bound, owner, code, day=day) for code in samples.points(db, user.id)
        ),
        papers=tuple(
            sorted(
                control.of_users(db, scope, user_id=user.id),
                key=lambda one: (
                    list(ControlKind).index(one.control.kind),
                    one.control.key,
                    -one.version,
                ),
            )
        ),
        approvals=control.approvals(db, user.id),
    )


def _order(one: OnFile) -> tuple[int, str, int]:
    """Permits first; of each paper the newest version first."""
    return list(ControlKind).index(one.control.kind), one.control.key, -one.version


def _at_point(bound: Stack, owner: samples.Owner, code: str, *, day: date) -> AtPoint:
    found: dict[Parameter, tuple[Source, ...]] = {}
    for parameter in Parameter:
        rules = bound.on_parameter(owner.rulebooks, owner.id, code, parameter)
        if rules:
            told = stack.considered(rules, day)
            found[parameter] = tuple(
                Source(rule=rule, stands=stands, judged_by=_judged_by(rule))
                for rule, stands in zip(rules, told, strict=True)
            )
    return AtPoint(point=code, parameters=found)


def _judged_by(rule: LimitRule) -> str:
    if rule.judged_by is Judge.PROGRAM:
        return ""
    who = "a person judges it" if rule.judged_by is Judge.PERSON else "nobody judges it yet"
    return f"{who}: {rule.reason}"


def others_that_bind(db: Connection, case: Case) -> dict[str, Any]:
    """For the page of a finding: the other limits on its parameter as they stand on its day, and
    the approval that covers it."""
    owner = samples.owner(db, case.industrial_user_id)
    rules = stack.of(db).on_parameter(
        owner.rulebooks, owner.id, case.point, Parameter(case.parameter)
    )
    day = day_of(case.starts_at, ZoneInfo(case.zone))
    told = zip(rules, stack.considered(rules, day), strict=True)
    return {
        "sources": [
            Source(rule=rule, stands=stands, judged_by=_judged_by(rule))
            for rule, stands in told
            if rule.id != case.rule_id
        ],
        "approval": approval_of(
            db,
            user_id=case.industrial_user_id,
            rule_id=case.rule_id,
            side=case.side,
            worst=case.worst,
            starts_at=case.starts_at,
            ends_at=case.ends_at,
        ),
    }


def as_json(found: Binds) -> dict[str, Any]:
    """What binds a user, for machines."""
    return {
        "user": found.user.slug,
        "day": found.day.isoformat(),
        "rulebooks": list(found.rulebooks),
        "permit": found.permit.control.number if found.permit else None,
        "points": [
            {
                "point": one.point,
                "limits": [
                    {"parameter": parameter.value, **source.stands, "judged_by": source.judged_by}
                    for parameter, sources in one.parameters.items()
                    for source in sources
                ],
            }
            for one in found.points
        ],
        "papers": [_paper(one) for one in found.papers],
        "approvals": [_approval(one) for one in found.approvals],
    }


def _paper(one: OnFile) -> dict[str, Any]:
    paper = one.control
    return {
        "kind": paper.kind.value,
        "number": paper.number,
        "version": one.version,
        "class": paper.user_class.value if paper.user_class else None,
        "effective": paper.effective.isoformat(),
        "ended": paper.ended.isoformat() if paper.ended else None,
        "issued_by": paper.issued_by,
        "office": paper.office,
        "document_sha256": paper.document.sha256 if paper.document else None,
        "sampling": [
            {
                "point": duty.point,
                "parameter": duty.parameter.value,
                "sample_type": duty.sample_type,
                "frequency": duty.frequency,
                "by": duty.by,
            }
            for duty in paper.sampling
        ],
    }


def _approval(one: ApprovalOnFile) -> dict[str, Any]:
    given = one.approval
    return {
        "approval": one.number,
        "rule": given.rule_id,
        "at_least": None if given.at_least is None else str(given.at_least),
        "at_most": None if given.at_most is None else str(given.at_most),
        "unit": given.unit.value if given.unit else None,
        "effective": given.since.isoformat(),
        "ended": one.until.isoformat(),
        "author": given.author,
        "office": given.office,
        "reason": given.reason,
    }
