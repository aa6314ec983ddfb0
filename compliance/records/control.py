"""Papers that bind users, by version, and approvals: each written once, none deleted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    RowMapping,
    ScalarSelect,
    Select,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import aggregate_order_by

from compliance.errors import NotFound
from compliance.model.control import (
    Approval,
    ApprovalOnFile,
    Control,
    ControlKind,
    Document,
    OnFile,
    from_json,
    to_json,
)
from compliance.model.units import Unit
from compliance.records import tables as t
from compliance.records.scope import Scope

_DUTY = 470422


def lock(db: Connection) -> None:
    """Let nobody else write papers until the transaction ends."""
    db.execute(select(func.pg_advisory_xact_lock(_DUTY)))


def stamp(db: Connection) -> str:
    """A digest of all papers and approvals on file: another one after each that is written."""
    c, a = t.control.c, t.approval.c
    papers = _digest(c.id, c.industrial_user_id, c.sha256)
    approvals = _digest(a.id, a.industrial_user_id, a.rule_id)
    return str(db.scalar(select(func.concat_ws("|", papers, approvals))))


def _digest(number: Column[Any], *others: Column[Any]) -> ScalarSelect[Any]:
    """A digest of some columns over all rows, in the order of their numbers."""
    each = func.concat_ws("|", number, *others)
    joined = func.string_agg(each, aggregate_order_by(literal(","), number))
    return select(func.md5(func.coalesce(joined, ""))).scalar_subquery()


def approved(db: Connection) -> frozenset[tuple[int, str]]:
    """For which user and rule there ever was an approval."""
    a = t.approval.c
    rows = db.execute(select(a.industrial_user_id, a.rule_id).distinct())
    return frozenset((row.industrial_user_id, row.rule_id) for row in rows)


def every(db: Connection) -> tuple[OnFile, ...]:
    """Every version of every paper, those of one paper together, oldest first."""
    return _on_file(db, _rows())


def of_users(db: Connection, scope: Scope, *, user_id: int | None = None) -> tuple[OnFile, ...]:
    """The papers of those users whose rows may be seen, or of one of them."""
    wanted = _rows().where(scope.rows())
    if user_id is not None:
        wanted = wanted.where(t.control.c.industrial_user_id == user_id)
    return _on_file(db, wanted)


def versions(db: Connection, *, city_id: int, kind: ControlKind, key: str) -> tuple[OnFile, ...]:
    """The versions of one paper, oldest first."""
    c = t.control.c
    return _on_file(db, _rows().where(c.city_id == city_id, c.kind == kind.value, c.key == key))


def put(  # noqa: PLR0913 - a row of its columns
    db: Connection,
    control: Control,
    *,
    city_id: int,
    user_id: int,
    version: int,
    by: str,
    file: bytes | None = None,
) -> int:
    """Write a version of a paper; its number here."""
    content = to_json(control)
    return int(
        db.scalar(
            insert(t.control)
            .values(
                city_id=city_id,
                industrial_user_id=user_id,
                kind=control.kind.value,
                key=control.key,
                version=version,
                effective=control.effective,
                ended=control.ended,
                content=content,
                sha256=hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest(),
                file=file,
                entered_by=by,
            )
            .returning(t.control.c.id)
        )
        or 0
    )


def user(db: Connection, slug: str) -> tuple[int, int, tuple[str, ...], tuple[str, ...]]:
    """A user's id, its city's, the city's rulebooks, and the codes of its points.

    Raises: NotFound naming the users there are.
    """
    u = t.industrial_user.c
    row = db.execute(
        select(u.id, u.city_id, t.city.c.rulebooks)
        .join_from(t.industrial_user, t.city)
        .where(u.slug == slug)
    ).first()
    if row is None:
        known = db.scalars(select(u.slug).order_by(u.slug))
        raise NotFound(f"there is no user {slug!r} here; there are: {', '.join(known) or 'none'}")
    p = t.monitoring_point.c
    codes = db.scalars(select(p.code).where(p.industrial_user_id == row.id).order_by(p.code))
    return row.id, row.city_id, tuple(row.rulebooks), tuple(codes)


def zone(db: Connection, user_id: int) -> str:
    """The zone of a user's city, whose civil days count."""
    u = t.industrial_user.c
    wanted = select(t.city.c.zone).join_from(t.industrial_user, t.city).where(u.id == user_id)
    return str(db.scalar(wanted))


def put_approval(
    db: Connection, approval: Approval, *, user_id: int, by: str, file: bytes | None = None
) -> tuple[int, bool]:
    """Write an approval down; its number, and whether it is new."""
    document = approval.document
    row = {
        "industrial_user_id": user_id,
        "rule_id": approval.rule_id,
        "at_least": _text(approval.at_least),
        "at_most": _text(approval.at_most),
        "unit": approval.unit.value if approval.unit else None,
        "since": approval.since,
        "until": approval.until,
        "author": approval.author,
        "office": approval.office,
        "reason": approval.reason,
        "document_name": document.name if document else None,
        "document_sha256": document.sha256 if document else None,
    }
    a = t.approval.c
    same = [a[name].is_not_distinct_from(value) for name, value in row.items()]
    known = db.scalar(select(a.id).where(*same, a.withdrawn_on.is_(None)))
    if known is not None:
        return int(known), False
    values = {**row, "file": file, "entered_by": by}
    return int(db.scalar(insert(t.approval).values(**values).returning(a.id)) or 0), True


def approvals(
    db: Connection, user_id: int, *, rule_id: str | None = None
) -> tuple[ApprovalOnFile, ...]:
    """The approvals of a user, or those under one rule, oldest first; withdrawn ones too."""
    a = t.approval.c
    wanted = _approvals().where(a.industrial_user_id == user_id)
    if rule_id is not None:
        wanted = wanted.where(a.rule_id == rule_id)
    return tuple(_approval(row) for row in db.execute(wanted.order_by(a.id)).mappings())


def approval(db: Connection, scope: Scope, number: int) -> ApprovalOnFile:
    """One approval. Raises: NotFound."""
    wanted = _approvals().where(scope.rows(), t.approval.c.id == number)
    row = db.execute(wanted).mappings().first()
    if row is None:
        raise NotFound(f"There is no approval {number} here.")
    return _approval(row)


def withdraw_approval(db: Connection, number: int, *, on: date, by: str, why: str) -> None:
    """Let an approval lift nothing from a day on; it stays on record."""
    done = {"withdrawn_on": on, "withdrawn_by": by, "withdrawn_why": why}
    db.execute(update(t.approval).where(t.approval.c.id == number).values(**done))


def paper(db: Connection, scope: Scope, number: int) -> tuple[str, bytes]:
    """The file of a paper: its name and bytes. Raises: NotFound."""
    c = t.control.c
    row = db.execute(
        select(c.content, c.file).join(t.industrial_user).where(scope.rows(), c.id == number)
    ).first()
    if row is None or row.file is None:
        raise NotFound(f"There is no paper {number} here.")
    return str(row.content["document"]["name"]), bytes(row.file)


def _rows() -> Select[Any]:
    c = t.control.c
    return (
        select(
            c.id,
            c.version,
            c.city_id,
            c.industrial_user_id.label("user_id"),
            c.content,
            c.entered_by,
            c.entered_at,
            c.file.is_not(None).label("has_file"),
        )
        .join_from(t.control, t.industrial_user)
        .order_by(c.city_id, c.kind, c.key, c.version)
    )


def _on_file(db: Connection, wanted: Select[Any]) -> tuple[OnFile, ...]:
    found: Sequence[RowMapping] = db.execute(wanted).mappings().all()
    return tuple(
        OnFile(
            control=from_json(row["content"]),
            **{name: value for name, value in row.items() if name != "content"},
        )
        for row in found
    )


def _approvals() -> Select[Any]:
    return select(
        t.approval, t.industrial_user.c.slug, t.approval.c.file.is_not(None).label("has_file")
    ).join_from(t.approval, t.industrial_user)


def _approval(row: RowMapping) -> ApprovalOnFile:
    low, high = row["at_least"], row["at_most"]
    document = (
        Document(name=row["document_name"], sha256=row["document_sha256"])
        if row["document_name"]
        else None
    )
    return ApprovalOnFile(
        number=row["id"],
        user_id=row["industrial_user_id"],
        approval=Approval(
            rule_id=row["rule_id"],
            user=row["slug"],
            at_least=None if low is None else Decimal(low),
            at_most=None if high is None else Decimal(high),
            unit=Unit(row["unit"]) if row["unit"] else None,
            since=row["since"],
            until=row["until"],
            author=row["author"],
            office=row["office"],
            reason=row["reason"],
            document=document,
        ),
        entered_by=row["entered_by"],
        entered_at=row["entered_at"],
        has_file=row["has_file"],
        withdrawn_on=row["withdrawn_on"],
        withdrawn_by=row["withdrawn_by"],
        withdrawn_why=row["withdrawn_why"],
    )


def _text(number: Decimal | None) -> str | None:
    return None if number is None else f"{number:f}"
