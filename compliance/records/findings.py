"""Facts, detections, violations: written once, revised in the open, never deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, RowMapping, Select, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from compliance.errors import NotFound
from compliance.model.findings import Exceedance
from compliance.records import tables as t

_CONTENT = (
    "ends_at", "seconds", "seconds_beyond", "runs", "worst", "worst_at", "limit", "readings",
    "open_ended", "review", "settled",
)  # fmt: skip


class Change(StrEnum):
    """What writing a fact did."""

    NEW = "new"
    SAME = "same"
    EXTENDED = "extended"  # the same event, going on
    ENDED = "ended"  # the same event, over
    REVISED = "revised"  # late or corrected data changed a fact that was settled


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A fact that stands, with the evidence that was kept with it."""

    id: str
    starts_at: datetime
    ends_at: datetime
    evidence: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """When a fact was, when it was last judged, and whether it was for review."""

    starts_at: datetime
    ends_at: datetime
    judged_at: datetime
    review: bool


def change(db: Connection, fact: Exceedance) -> Change:
    """What writing a fact would do: evidence is gathered only where it is worth it."""
    old = _stored_fact(db, fact.id)
    return Change.NEW if old is None else _change(old, _row(fact))


def put(  # noqa: PLR0913 - a fact, where it belongs, and how it came
    db: Connection,
    fact: Exceedance,
    *,
    point_id: int,
    evidence: Mapping[str, Any] | None,
    release: str,
    channel_id: int | None = None,
    result_id: int | None = None,
    why: str = "",
) -> Change:
    """Write a fact, or bring the stored one of the same id up to date.

    A settled fact that changes leaves its earlier content in the history, with the reason why.
    ``evidence`` None leaves what is stored: an event that only goes on needs no new one each
    second.
    """
    row = {
        **_row(fact),
        "monitoring_point_id": point_id,
        "channel_id": channel_id,
        "result_id": result_id,
        "judged_by": release,
    }
    if evidence is not None:
        row["evidence"] = dict(evidence)
    old = _stored_fact(db, fact.id)
    if old is None:
        db.execute(insert(t.exceedance).values(**row))
        return Change.NEW
    change = _change(old, row)
    if change == Change.SAME:
        return change
    if change == Change.REVISED:
        _revise(db, old, row, why=why or "late, corrected or excluded readings")
    db.execute(
        update(t.exceedance)
        .where(t.exceedance.c.id == fact.id)
        .values(**row, judged_at=func.now(), superseded_at=None, superseded_why=None)
    )
    return change


def _row(fact: Exceedance) -> dict[str, Any]:
    return {name: _stored(value) for name, value in asdict(fact).items()}


def _stored_fact(db: Connection, fact_id: str) -> RowMapping | None:
    found = db.execute(select(t.exceedance).where(t.exceedance.c.id == fact_id))
    return found.mappings().first()


def _change(old: RowMapping, new: Mapping[str, Any]) -> Change:
    differs = any(old[name] != new[name] for name in _CONTENT)
    if old["superseded_at"] is not None or (differs and old["settled"]):
        return Change.REVISED
    if not differs:
        return Change.SAME
    return Change.ENDED if new["settled"] else Change.EXTENDED


def _revise(db: Connection, old: RowMapping, row: Mapping[str, Any], *, why: str) -> None:
    """Keep what a fact said; one that was withdrawn and says the same again differs no more."""
    if old["superseded_at"] is None:
        _keep(db, old, why=why)
        _differ(db, old, why=why)
        return
    _keep(db, old, why=f"found again after it was withdrawn: {old['superseded_why']}")
    d = t.detection.c
    withdrawn = d.differs == _differs(old["superseded_why"])
    db.execute(
        update(t.detection).where(d.exceedance_id == old["id"], withdrawn).values(differs=None)
    )
    if any(old[name] != row[name] for name in _CONTENT):
        _differ(
            db, old, why=f"found again otherwise after it was withdrawn: {old['superseded_why']}"
        )


def _keep(db: Connection, old: RowMapping, *, why: str) -> None:
    was = {name: _json(old[name]) for name in _CONTENT}
    db.execute(insert(t.exceedance_history).values(exceedance_id=old["id"], why=why, was=was))


def _differ(db: Connection, old: RowMapping, *, why: str, only_new: bool = False) -> None:
    """Say of a decision that what it rests on is otherwise now. only_new: unless that was said."""
    d = t.detection.c
    wanted = update(t.detection).where(d.exceedance_id == old["id"], d.state != "detected")
    if only_new:
        wanted = wanted.where(d.differs.is_(None))
    db.execute(wanted.values(differs=_differs(why)))


def _differs(why: str) -> str:
    return f"the result would now differ: {why}"


def withdraw(db: Connection, fact_ids: Sequence[str], *, why: str, at: datetime) -> None:
    """Mark facts that a fold over better readings no longer finds. They stay, with the reason."""
    for old in db.execute(
        select(t.exceedance).where(
            t.exceedance.c.id.in_(fact_ids), t.exceedance.c.superseded_at.is_(None)
        )
    ).mappings():
        _keep(db, old, why=why)
        _differ(db, old, why=why, only_new=True)
        db.execute(
            update(t.exceedance)
            .where(t.exceedance.c.id == old["id"])
            .values(superseded_at=at, superseded_why=why)
        )


def standing(
    db: Connection, *, rule_id: str, channel_id: int, since: datetime, until: datetime
) -> dict[str, Standing]:
    """The facts of a rule and channel that stand and start in ``[since, until)``, by id."""
    e = t.exceedance.c
    rows = db.execute(
        _standing().where(
            e.rule_id == rule_id,
            e.channel_id == channel_id,
            e.starts_at >= since,
            e.starts_at < until,
            e.superseded_at.is_(None),
        )
    )
    return {row.id: _is_standing(row) for row in rows}


def on_results(db: Connection, industrial_user_id: int, *, heads: Sequence[str]) -> dict[str, str]:
    """The standing facts of a user's results under rules of some heads: id, rule.

    heads: what stands before the first dot of a rule's id.
    """
    e = t.exceedance.c
    rows = db.execute(
        select(e.id, e.rule_id)
        .join_from(t.exceedance, t.monitoring_point)
        .where(
            t.monitoring_point.c.industrial_user_id == industrial_user_id,
            e.result_id.is_not(None),
            e.superseded_at.is_(None),
            func.split_part(e.rule_id, ".", 1).in_(heads),
        )
    )
    return {row.id: row.rule_id for row in rows}


def of_many(
    db: Connection, point_id: int, parameter: str, *, kinds: Sequence[str]
) -> dict[str, tuple[str, datetime]]:
    """The standing facts of a point that rest on several results: id, then rule and end.

    kinds: such as ``average`` and ``mass``.
    """
    e = t.exceedance.c
    rows = db.execute(
        select(e.id, e.rule_id, e.ends_at).where(
            e.monitoring_point_id == point_id,
            e.parameter == parameter,
            e.kind.in_(kinds),
            e.superseded_at.is_(None),
        )
    )
    return {row.id: (row.rule_id, row.ends_at) for row in rows}


def stood(db: Connection, fact_id: str) -> Standing | None:
    """A fact, whether it stands or was withdrawn; None where there is none of that id."""
    row = db.execute(_standing().where(t.exceedance.c.id == fact_id)).first()
    return None if row is None else _is_standing(row)


def _standing() -> Select[Any]:
    e = t.exceedance.c
    return select(e.id, e.starts_at, e.ends_at, e.judged_at, e.review)


def _is_standing(row: Row[Any]) -> Standing:
    return Standing(
        starts_at=row.starts_at, ends_at=row.ends_at, judged_at=row.judged_at, review=row.review
    )


def kept(db: Connection, fact_id: str) -> Kept | None:
    """A fact with its evidence, whether it stands or not; None where there is none of that id."""
    e = t.exceedance.c
    wanted = select(e.id, e.starts_at, e.ends_at, e.evidence).where(e.id == fact_id)
    row = db.execute(wanted).mappings().first()
    return None if row is None else Kept(**row)


def on_channel(
    db: Connection, channel_id: int, *, since: datetime | None, until: datetime | None
) -> tuple[Kept, ...]:
    """The facts of a channel that stand, end after an instant and begin before another.

    since, until: None for no bound.
    """
    e = t.exceedance.c
    wanted = select(e.id, e.starts_at, e.ends_at, e.evidence).where(
        e.channel_id == channel_id, e.superseded_at.is_(None)
    )
    if since is not None:
        wanted = wanted.where(e.ends_at >= since)
    if until is not None:
        wanted = wanted.where(e.starts_at < until)
    rows = db.execute(wanted.order_by(e.starts_at, e.id)).mappings()
    return tuple(Kept(**row) for row in rows)


def amend_evidence(
    db: Connection, fact: Kept, part: Mapping[str, Any], *, why: str, differs: bool
) -> None:
    """Bring a part of a fact's evidence up to date; what it said before goes into the history.

    differs: whether somebody who has decided would now read something else.
    """
    was = {name: fact.evidence.get(name) for name in part}
    db.execute(insert(t.exceedance_history).values(exceedance_id=fact.id, why=why, was=was))
    db.execute(
        update(t.exceedance)
        .where(t.exceedance.c.id == fact.id)
        .values(evidence={**fact.evidence, **part})
    )
    if differs:
        db.execute(
            update(t.detection)
            .where(t.detection.c.exceedance_id == fact.id, t.detection.c.state != "detected")
            .values(differs=f"the evidence would now differ: {why}")
        )


def detect(db: Connection, exceedance_id: str, industrial_user_id: int) -> int | None:
    """Raise the detection of a fact, once. Its id when it is new, else None."""
    new: int | None = db.scalar(
        upsert(t.detection)
        .values(
            exceedance_id=exceedance_id, industrial_user_id=industrial_user_id, state="detected"
        )
        .on_conflict_do_nothing(index_elements=["exceedance_id"])
        .returning(t.detection.c.id)
    )
    return new


def locked_detection(db: Connection, detection_id: int) -> RowMapping:
    """A detection with its fact, point and city, held until the transaction ends.

    Raises: NotFound.
    """
    row = (
        db.execute(
            select(
                t.detection.c.id,
                t.detection.c.state,
                t.detection.c.exceedance_id,
                t.detection.c.industrial_user_id,
                t.exceedance.c.rule_id,
                t.exceedance.c.side,
                t.exceedance.c.worst,
                t.exceedance.c.starts_at,
                t.exceedance.c.ends_at,
                t.exceedance.c.evidence,
                t.exceedance.c.superseded_why,
                t.monitoring_point.c.code.label("point"),
                t.industrial_user.c.city_id,
                t.city.c.zone,
            )
            .select_from(t.detection)
            .join(t.exceedance)
            .join(t.monitoring_point)
            .join(t.industrial_user, t.industrial_user.c.id == t.detection.c.industrial_user_id)
            .join(t.city)
            .where(t.detection.c.id == detection_id)
            .with_for_update(of=t.detection)
        )
        .mappings()
        .first()
    )
    if row is None:
        raise NotFound(f"there is no detection {detection_id}")
    return row


def set_state(db: Connection, detection_id: int, state: str) -> None:
    """Record where a detection stands."""
    db.execute(update(t.detection).where(t.detection.c.id == detection_id).values(state=state))


def next_serial(db: Connection, year: int) -> int:
    """The next violation number of a year, without gaps: one caller at a time."""
    db.execute(select(func.pg_advisory_xact_lock(470408, year)))
    used = db.scalar(
        select(func.count())
        .select_from(t.violation)
        .where(t.violation.c.number.like(f"V-{year}-%"))
    )
    return int(used or 0) + 1


def add_violation(db: Connection, **values: Any) -> int:
    """Write a violation that a person opened; its id."""
    return int(db.scalar(insert(t.violation).values(**values).returning(t.violation.c.id)) or 0)


def record_act(
    db: Connection,
    *,
    person_id: int | None,
    subject: str,
    verb: str,
    reason: str = "",
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Note who did what and why; ``person_id`` None is the program."""
    db.execute(
        insert(t.act).values(
            person_id=person_id,
            subject=subject,
            verb=verb,
            reason=reason,
            detail=dict(detail or {}),
        )
    )


def _stored(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    return list(value) if isinstance(value, tuple) else value


def _json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
