"""Who is looking and what they may do: sign-in, sessions, permissions, and ``visible_to``."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from ipaddress import IPv4Address, ip_address, ip_network
from threading import BoundedSemaphore

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import Engine

from compliance.errors import Refused
from compliance.model.sites import Role, Viewer
from compliance.records import people
from compliance.records.scope import Scope

IDLE = timedelta(minutes=30)
LONGEST = timedelta(hours=12)
FAILURES = 5
"""Of one account from one address; of the account from anywhere, they only slow the next."""
FROM_ADDRESS = 50
FROM_ANYWHERE = 500
WINDOW = timedelta(minutes=15)
SLOWED_SECONDS = 1.5
IPV6_SITE = 64
"""One site has as many addresses as it likes inside such a prefix."""

_hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
_hashing = BoundedSemaphore(4)  # memory is a lever for attackers
_NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$" + "c2FsdHNhbHRzYWx0c2FsdA$" + "A" * 43

STAFF = frozenset(Role) - {Role.INDUSTRIAL_USER}
DECIDERS = frozenset({Role.COORDINATOR, Role.DIRECTOR})
PERMITTED: dict[str, frozenset[Role]] = {
    "look": frozenset(Role),
    "decide": DECIDERS,
    "upload": frozenset({Role.COORDINATOR, Role.INDUSTRIAL_USER}),
    "read bills": frozenset(
        {
            Role.CLERK,
            Role.COORDINATOR,
            Role.DIRECTOR,
            Role.INDUSTRIAL_USER,
            Role.ADMINISTRATOR,
        }
    ),
    "settle": frozenset({Role.CLERK, Role.DIRECTOR}),
    "operate": STAFF,
    "declare": frozenset({Role.COORDINATOR, Role.DIRECTOR, Role.OPERATOR}),
    "determine": frozenset({Role.COORDINATOR, Role.DIRECTOR, Role.OPERATOR}),
    "correct": frozenset({Role.COORDINATOR, Role.DIRECTOR, Role.OPERATOR}),
    "hold": DECIDERS,
    "record noncompliance": DECIDERS,
    "record capacity": DECIDERS,
    "determine capacity": frozenset({Role.DIRECTOR}),
    "enter papers": DECIDERS,
    "take a second look": DECIDERS,
    "commission": frozenset({Role.ADMINISTRATOR}),
}
"""Verb by verb, the roles that may. Whose rows they then see is ``visible_to``'s business."""


class TooManyFailures(Refused):
    """Sign-in is closed to one account for a while; the sentence says how long."""


def may(viewer: Viewer, verb: str) -> bool:
    """Whether a viewer's role allows a verb."""
    return viewer.role in PERMITTED[verb]


def require(viewer: Viewer, verb: str) -> None:
    """Raises: Refused when a viewer's role does not allow a verb."""
    if not may(viewer, verb):
        raise Refused(f"As {viewer.role.value.replace('_', ' ')} you may not {verb} here.")


def visible_to(viewer: Viewer) -> Scope:
    """Whose rows a viewer may see; the only way to them.

    Raises: Refused for a person of an industrial user, or of a city, who belongs to none.
    """
    if viewer.role is Role.INDUSTRIAL_USER:
        if viewer.industrial_user_id is None:
            raise Refused("This account belongs to no industrial user yet.")
        return Scope(city_id=None, industrial_user_id=viewer.industrial_user_id)
    if viewer.city_id is None and viewer.role is not Role.ADMINISTRATOR:
        raise Refused("This account belongs to no city yet.")
    return Scope(city_id=viewer.city_id, industrial_user_id=None)


def hashed(password: str) -> str:
    """A password as it may be stored."""
    with _hashing:
        return _hasher.hash(password)


def digest(token: str) -> str:
    """A session token as it is stored."""
    return hashlib.sha256(token.encode()).hexdigest()


def source(host: str) -> str:
    """An address as failures are counted by it: of IPv6, the site it belongs to."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host[:100]
    if isinstance(address, IPv4Address):
        return str(address)
    return str(address.ipv4_mapped or ip_network((address, IPV6_SITE), strict=False))


def slowed(engine: Engine, *, login: str, address: str, now: datetime) -> float:
    """How many seconds a sign-in has to wait before it is looked at.

    A stranger who guesses an account from elsewhere makes it slow for its owner, not shut.
    Raises: TooManyFailures.
    """
    with engine.connect() as db:
        failed = people.failures(db, login, address=address, since=now - WINDOW)
    _refuse(failed.pair, FAILURES, "of this account", now=now)
    _refuse(failed.address, FROM_ADDRESS, "from this address", now=now)
    _refuse(failed.login, FROM_ANYWHERE, "of this account", now=now)
    return SLOWED_SECONDS if failed.login.number >= FAILURES else 0.0


def _refuse(failed: people.Tally, most: int, whose: str, *, now: datetime) -> None:
    if failed.newest is None or failed.number < most:
        return
    minutes = -(-(failed.newest + WINDOW - now) // timedelta(minutes=1))
    raise TooManyFailures(
        f"{failed.number} sign-ins {whose} failed in 15 minutes; try again in {minutes} min."
    )


def sign_in(  # noqa: PLR0913 - what a sign-in is
    engine: Engine, *, login: str, password: str, address: str, now: datetime, old: str
) -> str | None:
    """A new session's token, or None when login and password do not fit.

    old: the token the browser came with; its session ends. Whether it may be tried at all,
    ``slowed`` has said before.
    """
    with engine.begin() as db:
        account = people.by_login(db, login)
    fits = _fits(account.password if account else _NOBODY, password)
    with engine.begin() as db:
        if account is None or not fits:
            people.note_failure(db, login, address=address, now=now)
            return None
        people.close_session(db, digest(old))
        people.sweep_sessions(db, now=now, idle=IDLE, longest=LONGEST)
        token = secrets.token_urlsafe(32)
        person_id = account.viewer.person_id
        people.open_session(db, token_sha256=digest(token), person_id=person_id, now=now)
    return token


def viewer_of(engine: Engine, token: str, *, now: datetime, touch: bool = True) -> Viewer | None:
    """Who a token belongs to, if its session lives."""
    if not token:
        return None
    with engine.begin() as db:
        return people.viewer_of(db, digest(token), now=now, idle=IDLE, longest=LONGEST, touch=touch)


def sign_out(engine: Engine, token: str) -> None:
    """End a session."""
    with engine.begin() as db:
        people.close_session(db, digest(token))


def _fits(stored: str, password: str) -> bool:
    try:
        with _hashing:
            return _hasher.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False
