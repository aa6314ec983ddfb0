"""Determinations of significance on record: written once, taken back in the open."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, RowMapping, select, update
from sqlalchemy.dialects.postgresql import insert

from compliance.errors import NotFound
from compliance.model.noncompliance import Criterion, Said, SaidOnFile
from compliance.model.parameters import Parameter
from compliance.records import tables as t
from compliance.records.scope import Scope


def authority(db: Connection, industrial_user_id: int) -> tuple[str, str]:
    """The control authority over a user, and its city's ordinance authority.

    Raises: NotFound.
    """
    row = db.execute(
        select(t.city.c.control_authority, t.city.c.ordinance_authority)
        .join(t.industrial_user)
        .where(t.industrial_user.c.id == industrial_user_id)
    ).first()
    if row is None:
        raise NotFound("there is no such industrial user here")
    return row.control_authority, row.ordinance_authority


def put(
    db: Connection,
    said: Said,
    *,
    industrial_user_id: int,
    entered_by: str,
    now: datetime,
    document: tuple[str, str, bytes] | None = None,
) -> int:
    """Write one down; its number. document: name, SHA-256 and content of its file."""
    name, sha256, content = document or (None, None, None)
    made = db.execute(
        insert(t.snc_determination)
        .values(
            industrial_user_id=industrial_user_id,
            criterion=said.criterion.value,
            quarter_end=said.quarter_end,
            is_snc=said.is_snc,
            authority=said.authority,
            decided_on=said.decided_on,
            signed_by=said.signed_by,
            reference=said.reference,
            words=said.words,
            point=said.point,
            parameter=said.parameter.value if said.parameter else None,
            document_name=name,
            document_sha256=sha256,
            document=content,
            entered_by=entered_by,
            entered_at=now,
        )
        .returning(t.snc_determination.c.id)
    )
    return int(made.scalar_one())


def of_user(db: Connection, industrial_user_id: int) -> tuple[SaidOnFile, ...]:
    """All of one user, the newest first, withdrawn ones too."""
    d = t.snc_determination.c
    kept = [column for column in d if column.name not in ("document", "industrial_user_id")]
    rows = db.execute(
        select(*kept)
        .where(d.industrial_user_id == industrial_user_id)
        .order_by(d.decided_on.desc(), d.id.desc())
    ).mappings()
    return tuple(_on_file(row) for row in rows)


def one(db: Connection, scope: Scope, number: int) -> tuple[str, SaidOnFile]:
    """One of them and its user's name in addresses.

    Raises: NotFound where there is none, or where the viewer may not see its user.
    """
    d = t.snc_determination.c
    row = db.execute(
        select(t.snc_determination, t.industrial_user.c.slug)
        .join(t.industrial_user)
        .where(scope.rows(), d.id == number)
    ).mappings().first()  # fmt: skip
    if row is None:
        raise NotFound(f"There is no determination of noncompliance {number} here.")
    return row["slug"], _on_file(row)


def document(db: Connection, scope: Scope, number: int) -> tuple[str, bytes]:
    """The name and content of the file beside one. Raises: NotFound."""
    one(db, scope, number)
    d = t.snc_determination.c
    row = db.execute(select(d.document_name, d.document).where(d.id == number)).one()
    if row.document is None:
        raise NotFound(f"There is no file beside determination of noncompliance {number}.")
    return str(row.document_name), bytes(row.document)


def withdraw(db: Connection, number: int, *, by: str, why: str, now: datetime) -> bool:
    """Take one back; whether it stood until now."""
    d = t.snc_determination.c
    found = db.execute(
        update(t.snc_determination)
        .where(d.id == number, d.withdrawn_at.is_(None))
        .values(withdrawn_at=now, withdrawn_by=by, withdrawn_why=why)
        .returning(d.id)
    )
    return found.first() is not None


def _on_file(row: RowMapping) -> SaidOnFile:
    said = Said(
        criterion=Criterion(row["criterion"]),
        quarter_end=row["quarter_end"],
        is_snc=row["is_snc"],
        authority=row["authority"],
        decided_on=row["decided_on"],
        signed_by=row["signed_by"],
        reference=row["reference"],
        words=row["words"],
        point=row["point"],
        parameter=Parameter(row["parameter"]) if row["parameter"] else None,
    )
    return SaidOnFile(
        id=row["id"],
        said=said,
        entered_by=row["entered_by"],
        entered_at=row["entered_at"],
        document_name=row["document_name"],
        document_sha256=row["document_sha256"],
        withdrawn_at=row["withdrawn_at"],
        withdrawn_by=row["withdrawn_by"],
        withdrawn_why=row["withdrawn_why"],
    )
