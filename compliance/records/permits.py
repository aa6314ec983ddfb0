"""What a person may do beyond the role: given to one by name, and taken back."""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from compliance.errors import NotFound
from compliance.records.tables import person

ENABLE_SAMPLER = "enable_sampler"
PERMITS = (ENABLE_SAMPLER,)
"""All there are."""


def held(db: Connection, login: str) -> frozenset[str]:
    """What a person may do beyond the role. Raises: NotFound."""
    found = db.scalar(select(person.c.permits).where(person.c.login == login.casefold()))
    if found is None:
        raise NotFound(f"nobody signs in here as {login!r}; see pretreat user add")
    return frozenset(found)


def grant(db: Connection, login: str, permit: str) -> bool:
    """Give a permit; whether that changed anything. Raises: NotFound."""
    return _set(db, login, held(db, login) | {permit})


def revoke(db: Connection, login: str, permit: str) -> bool:
    """Take a permit back; whether that changed anything. Raises: NotFound."""
    return _set(db, login, held(db, login) - {permit})


def _set(db: Connection, login: str, permits: frozenset[str]) -> bool:
    if permits == held(db, login):
        return False
    row = update(person).where(person.c.login == login.casefold())
    db.execute(row.values(permits=sorted(permits)))
    return True
