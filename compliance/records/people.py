"""People, their sessions and failed sign-ins."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, and_, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from compliance.errors import InputError
from compliance.model.sites import Role, Viewer
from compliance.records.tables import idempotency_key, person, session, signin_failure

TOUCH = timedelta(minutes=1)
"""How often a session's last use is written down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many sign-ins failed, and when the newest did; None where none has."""

    number: int
    newest: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """Failed sign-ins of one account from one address, of the account, and from the address."""

    pair: Tally
    login: Tally
    address: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A person's sign-in; ``password`` is an argon2 hash, ``office`` the capacity of his acts."""

    viewer: Viewer
    login: str
    password: str
    office: str


def add(  # noqa: PLR0913 - a person has that many properties
    db: Connection,
    *,
    login: str,
    name: str,
    password: str,
    role: Role,
    office: str,
    city_id: int | None = None,
    industrial_user_id: int | None = None,
) -> int:
    """A new person; ``password`` is a hash already (``app.auth.hashed``). Returns the id."""
    made: int = db.execute(
        insert(person)
        .values(
            login=login.casefold(),
            name=name,
            password=password,
            role=role.value,
            office=office,
            city_id=city_id,
            industrial_user_id=industrial_user_id,
        )
        .returning(person.c.id)
    ).scalar_one()
    return made


def by_login(db: Connection, login: str) -> Account | None:
    """The account of a sign-in name, whatever its case."""
    row = db.execute(select(person).where(person.c.login == login.casefold())).mappings().first()
    if row is None:
        return None
    viewer = Viewer(
        person_id=row["id"],
        name=row["name"],
        role=Role(row["role"]),
        city_id=row["city_id"],
        industrial_user_id=row["industrial_user_id"],
    )
    return Account(
        viewer=viewer, login=row["login"], password=row["password"], office=row["office"]
    )


def office(db: Connection, person_id: int) -> str:
    """The capacity in which a person acts."""
    return db.scalar(select(person.c.office).where(person.c.id == person_id)) or ""


def open_session(db: Connection, *, token_sha256: str, person_id: int, now: datetime) -> None:
    """Begin a session; only the token's digest is kept."""
    db.execute(
        insert(session).values(
            token_sha256=token_sha256, person_id=person_id, created_at=now, seen_at=now
        )
    )


def close_session(db: Connection, token_sha256: str) -> None:
    """End a session: its token is dead from here on."""
    db.execute(delete(session).where(session.c.token_sha256 == token_sha256))


def viewer_of(
    db: Connection,
    token_sha256: str,
    *,
    now: datetime,
    idle: timedelta,
    longest: timedelta,
    touch: bool = True,
) -> Viewer | None:
    """Who a session belongs to; None when there is none, it was idle too long, or is too old.

    touch: count this as use.
    """
    row = db.execute(
        select(
            person.c.id,
            person.c.name,
            person.c.role,
            person.c.city_id,
            person.c.industrial_user_id,
            session.c.seen_at,
        )
        .join(person, person.c.id == session.c.person_id)
        .where(
            session.c.token_sha256 == token_sha256,
            session.c.seen_at > now - idle,
            session.c.created_at > now - longest,
        )
    ).first()
    if row is None:
        return None
    if touch and now - row.seen_at > TOUCH:
        db.execute(
            update(session).where(session.c.token_sha256 == token_sha256).values(seen_at=now)
        )
    return Viewer(
        person_id=row.id,
        name=row.name,
        role=Role(row.role),
        city_id=row.city_id,
        industrial_user_id=row.industrial_user_id,
    )


def sweep_sessions(db: Connection, *, now: datetime, idle: timedelta, longest: timedelta) -> None:
    """Remove sessions that are over."""
    db.execute(
        delete(session).where(
            or_(session.c.seen_at <= now - idle, session.c.created_at <= now - longest)
        )
    )


def note_failure(db: Connection, login: str, *, address: str, now: datetime) -> None:
    """Keep a failed sign-in: it slows the next ones and is evidence."""
    row = insert(signin_failure).values(login=login.casefold()[:200], address=address, at=now)
    db.execute(row)


def failures(db: Connection, login: str, *, address: str, since: datetime) -> Failures:
    """The sign-ins that failed since an instant, for an account and an address."""
    c = signin_failure.c
    same_login, same_address = c.login == login.casefold()[:200], c.address == address
    tallies = []
    for wanted in (and_(same_login, same_address), same_login, same_address):
        number, newest = db.execute(
            select(func.count(), func.max(c.at)).where(wanted, c.at >= since)
        ).one()
        tallies.append(Tally(number=number, newest=newest))
    return Failures(pair=tallies[0], login=tallies[1], address=tallies[2])


def answered(
    db: Connection, person_id: int, key: str | None, *, request_sha256: str
) -> dict[str, Any] | None:
    """What a person's request with this Idempotency-Key was answered, if it was.

    Raises: InputError where the key came with another request before.
    """
    if not key:
        return None
    c = idempotency_key.c
    found = db.execute(
        select(c.answer, c.request_sha256).where(c.person_id == person_id, c.key == key)
    ).first()
    if found is None:
        return None
    if found.request_sha256 not in ("", request_sha256):  # empty: kept before requests were
        raise InputError(
            f"the Idempotency-Key {key[:60]!r} was used before for another request; "
            "send this one under a key of its own"
        )
    return dict(found.answer)


def answer(
    db: Connection, person_id: int, key: str | None, said: dict[str, Any], *, request_sha256: str
) -> None:
    """Remember an answer for its Idempotency-Key; without a key there is nothing to remember.

    Of two that come at once the first is kept.
    """
    if key:
        row = insert(idempotency_key).values(
            person_id=person_id, key=key, answer=said, request_sha256=request_sha256
        )
        db.execute(row.on_conflict_do_nothing())
