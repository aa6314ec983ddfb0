"""Questions to instruments: asked by a person, taken by one worker, answered or expired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    Connection,
    RowMapping,
    Select,
    and_,
    any_,
    delete,
    func,
    or_,
    select,
    text,
    update,
)

from compliance.errors import InputError, NotFound
from compliance.model.sites import Gateway
from compliance.records import audit
from compliance.records import tables as t

PATIENCE = timedelta(seconds=30)
"""How long a question waits for its answer."""
KEPT = timedelta(days=1)
"""How long what was asked is kept where nothing came of it."""
LOCK = 470413
"""The advisory lock under which questions are taken: one at a time to each gateway."""

MOST_OPEN = 10
"""Questions of one person that may wait for their answers at the same time."""
ONE_ENTRY = timedelta(minutes=10)
"""A page asks the same again every two seconds: within so long one audit entry stands for all."""
_ASKERS = 470414
"""The first key of the advisory locks under which a person's open questions are counted."""


class Asks(StrEnum):
    """What a question wants to know."""

    SCAN = "scan"
    READ = "read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to a gateway, and what came of it.

    gateway: its id is 0 where it is not on file. units: the first and the last to be asked.
    order: for values whose order the map leaves open; None: give all four.
    """

    id: int
    asked_by: int
    asked_at: datetime
    asks: Asks
    gateway: Gateway
    units: tuple[int, int]
    map_name: str | None
    order: str | None
    taken_by: str | None
    answered_at: datetime | None
    answer: Mapping[str, Any] | None
    problem: str | None

    @property
    def is_open(self) -> bool:
        """Whether its answer is still waited for."""
        return self.answered_at is None and not self.problem


def ask(  # noqa: PLR0913 - a question is that much
    db: Connection,
    *,
    person_id: int,
    asks: Asks,
    gateway: Gateway,
    units: tuple[int, int],
    map_name: str | None = None,
    order: str | None = None,
) -> int:
    """Put a question and write it down; its number. A gateway on file is recognised by its address.

    Raises: InputError where too many of the person's are open.
    """
    _forget(db)
    _require_few(db, person_id)
    known = db.scalar(
        select(t.gateway.c.id).where(
            t.gateway.c.host == gateway.host, t.gateway.c.port == gateway.port
        )
    )
    row = {
        "asked_by": person_id,
        "kind": asks.value,
        "gateway_id": known,
        "host": gateway.host,
        "port": gateway.port,
        "transport": gateway.transport,
        "first_unit": units[0],
        "last_unit": units[1],
        "map_name": map_name,
        "byte_order": order,
    }
    is_new = not _asked_lately(db, row)
    made = db.scalar(t.field_question.insert().values(**row).returning(t.field_question.c.id))
    if is_new:
        _note(db, row)
    return int(made or 0)


def _require_few(db: Connection, person_id: int) -> None:
    """Raises: InputError where too many questions of a person are open."""
    db.execute(select(func.pg_advisory_xact_lock(_ASKERS, person_id)))
    q = t.field_question.c
    fresh = q.asked_at > func.clock_timestamp() - PATIENCE
    waiting = (q.asked_by == person_id) & q.answered_at.is_(None) & fresh
    if (db.scalar(select(func.count()).where(waiting)) or 0) >= MOST_OPEN:
        raise InputError(
            f"{MOST_OPEN} questions of yours wait for an answer; expected fewer, so wait for one"
        )


def _asked_lately(db: Connection, row: Mapping[str, Any]) -> bool:
    """Whether somebody asked just the same a moment ago."""
    q = t.field_question.c
    same = [q[key].is_not_distinct_from(value) for key, value in row.items() if key != "gateway_id"]
    lately = q.asked_at > func.clock_timestamp() - ONE_ENTRY
    return bool(db.scalar(select(select(q.id).where(lately, *same).exists())))


def _note(db: Connection, row: Mapping[str, Any]) -> None:
    by = db.scalar(select(t.person.c.name).where(t.person.c.id == row["asked_by"]))
    detail = {key: row[key] for key in ("kind", "transport", "first_unit", "last_unit", "map_name")}
    subject = f"{row['host']}:{row['port']}"
    audit.note(db, by=str(by), act="ask the field", subject=subject, detail=detail)


def _forget(db: Connection) -> None:
    """Drop what was asked a day ago; the answers that were compared with a display stay."""
    q = t.field_question.c
    compared = select(t.comparison.c.id).where(t.comparison.c.field_question_id == q.id)
    old = q.asked_at < func.clock_timestamp() - KEPT
    db.execute(delete(t.field_question).where(old, ~compared.exists()))


def take(db: Connection, worker: str) -> Question | None:
    """The oldest question that a worker may answer, now its own; None where there is none.

    A gateway that is polled is asked by the worker that polls it, over its own connection; one that
    nobody polls by any worker, one question at a time; a remote site's by its own worker alone.
    """
    if not db.scalar(select(t.field_question.c.id).where(_waiting()).limit(1)):
        return None
    db.execute(select(func.pg_advisory_xact_lock(LOCK)))
    q, other = t.field_question, t.field_question.alias("other")
    busy = select(other.c.id).where(
        other.c.host == q.c.host,
        other.c.port == q.c.port,
        other.c.taken_at > func.clock_timestamp() - PATIENCE,
        other.c.answered_at.is_(None),
    )
    found = (
        select(q.c.id)
        .outerjoin(t.lease, t.lease.c.gateway_id == q.c.gateway_id)
        .where(_waiting(), ~busy.exists(), ~_is_remote())
        .where(or_(t.lease.c.gateway_id.is_(None), t.lease.c.worker == worker))
        .order_by(q.c.id)
        .limit(1)
        .with_for_update(skip_locked=True, of=q)
    )
    taken = db.scalar(found)
    if taken is None:
        return None
    now = func.clock_timestamp()
    db.execute(update(q).where(q.c.id == taken).values(taken_by=worker, taken_at=now))
    return _one(db, taken)


def _waiting() -> Any:
    q = t.field_question.c
    fresh = q.asked_at > func.clock_timestamp() - PATIENCE
    return and_(q.taken_at.is_(None), q.answered_at.is_(None), fresh)


def _is_remote() -> Any:
    """Whether a question's gateway is polled by the worker of a remote site."""
    polled = (
        select(t.token.c.id)
        .join(t.instrument, t.instrument.c.monitoring_point_id == any_(t.token.c.points))
        .where(
            t.token.c.revoked_at.is_(None),
            t.instrument.c.gateway_id == t.field_question.c.gateway_id,
        )
    )
    return polled.exists()


def answer(
    db: Connection, question_id: int, *, content: Mapping[str, Any] | None, problem: str = ""
) -> None:
    """Give what an instrument said, or why it said nothing; the first answer stands."""
    q = t.field_question
    done = {"answered_at": func.clock_timestamp(), "answer": content, "problem": problem or None}
    db.execute(update(q).where(q.c.id == question_id, q.c.answered_at.is_(None)).values(**done))


def find(db: Connection, question_id: int, *, person_id: int) -> Question:
    """A question of a person's own, expired where nobody answered in time. Raises: NotFound."""
    query = _all().where(t.field_question.c.asked_by == person_id)
    row = db.execute(query.where(t.field_question.c.id == question_id)).mappings().first()
    if row is None:
        raise NotFound(f"There is no question {question_id} of yours.")
    return _question(db, row)


def newest(
    db: Connection,
    *,
    gateway: Gateway,
    asks: Asks,
    unit: int | None = None,
    map_name: str | None = None,
) -> Question | None:
    """The last question of a kind to a gateway, or to one unit of it by one map."""
    q = t.field_question.c
    query = _all().where(q.host == gateway.host, q.port == gateway.port, q.kind == asks.value)
    if unit is not None:
        query = query.where(q.first_unit == unit, q.last_unit == unit, q.map_name == map_name)
    row = db.execute(query.order_by(q.id.desc()).limit(1)).mappings().first()
    return None if row is None else _question(db, row)


def _one(db: Connection, question_id: int) -> Question:
    row = db.execute(_all().where(t.field_question.c.id == question_id)).mappings().one()
    return _question(db, row)


def _all() -> Select[Any]:
    q = t.field_question
    late = (q.c.asked_at < func.clock_timestamp() - PATIENCE) & q.c.answered_at.is_(None)
    return select(q, late.label("late"), t.gateway.c.name.label("gateway")).outerjoin(
        t.gateway, t.gateway.c.id == q.c.gateway_id
    )


def _question(db: Connection, row: RowMapping) -> Question:
    found = Question(
        id=row["id"],
        asked_by=row["asked_by"],
        asked_at=row["asked_at"],
        asks=Asks(row["kind"]),
        gateway=Gateway(
            id=row["gateway_id"] or 0,
            name=row["gateway"] or f"{row['host']}:{row['port']}",
            host=row["host"],
            port=row["port"],
            transport=row["transport"],
        ),
        units=(row["first_unit"], row["last_unit"]),
        map_name=row["map_name"],
        order=row["byte_order"],
        taken_by=row["taken_by"],
        answered_at=row["answered_at"],
        answer=row["answer"],
        problem=row["problem"],
    )
    return replace(found, problem=_unanswered(db, found)) if row["late"] else found


def _unanswered(db: Connection, question: Question) -> str:
    """Why nobody answered in time, in one sentence."""
    seconds = int(PATIENCE.total_seconds())
    if question.taken_by:
        return (
            f"worker {question.taken_by} took the question and gave no answer in {seconds} s; "
            "look whether it still runs, and ask again"
        )
    remote = db.scalar(
        select(t.token.c.worker)
        .join(t.instrument, t.instrument.c.monitoring_point_id == any_(t.token.c.points))
        .where(
            t.token.c.revoked_at.is_(None), t.instrument.c.gateway_id == (question.gateway.id or -1)
        )
        .limit(1)
    )
    if remote:
        return (
            f"no worker answered: {question.gateway.name} belongs to the remote site of {remote}, "
            "which takes no questions; read it there with pretreat modbus read"
        )
    alive = db.scalar(
        select(func.count()).where(
            t.worker.c.seen_at > func.clock_timestamp() - text("interval '10 seconds'")
        )
    )
    if not alive:
        return "no worker answered: none is running; start one with pretreat ingest, and ask again"
    return f"no worker answered: {alive} run, but none took the question in {seconds} s; ask again"
