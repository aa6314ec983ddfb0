"""Service agreements and deductions of sanitary flow, by user."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Select, insert, select, update

from compliance.errors import NotFound
from compliance.model.agreements import Deduction, ServiceAgreement
from compliance.records import tables as t
from compliance.records.scope import Scope


def agreements(db: Connection, scope: Scope) -> tuple[ServiceAgreement, ...]:
    """Every agreement of a scope, the newest of each user first."""
    return _read(db, _rows().where(scope.rows()))


def one(db: Connection, scope: Scope, number: int) -> ServiceAgreement:
    """An agreement that a viewer may see. Raises: NotFound."""
    found = _read(db, _rows().where(scope.rows(), t.service_agreement.c.id == number))
    if not found:
        raise NotFound(f"There is no service agreement {number} here.")
    return found[0]


def of_user(db: Connection, user_id: int) -> tuple[ServiceAgreement, ...]:
    """The agreements of a user, the newest first."""
    return _read(db, _rows().where(t.service_agreement.c.industrial_user_id == user_id))


def paper(db: Connection, scope: Scope, number: int) -> tuple[str, bytes]:
    """The file of an agreement: its name and bytes. Raises: NotFound."""
    c = t.service_agreement.c
    row = db.execute(
        select(c.document, c.file).join(t.industrial_user).where(scope.rows(), c.id == number)
    ).first()
    if row is None or row.file is None:
        raise NotFound(f"There is no file of a service agreement {number} here.")
    return str(row.document), bytes(row.file)


def city_of(db: Connection, user_id: int) -> int:
    """The city of a user."""
    user = t.industrial_user.c
    return int(db.scalar(select(user.city_id).where(user.id == user_id)) or 0)


def propose(  # noqa: PLR0913 - one argument a column
    db: Connection,
    user_id: int,
    *,
    since: date,
    until: date | None,
    capital_percent: Decimal,
    conditions: str,
    document: str,
    sha256: str | None,
    file: bytes | None,
    by: str,
) -> int:
    """Put a proposed agreement on record; its number."""
    row = insert(t.service_agreement).values(
        industrial_user_id=user_id,
        since=since,
        until=until,
        capital_percent=f"{capital_percent:f}",
        conditions=conditions,
        document=document,
        sha256=sha256,
        file=file,
        entered_by=by,
    )
    return int(db.scalar(row.returning(t.service_agreement.c.id)) or 0)


def sign(db: Connection, number: int, *, on: date, by: str) -> None:
    """Write down that it was signed."""
    _set(db, number, signed_on=on, signed_by=by)


def release(db: Connection, number: int, *, on: date, by: str, why: str) -> None:
    """Write down that the user is released from a day on."""
    _set(db, number, released_on=on, released_by=by, released_why=why)


def told(db: Connection, number: int, *, on: date) -> bool:
    """Mark that its coming end was told of; False where it had been."""
    c = t.service_agreement.c
    done = db.execute(
        update(t.service_agreement)
        .where(c.id == number, c.told_on.is_(None))
        .values(told_on=on)
        .returning(c.id)
    )
    return done.first() is not None


def deductions(db: Connection, user_id: int) -> tuple[Deduction, ...]:
    """What is left out of a user's flow as sanitary, by first day."""
    c = t.sanitary_deduction.c
    rows = db.execute(
        select(t.sanitary_deduction).where(c.industrial_user_id == user_id).order_by(c.since, c.id)
    )
    return tuple(
        Deduction(
            user_id=row.industrial_user_id,
            since=row.since,
            gpd=Decimal(row.gpd),
            basis=row.basis,
            entered_by=row.entered_by,
            entered_at=row.entered_at,
        )
        for row in rows
    )


def deduct(db: Connection, user_id: int, *, since: date, gpd: Decimal, basis: str, by: str) -> None:
    """Leave so much sanitary flow out from a day on, until another deduction begins."""
    db.execute(
        insert(t.sanitary_deduction).values(
            industrial_user_id=user_id, since=since, gpd=f"{gpd:f}", basis=basis, entered_by=by
        )
    )


def _set(db: Connection, number: int, **values: Any) -> None:
    c = t.service_agreement.c
    db.execute(update(t.service_agreement).where(c.id == number).values(**values))


def _rows() -> Select[Any]:
    c = t.service_agreement.c
    user = t.industrial_user.c
    return (
        select(
            c.id,
            c.industrial_user_id.label("user_id"),
            user.name.label("user"),
            *(c[name] for name in _COLUMNS),
        )
        .join_from(t.service_agreement, t.industrial_user)
        .order_by(user.name, c.since.desc(), c.id.desc())
    )


_COLUMNS = (
    "since",
    "until",
    "capital_percent",
    "conditions",
    "document",
    "sha256",
    "entered_by",
    "entered_at",
    "signed_on",
    "released_on",
    "released_by",
    "released_why",
)


def _read(db: Connection, wanted: Select[Any]) -> tuple[ServiceAgreement, ...]:
    return tuple(
        ServiceAgreement(**{**row, "capital_percent": Decimal(row["capital_percent"])})
        for row in db.execute(wanted).mappings()
    )
